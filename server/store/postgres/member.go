package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	memberColumns = `SELECT m.org_id, m.user_id, m.name, m.role, m.provider_groups, m.service, m.created, m.removed`

	selectMember      = memberColumns + ` FROM memberships m WHERE m.org_id = $1 AND m.name = $2`
	selectMembers     = memberColumns + ` FROM memberships m WHERE m.org_id = $1 ORDER BY m.name COLLATE "C"`
	selectMemberships = memberColumns + `, o.uid, o.name FROM memberships m JOIN organizations o ON o.id = m.org_id
WHERE m.user_id = $1 ORDER BY o.name COLLATE "C"`

	upsertMember = `INSERT INTO memberships (org_id, user_id, name, role, provider_groups, service, created, removed)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (org_id, user_id) DO UPDATE SET name = excluded.name, role = excluded.role,
	provider_groups = excluded.provider_groups, service = excluded.service, removed = excluded.removed`
)

// memberRow is a member as columns.
type memberRow struct {
	org, user          int64
	name, role, groups string
	service            bool
	created            time.Time
	removed            *time.Time
}

func (r *memberRow) into() []any {
	return []any{&r.org, &r.user, &r.name, &r.role, &r.groups, &r.service, &r.created, &r.removed}
}

func (r *memberRow) member() store.Member {
	return store.Member{
		Org: store.OrgID(r.org), User: store.UserID(r.user), Name: r.name, Role: api.Role(r.role), Groups: store.Names(r.groups),
		Service: r.service, Created: r.created.UTC(), Removed: moment(r.removed),
	}
}

// Members lists an organization's members, by name.
func (db *DB) Members(ctx context.Context, org store.OrgID) (all []store.Member, err error) {
	err = db.read(ctx, "listing members", func(conn *pgxpool.Conn) error {
		all, err = membersOf(ctx, conn, org)
		return err
	})
	return all, err
}

// querier is a connection, or a transaction on one.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// list reads all rows of a query.
func list[T any](ctx context.Context, q querier, scan pgx.RowToFunc[T], query string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, scan)
	if len(all) == 0 {
		all = nil
	}
	return all, err
}

func membersOf(ctx context.Context, q querier, org store.OrgID) ([]store.Member, error) {
	return list(ctx, q, scanMember, selectMembers, int64(org))
}

func scanMember(row pgx.CollectableRow) (store.Member, error) {
	var r memberRow
	err := row.Scan(r.into()...)
	return r.member(), err
}

func memberNamed(ctx context.Context, tx pgx.Tx, org store.OrgID, name string) (store.Member, error) {
	var r memberRow
	err := tx.QueryRow(ctx, selectMember, int64(org), name).Scan(r.into()...)
	return r.member(), err
}

// Memberships lists the organizations that a user is in.
func (db *DB) Memberships(ctx context.Context, user store.UserID) (all []store.Membership, err error) {
	err = db.read(ctx, "listing memberships", func(conn *pgxpool.Conn) error {
		all, err = list(ctx, conn, func(row pgx.CollectableRow) (m store.Membership, err error) {
			var r memberRow
			err = row.Scan(append(r.into(), &m.OrgUID, &m.OrgName)...)
			m.Member = r.member()
			return m, err
		}, selectMemberships, int64(user))
		return err
	})
	return all, err
}

// writeMember adds a member, with a user where it names none, or changes one.
func writeMember(ctx context.Context, tx pgx.Tx, m *store.Member) error {
	if m.User == 0 {
		if err := tx.QueryRow(ctx, insertUser, millis(m.Created)).Scan((*int64)(&m.User)); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, upsertMember, int64(m.Org), int64(m.User), m.Name, string(m.Role), string(m.Groups), m.Service,
		millis(m.Created), instant(m.Removed))
	return taken(err)
}
