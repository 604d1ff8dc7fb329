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
	lockOrganization = `SELECT uid, name, max_entries FROM organizations WHERE id = $1 FOR NO KEY UPDATE`
	insertUser       = `INSERT INTO users (created) VALUES ($1) RETURNING id`
	insertToken      = `INSERT INTO tokens (uid, org_id, user_id, role, hash, prefix, created, expires, revoked, last_used, label, scope, repos)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING id`

	tokenColumns = `SELECT t.id, t.uid, t.org_id, o.uid, o.name, t.user_id, m.name, t.role, t.hash, t.prefix,
	t.created, t.expires, t.revoked, t.last_used, t.label, t.scope, t.repos, o.max_entries,
	m.org_id, m.user_id, m.name, m.role, m.provider_groups, m.service, m.created, m.removed
FROM tokens t
JOIN organizations o ON o.id = t.org_id
JOIN memberships m ON m.org_id = t.org_id AND m.user_id = t.user_id
`
	selectTokens      = tokenColumns + `WHERE t.org_id = $1 ORDER BY t.id DESC`
	selectTokenByHash = tokenColumns + `WHERE t.hash = $1`

	revokeToken = `UPDATE tokens SET revoked = coalesce(revoked, $3) WHERE org_id = $1 AND uid = $2`
	touchToken  = `UPDATE tokens SET last_used = $2 WHERE id = $1 AND (last_used IS NULL OR last_used < $2)`
)

// CreateToken adds a token, and its user and membership where they are new. The
// organization's row is locked meanwhile, so that one name is one user.
func (db *DB) CreateToken(ctx context.Context, token store.Token) (store.Token, error) {
	err := db.read(ctx, "creating a token for "+token.UserName, func(conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return createToken(ctx, tx, &token) })
	})
	return token, err
}

func createToken(ctx context.Context, tx pgx.Tx, token *store.Token) error {
	token.Created = millis(token.Created)
	err := tx.QueryRow(ctx, lockOrganization, int64(token.Org)).Scan(&token.OrgUID, &token.OrgName, &token.OrgMaxEntries)
	if err != nil {
		return absent(err)
	}
	member, err := memberNamed(ctx, tx, token.Org, token.UserName)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
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
func addToken(ctx context.Context, tx pgx.Tx, token *store.Token) error {
	err := tx.QueryRow(ctx, insertToken, token.UID, int64(token.Org), int64(token.User), string(token.Role), token.Hash[:], token.Prefix,
		millis(token.Created), instant(token.Expires), instant(token.Revoked), instant(token.LastUsed),
		token.Label, string(token.Scope), string(token.Repos)).Scan((*int64)(&token.ID))
	return taken(err)
}

// taken turns the driver's word for a name in use into the contract's.
func taken(err error) error {
	if code(err) == codeUniqueness {
		return store.ErrExists
	}
	return err
}

// Tokens lists an organization's tokens, newest first.
func (db *DB) Tokens(ctx context.Context, org store.OrgID) (all []store.Token, err error) {
	err = db.read(ctx, "listing tokens", func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, selectTokens, int64(org))
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanListedToken)
		return err
	})
	return all, err
}

// scanListedToken leaves the user out: a list is of tokens.
func scanListedToken(row pgx.CollectableRow) (store.Token, error) {
	t, err := scanToken(row)
	t.Member = store.Member{}
	return t, err
}

// TokenByHash finds a token by its secret's hash. [store.ErrNotFound].
func (db *DB) TokenByHash(ctx context.Context, hash [32]byte) (token store.Token, err error) {
	err = db.read(ctx, "token by hash", func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, selectTokenByHash, hash[:])
		if err != nil {
			return err
		}
		token, err = pgx.CollectExactlyOneRow(rows, scanToken)
		return absent(err)
	})
	return token, err
}

func scanToken(row pgx.CollectableRow) (t store.Token, err error) {
	var role, scope, repos string
	var expires, revoked, used *time.Time
	var member memberRow
	err = row.Scan(append([]any{
		(*int64)(&t.ID), &t.UID, (*int64)(&t.Org), &t.OrgUID, &t.OrgName, (*int64)(&t.User), &t.UserName, &role,
		(*hash)(&t.Hash), &t.Prefix, &t.Created, &expires, &revoked, &used, &t.Label, &scope, &repos, &t.OrgMaxEntries,
	}, member.into()...)...)
	t.Scope, t.Repos, t.Member = api.Scope(scope), store.Names(repos), member.member()
	t.Role, t.Created = api.Role(role), t.Created.UTC()
	t.Expires, t.Revoked, t.LastUsed = moment(expires), moment(revoked), moment(used)
	return t, err
}

// RevokeToken ends a token; the first time counts. [store.ErrNotFound].
func (db *DB) RevokeToken(ctx context.Context, org store.OrgID, uid string, at time.Time) error {
	return db.read(ctx, "revoking a token", func(conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, revokeToken, int64(org), uid, millis(at))
		if err == nil && tag.RowsAffected() == 0 {
			return store.ErrNotFound
		}
		return err
	})
}

// TouchToken notes when a token was last used. It never goes back.
func (db *DB) TouchToken(ctx context.Context, id store.TokenID, at time.Time) error {
	return db.read(ctx, "noting a token's use", func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, touchToken, int64(id), millis(at))
		return err
	})
}
