package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/server/store"
)

const (
	// addTallies waits for no disk and no standby: what is lost is a minute's count.
	addTallies = `INSERT INTO tallies AS t (key, began, count)
SELECT a.key, now(), a.count FROM unnest($1::text[], $2::bigint[]) AS a (key, count), (SELECT set_config('synchronous_commit', 'off', true)) AS quick
ON CONFLICT (key) DO UPDATE SET
	began = CASE WHEN t.began <= now() - interval '1 minute' THEN excluded.began ELSE t.began END,
	count = CASE WHEN t.began <= now() - interval '1 minute' THEN 0 ELSE t.count END + excluded.count
RETURNING key, count, began, extract(epoch FROM clock_timestamp() - began)::float8`
	dropTallies = `DELETE FROM tallies WHERE began < now() - $1::float8 * interval '1 second'`
)

var _ store.Tallier = (*DB)(nil)

// Tally adds to counts, see [store.Tallier]. The order keeps two servers that count the
// same from waiting for each other.
func (db *DB) Tally(ctx context.Context, add map[string]int) (all []store.Tally, err error) {
	keys := slices.Sorted(maps.Keys(add))
	counts := make([]int64, len(keys))
	for i, key := range keys {
		counts[i] = int64(add[key])
	}
	err = db.read(ctx, "counting together", func(conn *pgxpool.Conn) error {
		all, err = list(ctx, conn, func(row pgx.CollectableRow) (t store.Tally, err error) {
			var age float64
			err = row.Scan(&t.Key, &t.Count, &t.Began, &age)
			t.Age = max(0, time.Duration(age*float64(time.Second)))
			return t, err
		}, addTallies, keys, counts)
		return err
	})
	return all, err
}

// DropTallies takes away old counts.
func (db *DB) DropTallies(ctx context.Context, age time.Duration) error {
	return db.read(ctx, "dropping counts", func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, dropTallies, age.Seconds())
		return err
	})
}
