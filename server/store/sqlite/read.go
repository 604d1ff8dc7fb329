package sqlite

import (
	"context"
	"database/sql"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	upsertReads = `INSERT INTO entry_reads (repo_id, key, reads) VALUES (?, ?, ?)
ON CONFLICT (repo_id, key) DO UPDATE SET reads = reads + excluded.reads`
	selectReads = `SELECT key, reads FROM entry_reads WHERE repo_id = ? AND key IN (SELECT value FROM json_each(?))`
)

// NoteReads adds how often texts were served, see [store.Store].
func (db *DB) NoteReads(ctx context.Context, all []store.Reads) error {
	return db.change(ctx, "noting reads", func(ctx context.Context, tx *sql.Tx) error {
		upsert, err := tx.PrepareContext(ctx, upsertReads)
		if err != nil {
			return err
		}
		defer func() { _ = upsert.Close() }()
		for _, r := range all {
			if _, err := upsert.ExecContext(ctx, int64(r.Repo), string(r.Key), r.Count); err != nil {
				return err
			}
		}
		return nil
	})
}

// Reads says how often texts were served, of those that were.
func (db *DB) Reads(ctx context.Context, repo store.RepoID, keys []api.Key) (map[api.Key]int64, error) {
	found := map[api.Key]int64{}
	if keys == nil {
		return found, nil
	}
	err := db.reads(ctx, "how often texts were read", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectReads, int64(repo), jsonOf(keys))
		if err != nil {
			return err
		}
		all, err := collect(rows, func(row scanner) (r store.Reads, err error) { return r, row.Scan(&r.Key, &r.Count) })
		for _, r := range all {
			found[r.Key] = r.Count
		}
		return err
	})
	return found, err
}
