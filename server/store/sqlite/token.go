package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/teammem/teammem/server/store"
)

const (
	selectOwner = `SELECT uid, name, max_entries FROM organizations WHERE id = ?`
	insertUser  = `INSERT INTO users (created) VALUES (?) RETURNING id`
	insertToken = `INSERT INTO tokens (uid, org_id, user_id, role, hash, prefix, created, expires, revoked, last_used, label, scope, repos)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`

	tokenColumns = `SELECT t.id, t.uid, t.org_id, o.uid, o.name, t.user_id, m.name, t.role, t.hash, t.prefix,
	t.created, t.expires, t.revoked, t.last_used, t.label, t.scope, t.repos, o.max_entries,
	m.org_id, m.user_id, m.name, m.role, m.provider_groups, m.service, m.created, m.removed
FROM tokens t
JOIN organizations o ON o.id = t.org_id
JOIN memberships m ON m.org_id = t.org_id AND m.user_id = t.user_id
`
	selectTokens      = tokenColumns + `WHERE t.org_id = ? ORDER BY t.id DESC`
	selectTokenByHash = tokenColumns + `WHERE t.hash = ?`

	revokeToken = `UPDATE tokens SET revoked = coalesce(revoked, ?3) WHERE org_id = ?1 AND uid = ?2`
	touchToken  = `UPDATE tokens SET last_used = ?2 WHERE id = ?1 AND (last_used IS NULL OR last_used < ?2)`
)

// CreateToken adds a token, and its user and membership where they are new.
func (db *DB) CreateToken(ctx context.Context, token store.Token) (store.Token, error) {
	err := db.writes(ctx, func(ctx context.Context, tx *sql.Tx) (bool, error) {
		return true, createToken(ctx, tx, &token)
	})
	if err != nil {
		return token, fail(ctx, "creating a token for "+token.UserName, err)
	}
	return token, nil
}

func createToken(ctx context.Context, tx *sql.Tx, token *store.Token) error {
	token.Created = millis(token.Created)
	err := tx.QueryRowContext(ctx, selectOwner, token.Org).Scan(&token.OrgUID, &token.OrgName, &token.OrgMaxEntries)
	if err != nil {
		return err
	}
	member, err := scanMember(tx.QueryRowContext(ctx, selectMember, token.Org, token.UserName))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		member = store.Member{Org: token.Org, Name: token.UserName, Role: token.Role, Created: token.Created}
		err = writeMember(ctx, tx, &member)
	case err == nil && member.Role.Greater(token.Role) != member.Role:
		member.Role = token.Role
		err = writeMember(ctx, tx, &member)
	}
	if err != nil {
		return err
	}
	token.User = member.User
	return addToken(ctx, tx, token)
}

// addToken adds a token of a user that is known.
func addToken(ctx context.Context, tx *sql.Tx, token *store.Token) error {
	return taken(tx.QueryRowContext(ctx, insertToken, token.UID, token.Org, token.User, string(token.Role), token.Hash[:], token.Prefix,
		token.Created.UnixMilli(), instant(token.Expires), instant(token.Revoked), instant(token.LastUsed), token.Label, string(token.Scope), string(token.Repos)).Scan(&token.ID))
}

// Tokens lists an organization's tokens, newest first.
func (db *DB) Tokens(ctx context.Context, org store.OrgID) (all []store.Token, err error) {
	err = db.reads(ctx, "listing tokens", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectTokens, org)
		if err != nil {
			return err
		}
		all, err = collect(rows, scanListedToken)
		return err
	})
	return all, err
}

// scanListedToken leaves the user out: a list is of tokens.
func scanListedToken(row scanner) (store.Token, error) {
	t, err := scanToken(row)
	t.Member = store.Member{}
	return t, err
}

// TokenByHash finds a token by its secret's hash. [store.ErrNotFound].
func (db *DB) TokenByHash(ctx context.Context, hash [32]byte) (store.Token, error) {
	token, err := scanToken(db.statements.selectToken.QueryRowContext(ctx, hash[:]))
	if err != nil {
		return token, fail(ctx, "token by hash", err)
	}
	return token, nil
}

func scanToken(row scanner) (t store.Token, err error) {
	err = row.Scan(&t.ID, &t.UID, &t.Org, &t.OrgUID, &t.OrgName, &t.User, &t.UserName, &t.Role, (*hash)(&t.Hash), &t.Prefix,
		(*moment)(&t.Created), (*moment)(&t.Expires), (*moment)(&t.Revoked), (*moment)(&t.LastUsed), &t.Label, &t.Scope, &t.Repos, &t.OrgMaxEntries,
		&t.Member.Org, &t.Member.User, &t.Member.Name, &t.Member.Role, &t.Member.Groups, &t.Member.Service, (*moment)(&t.Member.Created), (*moment)(&t.Member.Removed))
	return t, err
}

// RevokeToken ends a token; the first time counts. [store.ErrNotFound].
func (db *DB) RevokeToken(ctx context.Context, org store.OrgID, uid string, at time.Time) error {
	return db.change(ctx, "revoking a token", func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, revokeToken, org, uid, at.UnixMilli())
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, store.ErrNotFound)
		}
		return nil
	})
}

// TouchToken notes when a token was last used. It never goes back.
func (db *DB) TouchToken(ctx context.Context, id store.TokenID, at time.Time) error {
	return db.change(ctx, "noting a token's use", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, touchToken, id, at.UnixMilli())
		return err
	})
}

// change is writes without a choice.
func (db *DB) change(ctx context.Context, operation string, fn func(ctx context.Context, tx *sql.Tx) error) error {
	err := db.writes(ctx, func(ctx context.Context, tx *sql.Tx) (bool, error) { return true, fn(ctx, tx) })
	if err != nil {
		return fail(ctx, operation, err)
	}
	return nil
}
