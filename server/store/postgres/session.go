package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	selectIdentity = `SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2`
	insertIdentity = `INSERT INTO identities (issuer, subject, user_id, created, vouched) VALUES ($1, $2, $3, $4, to_timestamp(0)) ON CONFLICT (issuer, subject) DO NOTHING`
	vouchIdentity  = `UPDATE identities SET vouched = $3 WHERE issuer = $1 AND subject = $2 AND vouched <= $3`

	sessionColumns = `hash, kind, user_id, created, seen, until, ended, issuer, renewal, asked, asking`
	selectSession  = `SELECT ` + sessionColumns + ` FROM sessions WHERE hash = $1`
	insertSession  = `INSERT INTO sessions (` + sessionColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (hash) DO NOTHING`
	dropSessions   = `DELETE FROM sessions WHERE until < $1`
	touchSession   = `UPDATE sessions SET seen = $2 WHERE hash = $1 AND seen < $2`
	renewSession   = `UPDATE sessions SET asked = $4, asking = $5, renewal = $6 WHERE hash = $1 AND asked = $2 AND asking IS NOT DISTINCT FROM $3 AND ended IS NULL`
	endSession     = `UPDATE sessions SET ended = $2, renewal = '', asking = NULL WHERE hash = $1 AND ended IS NULL RETURNING ` + sessionColumns
	endSessionsOf  = `UPDATE sessions SET ended = $3, renewal = '', asking = NULL WHERE user_id = $1 AND kind = $2 AND ended IS NULL AND until > $3`

	selectInvitations = `SELECT org_id, email, user_name, role, created, until FROM invitations
WHERE ($1::bigint = 0 OR org_id = $1) AND ($2::text = '' OR email = $2) ORDER BY org_id, email`
	upsertInvitation = `INSERT INTO invitations (org_id, email, user_name, role, created, until) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (org_id, email) DO UPDATE SET user_name = excluded.user_name, role = excluded.role, created = excluded.created, until = excluded.until`
	deleteInvitation = `DELETE FROM invitations WHERE org_id = $1 AND email = $2`
)

// Identity finds the user of a provider's subject. [store.ErrNotFound].
func (db *DB) Identity(ctx context.Context, issuer, subject string) (user store.UserID, err error) {
	err = db.read(ctx, "identity", func(conn *pgxpool.Conn) error {
		return absent(conn.QueryRow(ctx, selectIdentity, issuer, subject).Scan((*int64)(&user)))
	})
	return user, err
}

// BindIdentity says who a provider's subject is, see [store.Store]. Of two that do
// at once the first counts, and the second's user goes with its transaction.
func (db *DB) BindIdentity(ctx context.Context, id store.Identity) (user store.UserID, err error) {
	err = db.read(ctx, "binding an identity", func(conn *pgxpool.Conn) error {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if user = id.User; user == 0 {
				if err := tx.QueryRow(ctx, insertUser, millis(id.Created)).Scan((*int64)(&user)); err != nil {
					return err
				}
			}
			tag, err := tx.Exec(ctx, insertIdentity, id.Issuer, id.Subject, int64(user), millis(id.Created))
			if err == nil && tag.RowsAffected() == 0 {
				return errBound
			}
			return err
		})
		if errors.Is(err, errBound) {
			return conn.QueryRow(ctx, selectIdentity, id.Issuer, id.Subject).Scan((*int64)(&user))
		}
		return err
	})
	return user, err
}

var errBound = errors.New("the identity is bound already")

// Vouch notes when a token of the subject was issued, see [store.Store].
func (db *DB) Vouch(ctx context.Context, issuer, subject string, issued time.Time) (newest bool, err error) {
	err = db.read(ctx, "noting a token's time", func(conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, vouchIdentity, issuer, subject, millis(issued))
		newest = tag.RowsAffected() > 0
		return err
	})
	return newest, err
}

// AddSession adds a session, and drops those that ended by themselves a day ago.
func (db *DB) AddSession(ctx context.Context, s store.Session) error {
	return db.read(ctx, "adding a session", func(conn *pgxpool.Conn) error {
		if _, err := conn.Exec(ctx, dropSessions, millis(s.Created.Add(-store.SessionKept))); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, insertSession, s.Hash[:], string(s.Kind), int64(s.User), millis(s.Created), millis(s.Seen), millis(s.Until), instant(s.Ended),
			s.Issuer, []byte(s.Renewal), millis(s.Asked), instant(s.Asking))
		return err
	})
}

// Session finds a session by its secret's hash. [store.ErrNotFound].
func (db *DB) Session(ctx context.Context, hash [32]byte) (s store.Session, err error) {
	err = db.read(ctx, "session", func(conn *pgxpool.Conn) error {
		s, err = scanSession(conn.QueryRow(ctx, selectSession, hash[:]))
		return absent(err)
	})
	return s, err
}

func scanSession(row pgx.Row) (s store.Session, err error) {
	var kind string
	var ended, asking *time.Time
	var renewal []byte
	err = row.Scan((*hash)(&s.Hash), &kind, (*int64)(&s.User), &s.Created, &s.Seen, &s.Until, &ended, &s.Issuer, &renewal, &s.Asked, &asking)
	s.Kind, s.Created, s.Seen, s.Until, s.Ended = store.SessionKind(kind), s.Created.UTC(), s.Seen.UTC(), s.Until.UTC(), moment(ended)
	s.Renewal, s.Asked, s.Asking = string(renewal), s.Asked.UTC(), moment(asking)
	return s, err
}

// TouchSession notes when a session was last used. It never goes back.
func (db *DB) TouchSession(ctx context.Context, hash [32]byte, at time.Time) error {
	return db.read(ctx, "noting a session's use", func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, touchSession, hash[:], millis(at))
		return err
	})
}

// RenewSession notes that a session's provider is asked, or was, see [store.Store].
func (db *DB) RenewSession(ctx context.Context, hash [32]byte, was, is store.Asks, renewal string) (renewed bool, err error) {
	err = db.read(ctx, "renewing a session", func(conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, renewSession, hash[:], millis(was.Asked), instant(was.Asking), millis(is.Asked), instant(is.Asking), []byte(renewal))
		renewed = tag.RowsAffected() > 0
		return err
	})
	return renewed, err
}

// EndSession ends a session, once. [store.ErrNotFound].
func (db *DB) EndSession(ctx context.Context, hash [32]byte, at time.Time) (s store.Session, err error) {
	err = db.read(ctx, "ending a session", func(conn *pgxpool.Conn) error {
		s, err = scanSession(conn.QueryRow(ctx, endSession, hash[:], millis(at)))
		return absent(err)
	})
	return s, err
}

// EndSessions ends all sessions of a kind that a user has.
func (db *DB) EndSessions(ctx context.Context, user store.UserID, kind store.SessionKind, at time.Time) (n int, err error) {
	err = db.read(ctx, "ending sessions", func(conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, endSessionsOf, int64(user), string(kind), millis(at))
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}

// Invitations lists those of an organization, an address, or both.
func (db *DB) Invitations(ctx context.Context, org store.OrgID, email string) (all []store.Invitation, err error) {
	err = db.read(ctx, "listing invitations", func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, selectInvitations, int64(org), email)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanInvitation)
		return err
	})
	return all, err
}

func scanInvitation(row pgx.CollectableRow) (i store.Invitation, err error) {
	var role string
	err = row.Scan((*int64)(&i.Org), &i.Email, &i.Name, &role, &i.Created, &i.Until)
	i.Role, i.Created, i.Until = api.Role(role), i.Created.UTC(), i.Until.UTC()
	return i, err
}
