package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/teammem/teammem/server/store"
)

const (
	selectIdentity = `SELECT user_id FROM identities WHERE issuer = ? AND subject = ?`
	insertIdentity = `INSERT INTO identities (issuer, subject, user_id, created, vouched) VALUES (?, ?, ?, ?, 0)`
	vouchIdentity  = `UPDATE identities SET vouched = ?3 WHERE issuer = ?1 AND subject = ?2 AND vouched <= ?3`

	sessionColumns = `hash, kind, user_id, created, seen, until, ended, issuer, renewal, asked, asking`
	selectSession  = `SELECT ` + sessionColumns + ` FROM sessions WHERE hash = ?`
	insertSession  = `INSERT INTO sessions (` + sessionColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING`
	dropSessions   = `DELETE FROM sessions WHERE until < ?`
	touchSession   = `UPDATE sessions SET seen = ?2 WHERE hash = ?1 AND seen < ?2`
	renewSession   = `UPDATE sessions SET asked = ?4, asking = ?5, renewal = ?6 WHERE hash = ?1 AND asked = ?2 AND asking IS ?3 AND ended IS NULL`
	endSession     = `UPDATE sessions SET ended = ?2, renewal = x'', asking = NULL WHERE hash = ?1 AND ended IS NULL RETURNING ` + sessionColumns
	endSessionsOf  = `UPDATE sessions SET ended = ?3, renewal = x'', asking = NULL WHERE user_id = ?1 AND kind = ?2 AND ended IS NULL AND until > ?3`

	selectInvitations = `SELECT org_id, email, user_name, role, created, until FROM invitations
WHERE (?1 = 0 OR org_id = ?1) AND (?2 = '' OR email = ?2) ORDER BY org_id, email`
	upsertInvitation = `INSERT INTO invitations (org_id, email, user_name, role, created, until) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (org_id, email) DO UPDATE SET user_name = excluded.user_name, role = excluded.role, created = excluded.created, until = excluded.until`
	deleteInvitation = `DELETE FROM invitations WHERE org_id = ? AND email = ?`
)

// Identity finds the user of a provider's subject. [store.ErrNotFound].
func (db *DB) Identity(ctx context.Context, issuer, subject string) (user store.UserID, err error) {
	err = db.reads(ctx, "identity", func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, selectIdentity, issuer, subject).Scan(&user)
	})
	return user, err
}

// BindIdentity says who a provider's subject is, see [store.Store].
func (db *DB) BindIdentity(ctx context.Context, id store.Identity) (store.UserID, error) {
	user := id.User
	err := db.change(ctx, "binding an identity", func(ctx context.Context, tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, selectIdentity, id.Issuer, id.Subject).Scan(&user)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if user == 0 {
			if err := tx.QueryRowContext(ctx, insertUser, id.Created.UnixMilli()).Scan(&user); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, insertIdentity, id.Issuer, id.Subject, user, id.Created.UnixMilli())
		return err
	})
	return user, err
}

// Vouch notes when a token of the subject was issued, see [store.Store].
func (db *DB) Vouch(ctx context.Context, issuer, subject string, issued time.Time) (newest bool, err error) {
	err = db.change(ctx, "noting a token's time", func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, vouchIdentity, issuer, subject, issued.UnixMilli())
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		newest = n > 0
		return err
	})
	return newest, err
}

// AddSession adds a session, and drops those that ended by themselves a day ago.
func (db *DB) AddSession(ctx context.Context, s store.Session) error {
	return db.change(ctx, "adding a session", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, dropSessions, s.Created.Add(-store.SessionKept).UnixMilli()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, insertSession, s.Hash[:], string(s.Kind), s.User, s.Created.UnixMilli(), s.Seen.UnixMilli(), s.Until.UnixMilli(), instant(s.Ended),
			s.Issuer, []byte(s.Renewal), s.Asked.UnixMilli(), instant(s.Asking))
		return err
	})
}

// Session finds a session by its secret's hash. [store.ErrNotFound].
func (db *DB) Session(ctx context.Context, hash [32]byte) (s store.Session, err error) {
	err = db.reads(ctx, "session", func(tx *sql.Tx) error {
		s, err = scanSession(tx.QueryRowContext(ctx, selectSession, hash[:]))
		return err
	})
	return s, err
}

func scanSession(row scanner) (s store.Session, err error) {
	err = row.Scan((*hash)(&s.Hash), &s.Kind, &s.User, (*moment)(&s.Created), (*moment)(&s.Seen), (*moment)(&s.Until), (*moment)(&s.Ended),
		&s.Issuer, &s.Renewal, (*moment)(&s.Asked), (*moment)(&s.Asking))
	return s, err
}

// TouchSession notes when a session was last used. It never goes back.
func (db *DB) TouchSession(ctx context.Context, hash [32]byte, at time.Time) error {
	return db.change(ctx, "noting a session's use", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, touchSession, hash[:], at.UnixMilli())
		return err
	})
}

// RenewSession notes that a session's provider is asked, or was, see [store.Store].
func (db *DB) RenewSession(ctx context.Context, hash [32]byte, was, is store.Asks, renewal string) (renewed bool, err error) {
	err = db.change(ctx, "renewing a session", func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, renewSession, hash[:], was.Asked.UnixMilli(), instant(was.Asking), is.Asked.UnixMilli(), instant(is.Asking), []byte(renewal))
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		renewed = n > 0
		return err
	})
	return renewed, err
}

// EndSession ends a session, once. [store.ErrNotFound].
func (db *DB) EndSession(ctx context.Context, hash [32]byte, at time.Time) (s store.Session, err error) {
	err = db.change(ctx, "ending a session", func(ctx context.Context, tx *sql.Tx) error {
		s, err = scanSession(tx.QueryRowContext(ctx, endSession, hash[:], at.UnixMilli()))
		return err
	})
	return s, err
}

// EndSessions ends all sessions of a kind that a user has.
func (db *DB) EndSessions(ctx context.Context, user store.UserID, kind store.SessionKind, at time.Time) (n int, err error) {
	err = db.change(ctx, "ending sessions", func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, endSessionsOf, user, string(kind), at.UnixMilli())
		if err != nil {
			return err
		}
		rows, err := result.RowsAffected()
		n = int(rows)
		return err
	})
	return n, err
}

// Invitations lists those of an organization, an address, or both.
func (db *DB) Invitations(ctx context.Context, org store.OrgID, email string) (all []store.Invitation, err error) {
	err = db.reads(ctx, "listing invitations", func(tx *sql.Tx) error {
		all, err = invitations(ctx, tx, org, email)
		return err
	})
	return all, err
}

func invitations(ctx context.Context, tx *sql.Tx, org store.OrgID, email string) ([]store.Invitation, error) {
	rows, err := tx.QueryContext(ctx, selectInvitations, org, email)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(row scanner) (i store.Invitation, err error) {
		err = row.Scan(&i.Org, &i.Email, &i.Name, &i.Role, (*moment)(&i.Created), (*moment)(&i.Until))
		return i, err
	})
}
