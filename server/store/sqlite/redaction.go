package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	// Lists of checksums are JSON arrays of hex.
	selectRedactions = `SELECT checksum, at, user_name, token_uid, reason, done FROM redactions
WHERE org_id = ?1 AND (?2 IS NULL OR checksum IN (SELECT unhex(value) FROM json_each(?2))) ORDER BY at, checksum`

	// selectWithdrawn reads those of the listed contents that were withdrawn, by one
	// look at the index for each: a PUT waits for it, with the lock.
	selectWithdrawn = `SELECT r.checksum, r.at, r.user_name, r.token_uid, r.reason, r.done
FROM json_each(?2) brought CROSS JOIN redactions r ON r.org_id = ?1 AND r.checksum = unhex(brought.value) ORDER BY r.at, r.checksum`

	countErased = `SELECT count(*) FROM redactions WHERE done = 1`

	insertRedaction = `INSERT INTO redactions (org_id, checksum, at, user_name, token_uid, reason, done) VALUES (?, ?, ?, ?, ?, ?, 0)
ON CONFLICT DO NOTHING`

	selectWithdrawnAfter = `SELECT checksum FROM repo_redactions WHERE repo_id = ? AND version > ? ORDER BY checksum`

	insertRepoRedaction = `INSERT INTO repo_redactions (repo_id, version, checksum) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`
	deleteFindingsIn    = `DELETE FROM findings WHERE repo_id = ?1
AND (key, version) IN (SELECT key, version FROM history WHERE repo_id = ?1 AND checksum = ?2)`
	closeProposalsOf = `UPDATE proposals SET state = 'rejected', closed = ?3, closed_at = ?4, closed_by = ?5, reason = 'its text was redacted'
WHERE repo_id = ?1 AND checksum = ?2 AND state = 'open' AND deleted = 0`

	// The words of a text go with it.
	deleteWordsIn = `DELETE FROM search_docs WHERE repo_id = ? AND checksum = ?`
	deleteWordsOf = `DELETE FROM search_docs WHERE repo_id IN (SELECT id FROM repos WHERE org_id = ?) AND checksum = ?`

	selectHolders = `SELECT h.key, h.deleted, h.checksum, h.previous, h.size, h.modified, h.version, v.at, coalesce(m.name, ''), v.client,
	coalesce((SELECT min(n.version) FROM history n WHERE n.repo_id = h.repo_id AND n.key = h.key AND n.version > h.version), 0)
FROM history h
JOIN versions v ON v.repo_id = h.repo_id AND v.version = h.version
LEFT JOIN memberships m ON m.org_id = ?1 AND m.user_id = v.user_id
WHERE h.repo_id = (SELECT id FROM repos WHERE org_id = ?1 AND slug = ?2) AND (h.version, h.key) > (?3, ?4) AND h.deleted = 0
AND (?5 IS NULL OR h.checksum IN (SELECT unhex(value) FROM json_each(?5)))
AND NOT EXISTS (SELECT 1 FROM redactions x WHERE x.org_id = ?1 AND x.checksum = h.checksum AND x.done = 1)
ORDER BY h.version, h.key LIMIT ?6`

	deleteBody    = `DELETE FROM bodies WHERE org_id = ? AND checksum = ?`
	redactionDone = `UPDATE redactions SET done = 1 WHERE org_id = ? AND checksum = ?`
)

// sumList is a list of checksums on its way into a statement; nil is NULL.
func sumList(sums []api.Checksum) any {
	if sums == nil {
		return nil
	}
	list := make([]string, len(sums))
	for i, c := range sums {
		sum := c.Sum()
		list[i] = hex.EncodeToString(sum[:])
	}
	text, _ := json.Marshal(list) // hex digits: it cannot fail
	return string(text)
}

func scanRedaction(row scanner) (r store.Redaction, err error) {
	err = row.Scan((*checksum)(&r.Checksum), (*moment)(&r.At), &r.User, &r.TokenUID, &r.Reason, &r.Done)
	return r, err
}

// Redactions reads what was withdrawn.
func (db *DB) Redactions(ctx context.Context, org store.OrgID, sums []api.Checksum) (all []store.Redaction, err error) {
	err = db.reads(ctx, "redactions", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectRedactions, int64(org), sumList(sums))
		if err != nil {
			return err
		}
		all, err = collect(rows, scanRedaction)
		return err
	})
	return all, err
}

// CountErased counts what is gone.
func (db *DB) CountErased(ctx context.Context) (n int64, err error) {
	if err := db.reader.QueryRowContext(ctx, countErased).Scan(&n); err != nil {
		return 0, fail(ctx, "counting redactions", err)
	}
	return n, nil
}

// checkWithdrawn refuses a change that brings what was withdrawn.
func (db *DB) checkWithdrawn(ctx context.Context, tx *sql.Tx, org store.OrgID, sums []api.Checksum) error {
	if len(sums) == 0 {
		return nil
	}
	rows, err := tx.StmtContext(ctx, db.statements.selectWithdrawn).QueryContext(ctx, int64(org), sumList(sums))
	if err != nil {
		return err
	}
	found, err := collect(rows, scanRedaction)
	if err == nil && len(found) > 0 {
		err = &store.RedactedError{Redaction: found[0]}
	}
	return err
}

// Withdraw notes what is withdrawn. There is one writer, so nothing is under way.
func (db *DB) Withdraw(ctx context.Context, org store.OrgID, all []store.Redaction) error {
	return db.change(ctx, "withdrawing contents", func(ctx context.Context, tx *sql.Tx) error {
		for _, r := range all {
			if _, err := tx.ExecContext(ctx, insertRedaction, int64(org), raw(r.Checksum), r.At.UnixMilli(), r.User, r.TokenUID, r.Reason); err != nil {
				return err
			}
		}
		return nil
	})
}

// withdrawnAfter reads what readers of a repo are told of.
func withdrawnAfter(ctx context.Context, tx *sql.Tx, head store.Head, since api.Version) ([]api.Checksum, error) {
	if head.Redacted <= since {
		return nil, nil
	}
	rows, err := tx.QueryContext(ctx, selectWithdrawnAfter, int64(head.ID), int64(since))
	if err != nil {
		return nil, err
	}
	return collect(rows, func(row scanner) (sum api.Checksum, err error) { return sum, row.Scan((*checksum)(&sum)) })
}

// writeRedacted carries out what a change says of withdrawn contents.
func (w *transaction) writeRedacted(tx *sql.Tx, head *store.Head, change *store.Change) error {
	for _, sum := range change.Redacted {
		if _, err := tx.ExecContext(w.ctx, insertRepoRedaction, w.repo, w.version, raw(sum)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(w.ctx, deleteFindingsIn, w.repo, raw(sum)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(w.ctx, deleteWordsIn, w.repo, raw(sum)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(w.ctx, closeProposalsOf, w.repo, raw(sum), w.version, head.LastModified.UnixMilli(), change.Audit.User); err != nil {
			return err
		}
	}
	return nil
}

// Holders lists versions that hold contents.
func (db *DB) Holders(ctx context.Context, ref store.RepoRef, q store.HolderQuery) (all []store.Holder, err error) {
	err = db.reads(ctx, "looking through "+string(ref.Slug), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectHolders, int64(ref.Org), string(ref.Slug), int64(q.Version), string(q.Key), sumList(q.Sums), q.Limit)
		if err != nil {
			return err
		}
		all, err = collect(rows, func(row scanner) (h store.Holder, err error) {
			err = row.Scan(&h.Key, &h.Deleted, (*checksum)(&h.Checksum), (*checksum)(&h.Previous), &h.Size, (*moment)(&h.Modified),
				&h.Version, (*moment)(&h.At), &h.UserName, &h.Client, &h.Until)
			return h, err
		})
		return err
	})
	return all, err
}

// Erase deletes bodies; secure_delete overwrites them.
func (db *DB) Erase(ctx context.Context, org store.OrgID, sums []api.Checksum) error {
	return db.change(ctx, "erasing contents", func(ctx context.Context, tx *sql.Tx) error {
		for _, sum := range sums {
			if _, err := tx.ExecContext(ctx, deleteBody, int64(org), raw(sum)); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, deleteWordsOf, int64(org), raw(sum)); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, redactionDone, int64(org), raw(sum)); err != nil {
				return err
			}
		}
		return nil
	})
}

// The bounds of a scrub.
const (
	rewriteUnasked = 256 << 20 // bytes of a file that is rewritten within seconds
	checkpointWait = 5 * time.Second
)

// Scrub folds the WAL into the file and empties it, once the file has been rewritten
// from what stands: secure_delete overwrites what is deleted, but not every copy that
// moving cells between pages left before.
func (db *DB) Scrub(ctx context.Context, rewrite bool) (done store.Scrubbed, err error) {
	if err := db.queue(ctx); err != nil {
		return done, fail(ctx, "scrubbing", err)
	}
	defer func() { <-db.turn }()
	var path string
	var number int
	var name string
	if err := db.writer.QueryRowContext(ctx, "PRAGMA database_list").Scan(&number, &name, &path); err != nil {
		return done, fail(ctx, "asking for the file", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return done, err
	}
	if rewrite || info.Size() <= rewriteUnasked {
		if _, err := db.writer.ExecContext(context.WithoutCancel(ctx), "VACUUM"); err != nil {
			return done, fail(ctx, "rewriting the file", err)
		}
		done.Rewritten = true
	} else {
		done.Remains = append(done.Remains, "free places in the database file that earlier changes left; server redact apply --rewrite rewrites it")
	}
	emptied, err := db.emptyWAL(ctx)
	if err != nil {
		return done, fail(ctx, "emptying the WAL", err)
	}
	if !emptied {
		done.Remains = append(done.Remains, "the file "+path+"-wal, which a reader kept from being emptied; server redact apply tries again")
	}
	done.Remains = append(done.Remains, "blocks of the disk that the file system freed and has not used again")
	return done, nil
}

// emptyWAL waits for readers of older states, for a while.
func (db *DB) emptyWAL(ctx context.Context) (bool, error) {
	wait, cancel := context.WithTimeout(ctx, checkpointWait)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var busy, pages, moved int
		err := db.writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
		if err != nil && code(err)&0xff != codeBusy && code(err)&0xff != codeLocked {
			return false, errors.Join(err, ctx.Err())
		}
		if err == nil && busy == 0 {
			return true, nil
		}
		select {
		case <-wait.Done():
			return false, ctx.Err()
		case <-tick.C:
		}
	}
}
