package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/server/store"
)

const (
	// upsertPull keeps a client that is one too many with the others.
	upsertPull = `INSERT INTO pulls (repo_id, user_id, token_id, client, oldest, newest, at)
SELECT $1::bigint, $2::bigint, $3::bigint, CASE
	WHEN EXISTS (SELECT 1 FROM pulls WHERE repo_id = $1 AND user_id = $2 AND token_id = $3 AND client = $4)
		OR (SELECT count(*) FROM pulls WHERE repo_id = $1 AND user_id = $2 AND token_id = $3) < $8 THEN $4::text ELSE $9::text END,
	$5::bigint, $6::bigint, $7::timestamptz
ON CONFLICT (repo_id, user_id, token_id, client) DO UPDATE SET
	oldest = least(pulls.oldest, excluded.oldest), newest = greatest(pulls.newest, excluded.newest), at = greatest(pulls.at, excluded.at)`

	selectPulls = `SELECT p.repo_id, p.user_id, p.token_id, p.client, p.oldest, p.newest, p.at, coalesce(m.name, ''), coalesce(t.uid, '')
FROM pulls p LEFT JOIN memberships m ON m.org_id = $1 AND m.user_id = p.user_id LEFT JOIN tokens t ON t.id = p.token_id
WHERE p.repo_id = (SELECT id FROM repos WHERE org_id = $1 AND slug = $2) ORDER BY p.at DESC, p.user_id, p.token_id, p.client COLLATE "C"`
)

// NotePulls notes that repos were served. The order keeps two servers that note the
// same from waiting for each other.
func (db *DB) NotePulls(ctx context.Context, pulls []store.Pull) error {
	pulls = slices.Clone(pulls)
	slices.SortFunc(pulls, func(a, b store.Pull) int {
		return cmp.Or(cmp.Compare(a.Repo, b.Repo), cmp.Compare(a.User, b.User), cmp.Compare(a.Token, b.Token), cmp.Compare(a.Client, b.Client))
	})
	return db.read(ctx, "noting who was served", func(conn *pgxpool.Conn) error {
		batch := &pgx.Batch{}
		batch.Queue(`BEGIN`)
		for _, p := range pulls {
			batch.Queue(upsertPull, int64(p.Repo), int64(p.User), int64(p.Token), p.Client, int64(p.Oldest), int64(p.Newest), millis(p.At),
				int64(store.MostClients), store.OtherClients)
		}
		batch.Queue(commit)
		return db.send(ctx, conn, batch, func(results pgx.BatchResults) error { return skip(results, batch.Len()) })
	})
}

// Pulls lists whom a repo was served to.
func (db *DB) Pulls(ctx context.Context, ref store.RepoRef) (all []store.Pull, err error) {
	err = db.read(ctx, "who was served "+string(ref.Slug), func(conn *pgxpool.Conn) error {
		all, err = list(ctx, conn, func(row pgx.CollectableRow) (p store.Pull, err error) {
			err = row.Scan((*int64)(&p.Repo), (*int64)(&p.User), (*int64)(&p.Token), &p.Client, (*int64)(&p.Oldest), (*int64)(&p.Newest), &p.At,
				&p.UserName, &p.TokenUID)
			p.At = p.At.UTC()
			return p, err
		}, selectPulls, int64(ref.Org), string(ref.Slug))
		return err
	})
	return all, err
}
