package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

const (
	insertAudit = `INSERT INTO audit (repo_id, seq, at, action, user_name, token_uid, client, subject, previous, hash)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

	selectAudit = `SELECT seq, at, action, user_name, token_uid, client, subject, previous, hash FROM audit
WHERE repo_id = (SELECT id FROM repos WHERE org_id = $1 AND slug = $2) AND seq > $3 ORDER BY seq LIMIT $4`
)

// Audit reads a repo's trail, oldest first.
func (db *DB) Audit(ctx context.Context, ref store.RepoRef, after int64, limit int) (all []audit.Record, err error) {
	err = db.read(ctx, "audit of "+string(ref.Slug), func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, selectAudit, int64(ref.Org), string(ref.Slug), after, int64(limit))
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanAudit)
		return err
	})
	return all, err
}

func scanAudit(row pgx.CollectableRow) (r audit.Record, err error) {
	var subject string
	err = row.Scan(&r.Seq, &r.At, &r.Action, &r.User, &r.TokenUID, &r.Client, &subject, (*hash)(&r.Previous), (*hash)(&r.Hash))
	r.At, r.Subject = r.At.UTC(), []byte(subject)
	return r, err
}
