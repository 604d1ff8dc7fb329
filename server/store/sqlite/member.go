package sqlite

import (
	"context"
	"database/sql"

	"github.com/teammem/teammem/server/store"
)

const (
	memberColumns = `SELECT m.org_id, m.user_id, m.name, m.role, m.provider_groups, m.service, m.created, m.removed`

	selectMember      = memberColumns + ` FROM memberships m WHERE m.org_id = ? AND m.name = ?`
	selectMembers     = memberColumns + ` FROM memberships m WHERE m.org_id = ? ORDER BY m.name`
	selectMemberships = memberColumns + `, o.uid, o.name FROM memberships m JOIN organizations o ON o.id = m.org_id
WHERE m.user_id = ? ORDER BY o.name`

	upsertMember = `INSERT INTO memberships (org_id, user_id, name, role, provider_groups, service, created, removed)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (org_id, user_id) DO UPDATE SET name = excluded.name, role = excluded.role,
	provider_groups = excluded.provider_groups, service = excluded.service, removed = excluded.removed`
)

// Members lists an organization's members, by name.
func (db *DB) Members(ctx context.Context, org store.OrgID) (all []store.Member, err error) {
	err = db.reads(ctx, "listing members", func(tx *sql.Tx) error {
		all, err = membersOf(ctx, tx, org)
		return err
	})
	return all, err
}

func membersOf(ctx context.Context, tx *sql.Tx, org store.OrgID) ([]store.Member, error) {
	rows, err := tx.QueryContext(ctx, selectMembers, org)
	if err != nil {
		return nil, err
	}
	return collect(rows, scanMember)
}

// Memberships lists the organizations that a user is in.
func (db *DB) Memberships(ctx context.Context, user store.UserID) (all []store.Membership, err error) {
	err = db.reads(ctx, "listing memberships", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectMemberships, user)
		if err != nil {
			return err
		}
		all, err = collect(rows, func(row scanner) (m store.Membership, err error) {
			err = row.Scan(append(memberInto(&m.Member), &m.OrgUID, &m.OrgName)...)
			return m, err
		})
		return err
	})
	return all, err
}

func scanMember(row scanner) (m store.Member, err error) {
	err = row.Scan(memberInto(&m)...)
	return m, err
}

func memberInto(m *store.Member) []any {
	return []any{&m.Org, &m.User, &m.Name, &m.Role, &m.Groups, &m.Service, (*moment)(&m.Created), (*moment)(&m.Removed)}
}

// writeMember adds a member, with a user where it names none, or changes one.
func writeMember(ctx context.Context, tx *sql.Tx, m *store.Member) error {
	if m.User == 0 {
		if err := tx.QueryRowContext(ctx, insertUser, m.Created.UnixMilli()).Scan(&m.User); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, upsertMember, m.Org, m.User, m.Name, string(m.Role), string(m.Groups), m.Service,
		m.Created.UnixMilli(), instant(m.Removed))
	return taken(err)
}
