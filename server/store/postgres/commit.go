package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Commit runs one change of a repo, see [store.Store]. A transaction that the
// database breaks off for another's sake is repeated, a few times.
func (db *DB) Commit(ctx context.Context, ref store.RepoRef, touched []api.Key, decide store.Decide) (head store.Head, err error) {
	conn, err := db.acquire(ctx)
	if err != nil {
		return store.Head{}, fmt.Errorf("commit to %s: %w", ref.Slug, err)
	}
	defer conn.Release()
	for attempt := 1; ; attempt++ {
		t := transaction{db: db, conn: conn, ref: ref}
		head, err = t.run(ctx, touched, decide)
		if attempt == attempts || ctx.Err() != nil || !brokenOff(err) {
			return head, err
		}
	}
}

// brokenOff reports whether the database ended a transaction because of another.
func brokenOff(err error) bool {
	return code(err) == codeSerialization || code(err) == codeDeadlock
}

// transaction is one attempt at a Commit.
type transaction struct {
	db   *DB
	conn *pgxpool.Conn
	ref  store.RepoRef
}

// run leaves no transaction open, whatever happens.
func (t *transaction) run(ctx context.Context, touched []api.Key, decide store.Decide) (store.Head, error) {
	defer abort(ctx, t.conn)
	state, err := t.begin(ctx, touched)
	if err != nil {
		return store.Head{}, fail(ctx, "commit to "+string(t.ref.Slug), err)
	}
	change, err := decide(state)
	if err != nil {
		return store.Head{}, err
	}
	if change == nil {
		return state.Head, nil
	}
	if err := change.Check(state.Head); err != nil {
		return store.Head{}, fmt.Errorf("commit to %s: %w", t.ref.Slug, err)
	}
	if err := t.checkWithdrawn(ctx, change.Withdrawn()); err != nil {
		return store.Head{}, err
	}
	return t.write(ctx, state.Head.ID, change)
}

// begin locks the repo and reads the state. Where there is no row to lock it
// makes one, which is taken back with the transaction if nothing comes of it.
func (t *transaction) begin(ctx context.Context, touched []api.Key) (store.State, error) {
	batch := &pgx.Batch{}
	batch.Queue(beginWrite)
	batch.Queue(setWrite, strconv.FormatInt(t.db.lockWait.Milliseconds(), 10), withdrawLock, int32(t.ref.Org))
	t.queueState(batch, touched)
	state, err := t.readState(ctx, batch, 2)
	if err != nil || state.Head.ID != 0 {
		return state, err
	}
	batch = &pgx.Batch{}
	batch.Queue(insertRepo, int64(t.ref.Org), string(t.ref.Slug))
	t.queueState(batch, touched)
	state, err = t.readState(ctx, batch, 1)
	if code(err) == codeForeignKey {
		return state, fmt.Errorf("organization %d: %w", t.ref.Org, store.ErrNotFound)
	}
	if err == nil && state.Head.ID == 0 {
		return state, fmt.Errorf("%s was given another name just now: %w", t.ref.Slug, store.ErrBusy)
	}
	return state, err
}

func (t *transaction) queueState(batch *pgx.Batch, touched []api.Key) {
	org, slug := int64(t.ref.Org), string(t.ref.Slug)
	own, folds := concerned(touched)
	batch.Queue(lockHead, org, slug)
	batch.Queue(selectState, org, slug, texts(touched), folds, own)
}

func (t *transaction) readState(ctx context.Context, batch *pgx.Batch, before int) (state store.State, err error) {
	err = t.sendRead(ctx, batch, func(results pgx.BatchResults) error {
		if err := skip(results, before); err != nil {
			return err
		}
		if state.Head, err = scanLockedHead(results.QueryRow()); err != nil {
			return err
		}
		rows, err := scanRows(results, batch.Len())
		state.Rows = make(map[api.Key]store.Row, len(rows))
		for _, row := range rows {
			state.Rows[row.Key] = row
		}
		return err
	})
	if err != nil || state.Head.Proposals == 0 || t.ref.For == 0 {
		return state, err
	}
	batch = &pgx.Batch{}
	queueShadows(batch, t.ref)
	err = t.sendRead(ctx, batch, func(results pgx.BatchResults) error {
		state.Mine, err = scanShadows(results)
		return err
	})
	return state, err
}

func (t *transaction) sendRead(ctx context.Context, batch *pgx.Batch, read func(pgx.BatchResults) error) error {
	results := t.conn.SendBatch(ctx, batch)
	err := read(results)
	if closed := results.Close(); err == nil {
		err = closed
	}
	return err
}

// write carries the change out and commits. Once the batch is on its way the
// caller can no longer break it off: it is short, and half of the answer would
// be no answer.
func (t *transaction) write(ctx context.Context, id store.RepoID, change *store.Change) (store.Head, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultCommitWait)
	defer cancel()
	head := change.Head
	head.ID, head.LastModified = id, millis(head.LastModified)

	batch := &pgx.Batch{}
	queueWrites(batch, t.ref.Org, id, change)
	batch.Queue(updateHead, int64(id), int64(head.Version), raw(head.Checksum), int32(head.Entries), head.Bytes,
		instant(head.LastModified), head.Set, head.AuditHead[:], head.Proposals, int64(head.Redacted))
	batch.Queue(commit)
	results := t.conn.SendBatch(ctx, batch)
	err := skip(results, batch.Len()-1)
	if err == nil {
		err = ended(results)
	}
	if closed := results.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return store.Head{}, t.writeError(ctx, err)
	}
	return head, nil
}

// queueWrites queues everything of a change but the head.
func queueWrites(batch *pgx.Batch, org store.OrgID, id store.RepoID, change *store.Change) {
	repo, version := int64(id), int64(change.Head.Version)
	if sums, sizes, codings, data := bodyColumns(change); len(sums) > 0 {
		batch.Queue(insertBodies, int64(org), sums, sizes, codings, data)
	}
	if w := columns(change.Writes); len(w.keys) > 0 {
		batch.Queue(upsertEntries, repo, version, w.keys, w.folds, w.deleted, w.checksums, w.sizes, w.modified)
		batch.Queue(insertHistory, repo, version, w.keys, w.deleted, w.checksums, w.previous, w.sizes, w.modified)
	}
	queueProposals(batch, repo, change.Proposals)
	queueFindings(batch, repo, change.Head.Version, change.Findings)
	queueRedacted(batch, repo, change)
	at := millis(change.Head.LastModified)
	batch.Queue(insertVersion, repo, version, at, int64(change.Author.User), int64(change.Author.Token), change.Author.Client,
		raw(change.Head.Checksum))
	a := change.Audit
	batch.Queue(insertAudit, repo, a.Seq, millis(a.At), a.Action, a.User, a.TokenUID, a.Client, string(a.Subject), a.Previous[:], a.Hash[:])
}

// ended reads the answer to COMMIT, which is ROLLBACK, and no error, where the
// transaction had failed.
func ended(results pgx.BatchResults) error {
	tag, err := results.Exec()
	if err == nil && tag.String() != commit {
		err = errors.New("the transaction was rolled back")
	}
	return err
}

// writeError keeps what the database said for certain apart from what nobody
// knows: without its word the change may stand, and that must not be called busy.
func (t *transaction) writeError(ctx context.Context, err error) error {
	operation := "commit to " + string(t.ref.Slug)
	if code(err) != "" {
		return fail(ctx, operation, err)
	}
	return fmt.Errorf("%s: the database did not say whether the change stands: %w", operation, short(err))
}
