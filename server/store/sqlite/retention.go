package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	// victims are the changes that go: ?2 and ?4 are times, 0 for none, ?3 how many of
	// each key stay. The newest of a key has the rank 1.
	victims = `WITH ranked AS (
	SELECT h.repo_id, h.version, h.key, h.deleted, h.checksum, v.at,
		row_number() OVER newest AS rank, lag(h.version) OVER newest AS superseded, first_value(h.deleted) OVER newest AS gone, first_value(v.at) OVER newest AS gone_at
	FROM history h JOIN versions v ON v.repo_id = h.repo_id AND v.version = h.version
	WHERE h.repo_id IN (SELECT id FROM repos WHERE org_id = ?1)
	WINDOW newest AS (PARTITION BY h.repo_id, h.key ORDER BY h.version DESC)
), judged AS (
	SELECT *, rank > 1 AND (at < ?2 AND rank > ?3 OR gone = 1 AND gone_at < ?4) AS goes FROM ranked
) `
	selectVictims = victims + `SELECT repo_id, version, key, superseded FROM judged WHERE goes ORDER BY version, repo_id, key LIMIT ?5`
	countVictims  = victims + `SELECT count(*) FROM judged WHERE goes`

	// selectOrphans reads the contents that nothing refers to but what goes.
	selectOrphans = victims + `SELECT b.checksum, length(b.data) FROM bodies b WHERE b.org_id = ?1 AND b.checksum NOT IN (
	SELECT checksum FROM judged WHERE NOT goes AND deleted = 0
	UNION SELECT checksum FROM entries WHERE repo_id IN (SELECT id FROM repos WHERE org_id = ?1) AND deleted = 0
	UNION SELECT checksum FROM proposals WHERE repo_id IN (SELECT id FROM repos WHERE org_id = ?1)
	UNION SELECT base FROM proposals WHERE repo_id IN (SELECT id FROM repos WHERE org_id = ?1) AND base IS NOT NULL)`

	deleteChange     = `DELETE FROM history WHERE repo_id = ? AND version = ? AND key = ?`
	deleteFindingsAt = `DELETE FROM findings WHERE repo_id = ? AND version = ? AND key = ?`
	deleteWordsAt    = `DELETE FROM search_docs WHERE repo_id = ? AND version = ? AND key = ?`
	upsertForgotten  = `INSERT INTO forgotten (repo_id, version) VALUES (?, ?)
ON CONFLICT (repo_id) DO UPDATE SET version = max(version, excluded.version)`
	selectForgotten = `SELECT version FROM forgotten WHERE repo_id = (SELECT id FROM repos WHERE org_id = ? AND slug = ?)`

	selectMarks = `SELECT id, version FROM repos WHERE org_id = ?`
	// selectNewer reads what a repo has come to refer to since a version.
	selectNewer = `SELECT checksum FROM history WHERE repo_id = ?1 AND version > ?2
UNION SELECT checksum FROM proposals WHERE repo_id = ?1 AND version > ?2
UNION SELECT base FROM proposals WHERE repo_id = ?1 AND version > ?2 AND base IS NOT NULL`
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
	arguments := []any{int64(org), orZero(cut.Before), max(cut.Keep, 1), orZero(cut.Deleted)}
	if !cut.Nothing() {
		if cut.DryRun {
			err = db.reads(ctx, "counting old changes", func(tx *sql.Tx) error {
				return tx.QueryRowContext(ctx, countVictims, arguments...).Scan(&done.Changes)
			})
		} else {
			done.Changes, err = db.dropChanges(ctx, arguments)
		}
	}
	if err != nil {
		return done, err
	}
	orphans, marks, err := db.orphans(ctx, org, arguments)
	if err != nil || cut.DryRun {
		for _, o := range orphans {
			done.Contents, done.Bytes = done.Contents+1, done.Bytes+o.bytes
		}
		return done, err
	}
	for piece := range slices.Chunk(orphans, store.VacuumContents) {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		if err := db.dropOrphans(ctx, org, piece, marks, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// orZero is a time for comparing: nothing is before zero.
func orZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// dropChanges deletes rows of the history, the oldest first, in short transactions.
func (db *DB) dropChanges(ctx context.Context, arguments []any) (n int64, err error) {
	for {
		var rows []pastRow
		err := db.reads(ctx, "looking for old changes", func(tx *sql.Tx) error {
			found, err := tx.QueryContext(ctx, selectVictims, append(slices.Clone(arguments), store.VacuumPass)...)
			if err != nil {
				return err
			}
			rows, err = collect(found, func(row scanner) (p pastRow, err error) {
				return p, row.Scan(&p.repo, &p.version, &p.key, &p.superseded)
			})
			return err
		})
		if err != nil {
			return n, err
		}
		for piece := range slices.Chunk(rows, store.VacuumChanges) {
			if err := ctx.Err(); err != nil {
				return n, err
			}
			err := db.change(ctx, "dropping old changes", func(ctx context.Context, tx *sql.Tx) error { return dropPiece(ctx, tx, piece) })
			if err != nil {
				return n, err
			}
			n += int64(len(piece))
		}
		if len(rows) < store.VacuumPass {
			return n, nil
		}
	}
}

func dropPiece(ctx context.Context, tx *sql.Tx, piece []pastRow) error {
	for _, statement := range []string{deleteWordsAt, deleteFindingsAt, deleteChange} {
		prepared, err := tx.PrepareContext(ctx, statement)
		if err != nil {
			return err
		}
		for _, p := range piece {
			if _, err := prepared.ExecContext(ctx, p.repo, p.version, p.key); err != nil {
				return errors.Join(err, prepared.Close())
			}
		}
		if err := prepared.Close(); err != nil {
			return err
		}
	}
	for _, p := range piece {
		if _, err := tx.ExecContext(ctx, upsertForgotten, p.repo, p.superseded-1); err != nil {
			return err
		}
	}
	return nil
}

// orphans reads what nothing refers to, and the versions of the repos of that instant.
func (db *DB) orphans(ctx context.Context, org store.OrgID, arguments []any) (all []orphan, marks map[int64]int64, err error) {
	err = db.reads(ctx, "looking for contents without a change", func(tx *sql.Tx) error {
		if marks, err = marksOf(ctx, tx, org); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, selectOrphans, arguments...)
		if err != nil {
			return err
		}
		all, err = collect(rows, func(row scanner) (o orphan, err error) { return o, row.Scan(&o.sum, &o.bytes) })
		return err
	})
	return all, marks, err
}

func marksOf(ctx context.Context, tx *sql.Tx, org store.OrgID) (map[int64]int64, error) {
	rows, err := tx.QueryContext(ctx, selectMarks, int64(org))
	if err != nil {
		return nil, err
	}
	marks := map[int64]int64{}
	_, err = collect(rows, func(row scanner) (_ struct{}, err error) {
		var id, version int64
		err = row.Scan(&id, &version)
		marks[id] = version
		return struct{}{}, err
	})
	return marks, err
}

// dropOrphans deletes contents but those that a commit since the marks refers to. There
// is one writer, so none is under way.
func (db *DB) dropOrphans(ctx context.Context, org store.OrgID, piece []orphan, marks map[int64]int64, done *store.Vacuumed) error {
	return db.change(ctx, "dropping contents", func(ctx context.Context, tx *sql.Tx) error {
		now, err := marksOf(ctx, tx, org)
		if err != nil {
			return err
		}
		used := map[string]bool{}
		for id, version := range now {
			if version == marks[id] {
				continue
			}
			rows, err := tx.QueryContext(ctx, selectNewer, id, marks[id])
			if err != nil {
				return err
			}
			if _, err := collect(rows, func(row scanner) (_ struct{}, err error) {
				var sum []byte
				err = row.Scan(&sum)
				used[string(sum)] = true
				return struct{}{}, err
			}); err != nil {
				return err
			}
		}
		for _, o := range piece {
			if used[string(o.sum)] {
				continue
			}
			if _, err := tx.ExecContext(ctx, deleteBody, int64(org), o.sum); err != nil {
				return err
			}
			done.Contents, done.Bytes = done.Contents+1, done.Bytes+o.bytes
		}
		return nil
	})
}

// Forgotten is the newest version as of which a text went.
func (db *DB) Forgotten(ctx context.Context, ref store.RepoRef) (version api.Version, err error) {
	err = db.reader.QueryRowContext(ctx, selectForgotten, int64(ref.Org), string(ref.Slug)).Scan(&version)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, fail(ctx, "what was forgotten of "+string(ref.Slug), err)
	}
	return version, nil
}
