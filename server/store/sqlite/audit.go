package sqlite

import (
	"context"
	"database/sql"

	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

const (
	insertAudit = `INSERT INTO audit (repo_id, seq, at, action, user_name, token_uid, client, subject, previous, hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	selectAudit = `SELECT seq, at, action, user_name, token_uid, client, subject, previous, hash FROM audit
WHERE repo_id = (SELECT id FROM repos WHERE org_id = ?1 AND slug = ?2) AND seq > ?3 ORDER BY seq LIMIT ?4`
)

// Audit reads a repo's trail, oldest first.
func (db *DB) Audit(ctx context.Context, ref store.RepoRef, after int64, limit int) (all []audit.Record, err error) {
	err = db.reads(ctx, "audit of "+string(ref.Slug), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectAudit, int64(ref.Org), string(ref.Slug), after, limit)
		if err != nil {
			return err
		}
		all, err = collect(rows, scanAudit)
		return err
	})
	return all, err
}

func scanAudit(row scanner) (r audit.Record, err error) {
	err = row.Scan(&r.Seq, (*moment)(&r.At), &r.Action, &r.User, &r.TokenUID, &r.Client, &r.Subject, (*hash)(&r.Previous), (*hash)(&r.Hash))
	return r, err
}
