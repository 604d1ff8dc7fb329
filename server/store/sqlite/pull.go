package sqlite

import (
	"context"
	"database/sql"

	"github.com/teammem/teammem/server/store"
)

const (
	// upsertPull keeps a client that is one too many with the others.
	upsertPull = `INSERT INTO pulls (repo_id, user_id, token_id, client, oldest, newest, at)
SELECT ?1, ?2, ?3, CASE
	WHEN EXISTS (SELECT 1 FROM pulls WHERE repo_id = ?1 AND user_id = ?2 AND token_id = ?3 AND client = ?4)
		OR (SELECT count(*) FROM pulls WHERE repo_id = ?1 AND user_id = ?2 AND token_id = ?3) < ?8 THEN ?4 ELSE ?9 END, ?5, ?6, ?7 WHERE true
ON CONFLICT (repo_id, user_id, token_id, client) DO UPDATE SET
	oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest), at = max(at, excluded.at)`

	selectPulls = `SELECT p.repo_id, p.user_id, p.token_id, p.client, p.oldest, p.newest, p.at, coalesce(m.name, ''), coalesce(t.uid, '')
FROM pulls p LEFT JOIN memberships m ON m.org_id = ?1 AND m.user_id = p.user_id LEFT JOIN tokens t ON t.id = p.token_id
WHERE p.repo_id = (SELECT id FROM repos WHERE org_id = ?1 AND slug = ?2) ORDER BY p.at DESC, p.user_id, p.token_id, p.client`
)

// NotePulls notes that repos were served.
func (db *DB) NotePulls(ctx context.Context, pulls []store.Pull) error {
	return db.change(ctx, "noting who was served", func(ctx context.Context, tx *sql.Tx) error {
		for _, p := range pulls {
			_, err := tx.ExecContext(ctx, upsertPull, int64(p.Repo), int64(p.User), int64(p.Token), p.Client, int64(p.Oldest), int64(p.Newest),
				p.At.UnixMilli(), store.MostClients, store.OtherClients)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Pulls lists whom a repo was served to.
func (db *DB) Pulls(ctx context.Context, ref store.RepoRef) (all []store.Pull, err error) {
	err = db.reads(ctx, "who was served "+string(ref.Slug), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectPulls, int64(ref.Org), string(ref.Slug))
		if err != nil {
			return err
		}
		all, err = collect(rows, func(row scanner) (p store.Pull, err error) {
			err = row.Scan(&p.Repo, &p.User, &p.Token, &p.Client, &p.Oldest, &p.Newest, (*moment)(&p.At), &p.UserName, &p.TokenUID)
			return p, err
		})
		return err
	})
	return all, err
}
