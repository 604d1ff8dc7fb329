package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Commit runs one change of a repo, see [store.Store]. Of those that wait for their
// turn several share a transaction, see [store.Gather].
func (db *DB) Commit(ctx context.Context, ref store.RepoRef, touched []api.Key, decide store.Decide) (store.Head, error) {
	c := &request{ref: ref, touched: touched, decide: decide}
	err := db.commits.Do(ctx, db.acquireWait, struct{}{}, c, func(next func() (*request, bool)) error { return db.together(ctx, next) })
	store.Raise(c.refusal)
	switch err = cmp.Or(err, c.err); {
	case err != nil:
		return store.Head{}, fail(ctx, "commit to "+string(ref.Slug), err)
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

	head         store.Head
	refusal, err error // of this one alone; refusal is the decide's own
}

// together carries out, in one transaction, the commits that next gives. Where a
// statement of one fails all are taken back, and each gets a transaction of its own:
// that costs less than to mark, for each, where to go back to. Where the transaction
// cannot be committed all of them fail, also who was refused: what they were held
// against may be of another that does not stand.
func (db *DB) together(ctx context.Context, next func() (*request, bool)) error {
	var taken []*request
	var failed error // a statement
	err := db.writes(ctx, func(ctx context.Context, tx *sql.Tx) (keep bool, err error) {
		for c, ok := next(); ok; c, ok = next() {
			taken = append(taken, c)
			wrote, err := db.carryOut(ctx, tx, c)
			if err != nil {
				failed = err
				return false, err
			}
			keep = keep || wrote
		}
		return keep, nil
	})
	if failed == nil || len(taken) == 1 {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	for _, c := range taken {
		if err := db.writes(ctx, func(ctx context.Context, tx *sql.Tx) (bool, error) { return db.carryOut(ctx, tx, c) }); err != nil {
			c.err = err
		}
	}
	return nil
}

// carryOut is one commit's part of a transaction. It reports whether it wrote. An
// error is a statement's.
func (db *DB) carryOut(ctx context.Context, tx *sql.Tx, c *request) (wrote bool, err error) {
	c.refusal, c.err = nil, nil
	state, err := db.lock(ctx, tx, c.ref, c.touched)
	if err != nil {
		return false, err
	}
	c.head = state.Head
	change, err := c.decide.Ask(state)
	if err != nil || change == nil {
		c.refusal = err
		return false, nil
	}
	if c.err = change.Check(state.Head); c.err != nil {
		return false, nil
	}
	if err := db.checkWithdrawn(ctx, tx, c.ref.Org, change.Withdrawn()); err != nil {
		if _, refused := errors.AsType[*store.RedactedError](err); refused {
			c.err = err
			return false, nil
		}
		return false, err
	}
	c.head, err = db.write(ctx, tx, c.ref, state.Head.ID, change)
	return err == nil, err
}

// lock reads the state. The transaction holds the only lock there is.
func (db *DB) lock(ctx context.Context, tx *sql.Tx, ref store.RepoRef, touched []api.Key) (state store.State, err error) {
	state.Rows = map[api.Key]store.Row{}
	row := tx.StmtContext(ctx, db.statements.lockHead).QueryRowContext(ctx, int64(ref.Org), string(ref.Slug))
	if state.Head, err = scanLockedHead(row); err != nil || state.Head.ID == 0 {
		return state, err
	}
	if state.Rows, err = db.readState(ctx, tx, state.Head.ID, touched); err != nil {
		return state, err
	}
	state.Mine, err = db.shadows(ctx, tx, ref, state.Head)
	return state, err
}

// transaction is the writing half of a Commit.
type transaction struct {
	ctx           context.Context // of the transaction, which nobody can cancel
	repo, version int64

	insertBody, upsertEntry, insertHistory *sql.Stmt
}

func (db *DB) write(ctx context.Context, tx *sql.Tx, ref store.RepoRef, id store.RepoID, change *store.Change) (store.Head, error) {
	head := change.Head
	head.ID, head.LastModified = id, millis(head.LastModified)
	if id == 0 {
		err := tx.StmtContext(ctx, db.statements.insertRepo).QueryRowContext(ctx, int64(ref.Org), string(ref.Slug)).Scan(&head.ID)
		if code(err) == codeForeignKey {
			return head, fmt.Errorf("organization %d: %w", ref.Org, store.ErrNotFound)
		}
		if errors.Is(err, sql.ErrNoRows) {
			return head, fmt.Errorf("%s was given another name just now: %w", ref.Slug, store.ErrBusy)
		}
		if err != nil {
			return head, err
		}
	}
	w := transaction{
		ctx: ctx, repo: int64(head.ID), version: int64(head.Version),
		insertBody:    tx.StmtContext(ctx, db.statements.insertBody),
		upsertEntry:   tx.StmtContext(ctx, db.statements.upsertEntry),
		insertHistory: tx.StmtContext(ctx, db.statements.insertHistory),
	}
	if err := w.writeAll(ref.Org, change.Writes); err != nil {
		return head, err
	}
	if err := w.writeProposals(tx, ref.Org, change.Proposals); err != nil {
		return head, err
	}
	if err := db.writeFindings(ctx, tx, &head, change.Findings); err != nil {
		return head, err
	}
	if err := w.writeRedacted(tx, &head, change); err != nil {
		return head, err
	}
	return head, db.writeHead(ctx, tx, &head, change)
}

// writeAll writes deletions first: the live twin they make room for may be among
// the writes.
func (w *transaction) writeAll(org store.OrgID, writes []store.Write) error {
	for _, deletions := range []bool{true, false} {
		for i := range writes {
			write := &writes[i]
			if write.Deleted != deletions {
				continue
			}
			if write.Body != nil {
				if err := w.writeBody(org, write.Body); err != nil {
					return err
				}
			}
			if err := w.writeEntry(write); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeHead writes what a change has one of.
func (db *DB) writeHead(ctx context.Context, tx *sql.Tx, head *store.Head, change *store.Change) error {
	repo, version := int64(head.ID), int64(head.Version)
	_, err := tx.StmtContext(ctx, db.statements.insertVersion).ExecContext(ctx, repo, version, head.LastModified.UnixMilli(),
		int64(change.Author.User), int64(change.Author.Token), change.Author.Client, raw(head.Checksum))
	if err != nil {
		return err
	}
	a := &change.Audit
	_, err = tx.StmtContext(ctx, db.statements.insertAudit).ExecContext(ctx, repo, a.Seq, a.At.UnixMilli(), a.Action, a.User, a.TokenUID, a.Client,
		string(a.Subject), a.Previous[:], a.Hash[:])
	if err != nil {
		return err
	}
	_, err = tx.StmtContext(ctx, db.statements.updateHead).ExecContext(ctx, repo, version, raw(head.Checksum), head.Entries, head.Bytes,
		instant(head.LastModified), head.Set, head.AuditHead[:], head.Proposals, int64(head.Redacted))
	return err
}
