package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// withdrawLock is the first half of an advisory lock's number; the second is the
// organization's. Commits share it, Withdraw holds it alone: so no commit that has not
// seen what is withdrawn is under way any more when Withdraw returns.
const withdrawLock = int32(0x746d7264)

const (
	selectRedactions = `SELECT checksum, at, user_name, token_uid, reason, done FROM redactions
WHERE org_id = $1 AND ($2::bytea[] IS NULL OR checksum = ANY ($2)) ORDER BY at, checksum`

	countErased = `SELECT count(*) FROM redactions WHERE done`

	lockWithdraw = `SELECT set_config('lock_timeout', $1, true), pg_advisory_xact_lock($2, $3)`

	insertRedaction = `INSERT INTO redactions (org_id, checksum, at, user_name, token_uid, reason, done) VALUES ($1, $2, $3, $4, $5, $6, false)
ON CONFLICT DO NOTHING`

	selectWithdrawnAfter = `SELECT w.checksum FROM repo_redactions w
WHERE w.repo_id = (SELECT id FROM repos WHERE org_id = $1 AND slug = $2 AND redacted > $3) AND w.version > $3 ORDER BY w.checksum`

	insertRepoRedactions = `INSERT INTO repo_redactions (repo_id, version, checksum) SELECT $1, $2, unnest($3::bytea[]) ON CONFLICT DO NOTHING`
	deleteFindingsIn     = `DELETE FROM findings f USING history h
WHERE h.repo_id = $1 AND h.checksum = ANY ($2::bytea[]) AND f.repo_id = $1 AND f.key = h.key AND f.version = h.version`
	closeProposalsOf = `UPDATE proposals SET state = 'rejected', closed = $3, closed_at = $4, closed_by = $5, reason = 'its text was redacted'
WHERE repo_id = $1 AND checksum = ANY ($2::bytea[]) AND state = 'open' AND NOT deleted`

	// The words of a text go with it.
	deleteWordsIn = `DELETE FROM search_docs WHERE repo_id = $1 AND checksum = ANY ($2::bytea[])`
	deleteWordsOf = `DELETE FROM search_docs WHERE repo_id IN (SELECT id FROM repos WHERE org_id = $1) AND checksum = ANY ($2::bytea[])`

	selectHolders = `SELECT h.key, h.deleted, h.checksum, h.previous, h.size, h.modified, h.version, v.at, coalesce(m.name, ''), v.client,
	coalesce((SELECT min(n.version) FROM history n WHERE n.repo_id = h.repo_id AND n.key = h.key AND n.version > h.version), 0)
FROM history h
JOIN versions v ON v.repo_id = h.repo_id AND v.version = h.version
LEFT JOIN memberships m ON m.org_id = $1 AND m.user_id = v.user_id
WHERE h.repo_id = (SELECT id FROM repos WHERE org_id = $1 AND slug = $2) AND (h.version, h.key) > ($3, $4) AND NOT h.deleted
AND ($5::bytea[] IS NULL OR h.checksum = ANY ($5))
AND NOT EXISTS (SELECT 1 FROM redactions x WHERE x.org_id = $1 AND x.checksum = h.checksum AND x.done)
ORDER BY h.version, h.key LIMIT $6`

	deleteBodies  = `DELETE FROM bodies WHERE org_id = $1 AND checksum = ANY ($2::bytea[])`
	redactionDone = `UPDATE redactions SET done = true WHERE org_id = $1 AND checksum = ANY ($2::bytea[])`

	textsSize = `SELECT pg_total_relation_size('bodies') + pg_total_relation_size('search_docs') + pg_total_relation_size('search_words')`
)

// rawSums are checksums on their way into a statement; nil stays nil.
func rawSums(sums []api.Checksum) [][]byte {
	if sums == nil {
		return nil
	}
	all := make([][]byte, len(sums))
	for i, sum := range sums {
		all[i] = raw(sum)
	}
	return all
}

func scanRedaction(row pgx.CollectableRow) (r store.Redaction, err error) {
	err = row.Scan((*checksum)(&r.Checksum), &r.At, &r.User, &r.TokenUID, &r.Reason, &r.Done)
	r.At = r.At.UTC()
	return r, err
}

// scanSums reads the next result as checksums.
func scanSums(results pgx.BatchResults) ([]api.Checksum, error) {
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (sum api.Checksum, err error) { return sum, row.Scan((*checksum)(&sum)) })
	if len(all) == 0 {
		all = nil
	}
	return all, err
}

// Redactions reads what was withdrawn.
func (db *DB) Redactions(ctx context.Context, org store.OrgID, sums []api.Checksum) (all []store.Redaction, err error) {
	err = db.read(ctx, "redactions", func(conn *pgxpool.Conn) error {
		all, err = list(ctx, conn, scanRedaction, selectRedactions, int64(org), rawSums(sums))
		return err
	})
	return all, err
}

// CountErased counts what is gone.
func (db *DB) CountErased(ctx context.Context) (n int64, err error) {
	err = db.read(ctx, "counting redactions", func(conn *pgxpool.Conn) error { return conn.QueryRow(ctx, countErased).Scan(&n) })
	return n, err
}

// checkWithdrawn refuses a change that brings what was withdrawn.
func (t *transaction) checkWithdrawn(ctx context.Context, sums []api.Checksum) (refusal, err error) {
	if len(sums) == 0 {
		return nil, nil
	}
	found, err := list(ctx, t.conn, scanRedaction, selectRedactions, int64(t.repo.Org), rawSums(sums))
	if err != nil {
		return nil, fail(ctx, "asking for what was withdrawn", err)
	}
	if len(found) > 0 {
		return &store.RedactedError{Redaction: found[0]}, nil
	}
	return nil, nil
}

// Withdraw notes what is withdrawn, when no commit of the organization is under way.
func (db *DB) Withdraw(ctx context.Context, org store.OrgID, all []store.Redaction) error {
	return db.read(ctx, "withdrawing contents", func(conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, lockWithdraw, strconv.FormatInt(db.lockWait.Milliseconds(), 10), withdrawLock, int32(org)); err != nil {
				return err
			}
			for _, r := range all {
				if _, err := tx.Exec(ctx, insertRedaction, int64(org), raw(r.Checksum), millis(r.At), r.User, r.TokenUID, r.Reason); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// queueRedacted queues what a change says of withdrawn contents.
func queueRedacted(batch *pgx.Batch, repo int64, change *store.Change) {
	if len(change.Redacted) == 0 {
		return
	}
	sums, version := rawSums(change.Redacted), int64(change.Head.Version)
	batch.Queue(insertRepoRedactions, repo, version, sums)
	batch.Queue(deleteFindingsIn, repo, sums)
	batch.Queue(deleteWordsIn, repo, sums)
	batch.Queue(closeProposalsOf, repo, sums, version, millis(change.Head.LastModified), change.Audit.User)
}

// Holders lists versions that hold contents.
func (db *DB) Holders(ctx context.Context, ref store.RepoRef, q store.HolderQuery) (all []store.Holder, err error) {
	err = db.read(ctx, "looking through "+string(ref.Slug), func(conn *pgxpool.Conn) error {
		all, err = list(ctx, conn, func(row pgx.CollectableRow) (h store.Holder, err error) {
			var modified *time.Time
			err = row.Scan((*string)(&h.Key), &h.Deleted, (*checksum)(&h.Checksum), (*checksum)(&h.Previous), &h.Size, &modified,
				(*int64)(&h.Version), &h.At, &h.UserName, &h.Client, (*int64)(&h.Until))
			h.Modified, h.At = moment(modified), h.At.UTC()
			return h, err
		}, selectHolders, int64(ref.Org), string(ref.Slug), int64(q.Version), string(q.Key), rawSums(q.Sums), int64(q.Limit))
		return err
	})
	return all, err
}

// Erase deletes bodies.
func (db *DB) Erase(ctx context.Context, org store.OrgID, sums []api.Checksum) error {
	return db.read(ctx, "erasing contents", func(conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, deleteBodies, int64(org), rawSums(sums)); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, deleteWordsOf, int64(org), rawSums(sums)); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, redactionDone, int64(org), rawSums(sums))
			return err
		})
	})
}

// textTables are the tables that hold texts, whole or as words.
const textTables = "bodies, search_docs, search_words"

// rewriteUnasked is how many bytes of texts are rewritten within seconds.
const rewriteUnasked = 256 << 20

// Scrub vacuums the tables that hold texts. Rewriting them locks them; where a lock is
// not had within the usual wait, they are vacuumed in place.
func (db *DB) Scrub(ctx context.Context, rewrite bool) (done store.Scrubbed, err error) {
	err = db.read(ctx, "scrubbing", func(conn *pgxpool.Conn) error {
		var size int64
		if err := conn.QueryRow(ctx, textsSize).Scan(&size); err != nil {
			return err
		}
		if rewrite || size <= rewriteUnasked {
			err := vacuum(ctx, conn, "VACUUM FULL "+textTables, db.lockWait)
			if err == nil {
				done.Rewritten = true
			} else if !errors.Is(fail(ctx, "", err), store.ErrBusy) {
				return err
			}
		}
		if !done.Rewritten {
			done.Remains = append(done.Remains, "dead tuples and free places in the tables bodies, search_docs and search_words; server redact apply --rewrite rewrites it")
			return vacuum(ctx, conn, "VACUUM "+textTables, db.lockWait)
		}
		return nil
	})
	done.Remains = append(done.Remains, "the database's WAL, its archive, and replicas until they have replayed it",
		"blocks of the disk that the file system freed and has not used again")
	return done, err
}

// vacuum runs outside any transaction. Behind a pooler its setting could be another
// session's, so it is taken back, and a connection that could not is closed.
func vacuum(ctx context.Context, conn *pgxpool.Conn, statement string, lockWait time.Duration) error {
	if _, err := conn.Exec(ctx, fmt.Sprintf("SET lock_timeout = %d", lockWait.Milliseconds())); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol)
	if _, reset := conn.Exec(context.WithoutCancel(ctx), "RESET lock_timeout"); reset != nil {
		_ = conn.Conn().Close(context.WithoutCancel(ctx))
	}
	return err
}
