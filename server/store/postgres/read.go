package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	upsertReads = `INSERT INTO entry_reads AS r (repo_id, key, reads) SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[])
ON CONFLICT (repo_id, key) DO UPDATE SET reads = r.reads + excluded.reads`
	selectReads = `SELECT key, reads FROM entry_reads WHERE repo_id = $1 AND key = ANY ($2::text[])`
)

// NoteReads adds how often texts were served, see [store.Store]. The order keeps two
// servers that note the same from waiting for each other.
func (db *DB) NoteReads(ctx context.Context, all []store.Reads) error {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b store.Reads) int { return cmp.Or(cmp.Compare(a.Repo, b.Repo), cmp.Compare(a.Key, b.Key)) })
	repos, keys, counts := make([]int64, len(all)), make([]string, len(all)), make([]int64, len(all))
	for i, r := range all {
		repos[i], keys[i], counts[i] = int64(r.Repo), string(r.Key), r.Count
	}
	return db.read(ctx, "noting reads", func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, upsertReads, repos, keys, counts)
		return err
	})
}

// Reads says how often texts were served, of those that were.
func (db *DB) Reads(ctx context.Context, repo store.RepoID, keys []api.Key) (map[api.Key]int64, error) {
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = string(key)
	}
	found := map[api.Key]int64{}
	err := db.read(ctx, "how often texts were read", func(conn *pgxpool.Conn) error {
		all, err := list(ctx, conn, func(row pgx.CollectableRow) (r store.Reads, err error) {
			return r, row.Scan((*string)(&r.Key), &r.Count)
		}, selectReads, int64(repo), texts)
		for _, r := range all {
			found[r.Key] = r.Count
		}
		return err
	})
	return found, err
}
