package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	selectHead = `SELECT id, version, checksum, entries, bytes, last_modified, proposals, redacted FROM repos WHERE org_id = $1 AND slug = $2`

	// lockHead also brings what only Commit needs, and whether there is anything in the
	// organization that must not come back. Commit holds withdrawLock by then, so that
	// stays as it is until its end.
	lockHead = `SELECT id, version, checksum, entries, bytes, last_modified, proposals, redacted, set_state, audit_head,
	EXISTS (SELECT 1 FROM redactions WHERE org_id = $1) AS withdrawn FROM repos WHERE org_id = $1 AND slug = $2 FOR NO KEY UPDATE`

	// insertRepo makes the row that a first PUT locks. Of two at once one waits
	// here for the other's transaction to end. Under a name that a repo had before
	// none is made: whoever asked for that one did not know its new name yet.
	insertRepo = `INSERT INTO repos (org_id, slug, version, entries, bytes, audit_head)
SELECT $1::bigint, $2::text, 0, 0, 0, decode(repeat('00', 32), 'hex')
WHERE NOT EXISTS (SELECT 1 FROM repo_aliases WHERE org_id = $1 AND slug = $2) ON CONFLICT (org_id, slug) DO NOTHING`

	updateHead = `UPDATE repos SET version = $2, checksum = $3, entries = $4, bytes = $5, last_modified = $6,
	set_state = $7, audit_head = $8, proposals = $9, redacted = $10 WHERE id = $1`

	// insertVersion is the change itself.
	insertVersion = `INSERT INTO versions (repo_id, version, at, user_id, token_id, client, checksum)
VALUES ($1, $2, $3, $4, $5, $6, $7)`
)

// Statements that frame a transaction. The settings hold until its end. Plans are
// fixed to the indexes, because a plan made while a table was small is kept, and
// would read all of it when it no longer is.
const (
	beginWrite = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`
	beginRead  = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`
	setWrite   = `SELECT set_config('lock_timeout', $1, true), set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true),
	pg_advisory_xact_lock_shared($2, $3)`
	setRead  = `SELECT set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)`
	commit   = `COMMIT`
	rollback = `ROLLBACK`
)

// Head reads a repo's head.
func (db *DB) Head(ctx context.Context, ref store.RepoRef) (head store.Head, err error) {
	err = db.read(ctx, "head of "+string(ref.Slug), func(conn *pgxpool.Conn) error {
		head, err = scanHead(conn.QueryRow(ctx, selectHead, int64(ref.Org), string(ref.Slug)))
		return err
	})
	return head, err
}

// View reads the head and the rows that changed after since, in one snapshot.
func (db *DB) View(ctx context.Context, ref store.RepoRef, since api.Version) (view store.View, err error) {
	err = db.read(ctx, "view of "+string(ref.Slug), func(conn *pgxpool.Conn) error {
		batch := &pgx.Batch{}
		batch.Queue(beginRead)
		batch.Queue(setRead)
		batch.Queue(selectHead, int64(ref.Org), string(ref.Slug))
		if since <= 0 {
			batch.Queue(selectEntries, int64(ref.Org), string(ref.Slug))
		} else {
			batch.Queue(selectEntriesSince, int64(ref.Org), string(ref.Slug), int64(since), int64(farBehind))
		}
		batch.Queue(selectWithdrawnAfter, int64(ref.Org), string(ref.Slug), int64(since))
		if ref.For != 0 {
			queueShadows(batch, ref)
			batch.Queue(selectSet, int64(ref.Org), string(ref.Slug))
		}
		batch.Queue(commit)
		return db.send(ctx, conn, batch, func(results pgx.BatchResults) error {
			if err := skip(results, 2); err != nil {
				return err
			}
			var err error
			if view.Head, err = scanHead(results.QueryRow()); err != nil {
				return err
			}
			if view.Rows, err = scanRows(results, view.Head.Entries); err != nil {
				return err
			}
			if view.Redacted, err = scanSums(results); err != nil || ref.For == 0 {
				return err
			}
			if view.Mine, err = scanShadows(results); err != nil {
				return err
			}
			set, err := scanSet(results)
			if len(view.Mine) > 0 {
				view.Head.Set = set
			}
			return err
		})
	})
	return view, err
}

// scanHead reads selectHead's row; no row is the zero head.
func scanHead(row pgx.Row, more ...any) (head store.Head, err error) {
	var modified *time.Time
	columns := []any{(*int64)(&head.ID), (*int64)(&head.Version), (*checksum)(&head.Checksum), &head.Entries, &head.Bytes, &modified, &head.Proposals, (*int64)(&head.Redacted)}
	if err = row.Scan(append(columns, more...)...); err != nil {
		if absent(err) == store.ErrNotFound {
			err = nil
		}
		return store.Head{}, err
	}
	head.LastModified = moment(modified)
	return head, nil
}

// scanLockedHead reads lockHead's row.
func scanLockedHead(row pgx.Row) (head store.Head, withdrawn bool, err error) {
	var set []byte
	var audit hash
	head, err = scanHead(row, &set, &audit, &withdrawn)
	head.Set, head.AuditHead = set, audit
	return head, withdrawn, err
}

// send runs a batch that is a whole transaction, and leaves none open when it
// breaks off.
func (db *DB) send(ctx context.Context, conn *pgxpool.Conn, batch *pgx.Batch, read func(pgx.BatchResults) error) error {
	results := conn.SendBatch(ctx, batch)
	err := read(results)
	if closed := results.Close(); err == nil {
		err = closed
	}
	if err != nil {
		abort(ctx, conn)
	}
	return err
}

// abort ends the transaction that may be open. A connection on which even that
// fails is closed, and the database ends it.
func abort(ctx context.Context, conn *pgxpool.Conn) {
	if conn.Conn().IsClosed() || conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultConnectWait)
	defer cancel()
	if _, err := conn.Exec(ctx, rollback); err != nil {
		_ = conn.Conn().Close(ctx)
	}
}

// skip passes over the results of statements that have none.
func skip(results pgx.BatchResults, n int) error {
	for range n {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	return nil
}
