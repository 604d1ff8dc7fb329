package postgres

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	// victims are the changes that go: $2 and $4 are times, NULL where none goes for its
	// age, $3 how many of each key stay. The newest of a key has the rank 1.
	victims = `WITH ranked AS (
	SELECT h.repo_id, h.version, h.key, h.deleted, h.checksum, v.at,
		row_number() OVER newest AS rank, lag(h.version) OVER newest AS superseded, first_value(h.deleted) OVER newest AS gone, first_value(v.at) OVER newest AS gone_at
	FROM history h JOIN versions v ON v.repo_id = h.repo_id AND v.version = h.version
	WHERE h.repo_id IN (SELECT id FROM repos WHERE org_id = $1)
	WINDOW newest AS (PARTITION BY h.repo_id, h.key ORDER BY h.version DESC)
), judged AS (
	SELECT *, rank > 1 AND (coalesce(at < $2::timestamptz, false) AND rank > $3::bigint OR gone AND coalesce(gone_at < $4::timestamptz, false)) AS goes FROM ranked
) `
	selectVictims = victims + `SELECT repo_id, version, key, superseded FROM judged WHERE goes ORDER BY version, repo_id, key LIMIT $5`
	countVictims  = victims + `SELECT count(*) FROM judged WHERE goes`

	// selectOrphans reads the contents that nothing refers to but what goes.
	selectOrphans = victims + `, used AS (
	SELECT checksum FROM judged WHERE NOT goes AND NOT deleted
	UNION SELECT checksum FROM entries WHERE repo_id IN (SELECT id FROM repos WHERE org_id = $1) AND NOT deleted
	UNION SELECT checksum FROM proposals WHERE repo_id IN (SELECT id FROM repos WHERE org_id = $1)
	UNION SELECT base FROM proposals WHERE repo_id IN (SELECT id FROM repos WHERE org_id = $1) AND base IS NOT NULL
) SELECT b.checksum, octet_length(b.data)::bigint FROM bodies b WHERE b.org_id = $1 AND NOT EXISTS (SELECT FROM used u WHERE u.checksum = b.checksum)`

	dropOf           = ` USING unnest($1::bigint[], $2::bigint[], $3::text[]) AS w(repo_id, version, key) WHERE t.repo_id = w.repo_id AND t.version = w.version AND t.key = w.key`
	deleteChanges    = `DELETE FROM history t` + dropOf
	deleteFindingsAt = `DELETE FROM findings t` + dropOf
	deleteWordsAt    = `DELETE FROM search_docs t` + dropOf
	upsertForgotten  = `INSERT INTO forgotten (repo_id, version) SELECT repo_id, max(version) FROM unnest($1::bigint[], $2::bigint[]) AS w(repo_id, version) GROUP BY repo_id
ON CONFLICT (repo_id) DO UPDATE SET version = greatest(forgotten.version, excluded.version)`
	selectForgotten = `SELECT version FROM forgotten WHERE repo_id = (SELECT id FROM repos WHERE org_id = $1 AND slug = $2)`

	selectMarks = `SELECT id, version FROM repos WHERE org_id = $1`
	// deleteOrphans spares what a repo has come to refer to since a version.
	deleteOrphans = `WITH moved AS (
	SELECT r.id, coalesce(m.version, 0) AS version FROM repos r LEFT JOIN unnest($3::bigint[], $4::bigint[]) AS m(id, version) ON m.id = r.id
	WHERE r.org_id = $1 AND r.version > coalesce(m.version, 0)
), used AS (
	SELECT h.checksum FROM moved JOIN history h ON h.repo_id = moved.id AND h.version > moved.version
	UNION SELECT p.checksum FROM moved JOIN proposals p ON p.repo_id = moved.id AND p.version > moved.version
	UNION SELECT p.base FROM moved JOIN proposals p ON p.repo_id = moved.id AND p.version > moved.version WHERE p.base IS NOT NULL
) DELETE FROM bodies b WHERE b.org_id = $1 AND b.checksum = ANY ($2::bytea[]) AND NOT EXISTS (SELECT FROM used u WHERE u.checksum = b.checksum)
RETURNING octet_length(b.data)::bigint`
)

// pastRow is a row of the history, and the version at which it was superseded.
type pastRow struct {
	repo, version int64
	key           string
	superseded    int64
}

// orphan is a content that nothing refers to.
type orphan struct {
	sum   []byte
	bytes int64
}

// Vacuum takes away what a cut names, see [store.Store].
func (db *DB) Vacuum(ctx context.Context, org store.OrgID, cut store.Cut) (done store.Vacuumed, err error) {
	arguments := []any{int64(org), instant(cut.Before), max(cut.Keep, 1), instant(cut.Deleted)}
	err = db.read(ctx, "dropping what is old", func(conn *pgxpool.Conn) error {
		if !cut.Nothing() && cut.DryRun {
			err = atLength(ctx, conn, func(tx pgx.Tx) error { return tx.QueryRow(ctx, countVictims, arguments...).Scan(&done.Changes) })
		} else if !cut.Nothing() {
			done.Changes, err = dropChanges(ctx, conn, arguments)
		}
		if err != nil {
			return err
		}
		orphans, ids, versions, err := orphansOf(ctx, conn, org, arguments)
		if err != nil || cut.DryRun {
			for _, o := range orphans {
				done.Contents, done.Bytes = done.Contents+1, done.Bytes+o.bytes
			}
			return err
		}
		for piece := range slices.Chunk(orphans, store.VacuumContents) {
			if err := db.dropOrphans(ctx, conn, org, piece, ids, versions, &done); err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

// atLength reads as of one instant for as long as it takes.
func atLength(ctx context.Context, conn *pgxpool.Conn, fn func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, exportSetup); err != nil {
			return err
		}
		return fn(tx)
	})
}

// dropChanges deletes rows of the history, the oldest first, in short transactions.
func dropChanges(ctx context.Context, conn *pgxpool.Conn, arguments []any) (n int64, err error) {
	for {
		var rows []pastRow
		err := atLength(ctx, conn, func(tx pgx.Tx) error {
			rows, err = list(ctx, tx, func(row pgx.CollectableRow) (p pastRow, err error) {
				return p, row.Scan(&p.repo, &p.version, &p.key, &p.superseded)
			},
				selectVictims, append(slices.Clone(arguments), store.VacuumPass)...)
			return err
		})
		if err != nil {
			return n, err
		}
		for piece := range slices.Chunk(rows, store.VacuumChanges) {
			if err := dropPiece(ctx, conn, piece); err != nil {
				return n, err
			}
			n += int64(len(piece))
		}
		if len(rows) < store.VacuumPass {
			return n, nil
		}
	}
}

func dropPiece(ctx context.Context, conn *pgxpool.Conn, piece []pastRow) error {
	var repos, versions, last []int64
	var keys []string
	for _, p := range piece {
		repos, versions, keys, last = append(repos, p.repo), append(versions, p.version), append(keys, p.key), append(last, p.superseded-1)
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, statement := range []string{deleteWordsAt, deleteFindingsAt, deleteChanges} {
			if _, err := tx.Exec(ctx, statement, repos, versions, keys); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, upsertForgotten, repos, last)
		return err
	})
}

// orphansOf reads what nothing refers to, and the versions of the repos of that instant.
func orphansOf(ctx context.Context, conn *pgxpool.Conn, org store.OrgID, arguments []any) (all []orphan, ids, versions []int64, err error) {
	err = atLength(ctx, conn, func(tx pgx.Tx) error {
		_, err := list(ctx, tx, func(row pgx.CollectableRow) (_ struct{}, err error) {
			var id, version int64
			err = row.Scan(&id, &version)
			ids, versions = append(ids, id), append(versions, version)
			return struct{}{}, err
		}, selectMarks, int64(org))
		if err != nil {
			return err
		}
		all, err = list(ctx, tx, func(row pgx.CollectableRow) (o orphan, err error) { return o, row.Scan(&o.sum, &o.bytes) }, selectOrphans, arguments...)
		return err
	})
	return all, ids, versions, err
}

// dropOrphans deletes contents but those that a commit since the marks refers to. No
// commit of the organization is under way then: one that found a content there already
// has been seen to refer to it.
func (db *DB) dropOrphans(ctx context.Context, conn *pgxpool.Conn, org store.OrgID, piece []orphan, ids, versions []int64, done *store.Vacuumed) error {
	sums := make([][]byte, len(piece))
	for i, o := range piece {
		sums[i] = o.sum
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockWithdraw, strconv.FormatInt(db.lockWait.Milliseconds(), 10), withdrawLock, int32(org)); err != nil {
			return err
		}
		sizes, err := list(ctx, tx, pgx.RowTo[int64], deleteOrphans, int64(org), sums, ids, versions)
		for _, size := range sizes {
			done.Contents, done.Bytes = done.Contents+1, done.Bytes+size
		}
		return err
	})
}

// Forgotten is the newest version as of which a text went.
func (db *DB) Forgotten(ctx context.Context, ref store.RepoRef) (version api.Version, err error) {
	err = db.read(ctx, "what was forgotten of "+string(ref.Slug), func(conn *pgxpool.Conn) error {
		err := conn.QueryRow(ctx, selectForgotten, int64(ref.Org), string(ref.Slug)).Scan((*int64)(&version))
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return version, err
}
