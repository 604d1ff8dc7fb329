package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Commit runs one change of a repo, see [store.Store]. Of those that wait for one repo
// several share a transaction, see [store.Gather].
func (db *DB) Commit(ctx context.Context, ref store.RepoRef, touched []api.Key, decide store.Decide) (store.Head, error) {
	c := &request{ref: ref, touched: touched, decide: decide}
	name := store.RepoRef{Org: ref.Org, Slug: ref.Slug}
	err := db.commits.Do(ctx, db.acquireWait, name, c, func(next func() (*request, bool)) error { return db.together(ctx, name, next) })
	store.Raise(c.refusal)
	switch {
	case err != nil:
		return store.Head{}, fmt.Errorf("commit to %s: %w", ref.Slug, err)
	case c.refusal != nil:
		return store.Head{}, c.refusal
	}
	return c.head, nil
}

// request is one Commit: what is asked, and what came of it.
type request struct {
	ref     store.RepoRef
	touched []api.Key
	decide  store.Decide

	head    store.Head
	refusal error // of this one alone
}

// together carries out, in one transaction, the commits that next gives. Where a
// statement of one fails all are taken back, and each gets a transaction of its own:
// that costs less than to mark, for each, where to go back to. Where the transaction
// cannot be committed all of them fail, also who was refused: what they were held
// against may be of another that does not stand.
func (db *DB) together(ctx context.Context, repo store.RepoRef, next func() (*request, bool)) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	t := transaction{db: db, conn: conn, repo: repo, more: next}
	err = t.repeat(ctx)
	if len(t.taken) < 2 || !t.ones(err) {
		return err
	}
	for _, c := range t.taken {
		alone := transaction{db: db, conn: conn, repo: repo, taken: []*request{c}}
		ctx, cancel := unbroken(ctx)
		if err := alone.repeat(ctx); err != nil {
			c.refusal = fmt.Errorf("commit to %s: %w", repo.Slug, err)
		}
		cancel()
	}
	return nil
}

// repeat runs the transaction. One commit alone that the database breaks off for
// another's sake is repeated, a few times.
func (t *transaction) repeat(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := t.run(ctx)
		if attempt == attempts || ctx.Err() != nil || !brokenOff(err) || len(t.taken) > 1 {
			return err
		}
	}
}

// brokenOff reports whether the database ended a transaction because of another.
func brokenOff(err error) bool {
	return code(err) == codeSerialization || code(err) == codeDeadlock
}

// ones reports whether an error is of one commit among several: of a statement, and
// not of the database's state, nor of a COMMIT. A transaction of several may also meet
// another that brings the same contents in another order; one alone does not.
func (t *transaction) ones(err error) bool {
	return code(err) != "" && (!refusesForNow(code(err)) || brokenOff(err)) && !t.ending
}

// transaction is one or more commits of a repo.
type transaction struct {
	db    *DB
	conn  *pgxpool.Conn
	repo  store.RepoRef
	taken []*request
	more  func() (*request, bool) // nil: there are no more

	batch  *pgx.Batch // what is not sent yet
	wrote  bool
	made   bool // the repo's row was not there
	ending bool // COMMIT's answer is awaited
	left   bool // the connection is, to a COMMIT that is not answered
}

// run leaves no transaction open, whatever happens. Each statement that is sent before
// the last ones takes what comes next with it: of n commits there are n + 1 round trips.
func (t *transaction) run(ctx context.Context) error {
	defer func() {
		if !t.left {
			abort(ctx, t.conn)
		}
	}()
	t.wrote, t.made, t.ending, t.batch = false, false, false, &pgx.Batch{}
	t.batch.Queue(beginWrite)
	t.batch.Queue(setWrite, strconv.FormatInt(t.db.lockWait.Milliseconds(), 10), withdrawLock, int32(t.repo.Org))
	for i := 0; t.has(i); i++ {
		if err := t.carryOut(ctx, t.taken[i]); err != nil {
			return err
		}
	}
	if !t.wrote && !t.stands() {
		return nil
	}
	return t.end(ctx)
}

// stands reports whether somebody is told that what they ask stands already. That must
// wait for standbys as a change does: who wrote it may never have heard that it reached
// one, and a lock that is committed waits for all that was written before it. A repo that
// was only made for its lock goes.
func (t *transaction) stands() bool {
	return !t.made && slices.ContainsFunc(t.taken, func(c *request) bool { return c.refusal == nil })
}

// has reports whether there is an i-th commit; it may have come just now.
func (t *transaction) has(i int) bool {
	if i == len(t.taken) && t.more != nil {
		if c, ok := t.more(); ok {
			t.taken = append(t.taken, c)
		}
	}
	return i < len(t.taken)
}

// carryOut reads the state, asks, and queues what is to be written. An error is the
// database's.
func (t *transaction) carryOut(ctx context.Context, c *request) error {
	if len(t.taken) > 1 {
		var cancel context.CancelFunc
		ctx, cancel = unbroken(ctx)
		defer cancel()
	}
	state, withdrawn, err := t.lock(ctx, c)
	if err != nil {
		return fail(ctx, "reading the state", err)
	}
	c.head, c.refusal = state.Head, nil
	change, err := c.decide.Ask(state)
	if err != nil || change == nil {
		c.refusal = err
		return nil
	}
	if err := change.Check(state.Head); err != nil {
		c.refusal = fmt.Errorf("commit to %s: %w", t.repo.Slug, err)
		return nil
	}
	if withdrawn {
		c.refusal, err = t.checkWithdrawn(ctx, change.Withdrawn())
		if err != nil || c.refusal != nil {
			return err
		}
	}
	c.head = change.Head
	c.head.ID, c.head.LastModified = state.Head.ID, millis(change.Head.LastModified)
	queueChange(t.batch, t.repo.Org, &c.head, change)
	t.wrote = true
	return nil
}

// lock locks the repo and reads the state, and whether anything was ever withdrawn in
// the organization. Where there is no row to lock it makes one, which is taken back
// with the transaction if nothing comes of it.
func (t *transaction) lock(ctx context.Context, c *request) (store.State, bool, error) {
	state, withdrawn, err := t.readState(ctx, c)
	if err != nil || state.Head.ID != 0 {
		return state, withdrawn, err
	}
	t.made = true
	t.batch.Queue(insertRepo, int64(t.repo.Org), string(t.repo.Slug))
	state, withdrawn, err = t.readState(ctx, c)
	if code(err) == codeForeignKey {
		err = fmt.Errorf("organization %d: %w", t.repo.Org, store.ErrNotFound)
	}
	if err == nil && state.Head.ID == 0 {
		err = fmt.Errorf("%s was given another name just now: %w", t.repo.Slug, store.ErrBusy)
	}
	return state, withdrawn, err
}

// readState sends what is queued, and reads the state after it.
func (t *transaction) readState(ctx context.Context, c *request) (state store.State, withdrawn bool, err error) {
	before := t.batch.Len()
	org, slug := int64(t.repo.Org), string(t.repo.Slug)
	own, folds := concerned(c.touched)
	t.batch.Queue(lockHead, org, slug)
	t.batch.Queue(selectState, org, slug, texts(c.touched), folds, own)
	err = t.send(ctx, func(results pgx.BatchResults) error {
		if err := skip(results, before); err != nil {
			return err
		}
		if state.Head, withdrawn, err = scanLockedHead(results.QueryRow()); err != nil {
			return err
		}
		rows, err := scanRows(results, 2*len(c.touched))
		state.Rows = make(map[api.Key]store.Row, len(rows))
		for _, row := range rows {
			state.Rows[row.Key] = row
		}
		return err
	})
	if err != nil || state.Head.Proposals == 0 || c.ref.For == 0 {
		return state, withdrawn, err
	}
	queueShadows(t.batch, c.ref)
	err = t.send(ctx, func(results pgx.BatchResults) error {
		state.Mine, err = scanShadows(results)
		return err
	})
	return state, withdrawn, err
}

// send sends what is queued.
func (t *transaction) send(ctx context.Context, read func(pgx.BatchResults) error) error {
	results := t.conn.SendBatch(ctx, t.batch)
	t.batch = &pgx.Batch{}
	err := read(results)
	if closed := results.Close(); err == nil {
		err = closed
	}
	return err
}

// end sends what is left, and commits. Once that is on its way no caller can break it
// off any more: it is short, and half of the answer would be no answer. Where the answer
// does not come in time the caller is told that nobody knows, and the connection is left
// to it: to break it off would end a wait for standbys, and show everybody on this
// machine what may be on no other.
func (t *transaction) end(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	conn, batch, said := t.conn.Conn(), t.batch, make(chan ending, 1)
	t.batch = &pgx.Batch{}
	go func() { said <- commitWith(ctx, conn, batch) }()
	late := time.NewTimer(t.db.commitWait)
	defer late.Stop()
	select {
	case e := <-said:
		t.ending = e.began
		if e.err != nil {
			return writeError(ctx, e.err)
		}
		return nil
	case <-late.C:
		t.leave(ctx, said)
		return fmt.Errorf("%w within %s", store.ErrUnsure, t.db.commitWait)
	}
}

// ending is what came of a COMMIT.
type ending struct {
	began bool // its own answer was awaited
	err   error
}

// commitWith sends a batch and COMMIT after it.
func commitWith(ctx context.Context, conn *pgx.Conn, batch *pgx.Batch) (e ending) {
	before := batch.Len()
	batch.Queue(commit)
	results := conn.SendBatch(ctx, batch)
	if e.err = skip(results, before); e.err == nil {
		e.began = true
		e.err = ended(results)
	}
	if closed := results.Close(); e.err == nil {
		e.err = closed
	}
	return e
}

// leave takes the connection out of the pool, which may make another one, and closes it
// when the answer has come or the way to the database is broken.
func (t *transaction) leave(ctx context.Context, said <-chan ending) {
	conn := t.conn.Hijack()
	t.left = true
	go func() {
		<-said
		ctx, cancel := context.WithTimeout(ctx, defaultConnectWait)
		defer cancel()
		_ = conn.Close(ctx)
	}()
}

// unbroken is for what a caller who leaves must not break off: others' commits.
func unbroken(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), defaultCommitWait)
}

// queueChange queues a change, of which head is what stands then.
func queueChange(batch *pgx.Batch, org store.OrgID, head *store.Head, change *store.Change) {
	queueWrites(batch, org, head.ID, change)
	batch.Queue(updateHead, int64(head.ID), int64(head.Version), raw(head.Checksum), int32(head.Entries), head.Bytes,
		instant(head.LastModified), head.Set, head.AuditHead[:], head.Proposals, int64(head.Redacted))
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
func writeError(ctx context.Context, err error) error {
	// A pooler's word that its server went away is not the database's.
	if said := code(err); said != "" && !strings.HasPrefix(said, classConnection) {
		return fail(ctx, "writing", err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnsure, short(err))
}
