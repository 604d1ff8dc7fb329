package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Commit runs one change of a repo, see [store.Store].
func (db *DB) Commit(ctx context.Context, ref store.RepoRef, touched []api.Key, decide store.Decide) (head store.Head, err error) {
	var refusal error
	err = db.writes(ctx, func(ctx context.Context, tx *sql.Tx) (keep bool, err error) {
		state, err := db.lock(ctx, tx, ref, touched)
		if err != nil {
			return false, err
		}
		change, err := decide(state)
		if err != nil || change == nil {
			head, refusal = state.Head, err
			return false, nil
		}
		if err := change.Check(state.Head); err != nil {
			return false, err
		}
		if err := db.checkWithdrawn(ctx, tx, ref.Org, change.Withdrawn()); err != nil {
			return false, err
		}
		head, err = db.write(ctx, tx, ref, state.Head.ID, change)
		return true, err
	})
	switch {
	case err != nil:
		return store.Head{}, fail(ctx, "commit to "+string(ref.Slug), err)
	case refusal != nil:
		return store.Head{}, refusal
	}
	return head, nil
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
