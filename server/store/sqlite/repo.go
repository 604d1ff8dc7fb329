package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	selectHead = `SELECT id, version, checksum, entries, bytes, last_modified, proposals, redacted FROM repos WHERE org_id = ? AND slug = ?`

	// lockHead also brings what only Commit needs. The lock is the transaction's.
	lockHead = `SELECT id, version, checksum, entries, bytes, last_modified, proposals, redacted, set_state, audit_head FROM repos WHERE org_id = ? AND slug = ?`

	// insertRepo makes no repo under a name that another had before: whoever asked
	// for that one did not know yet that it is called differently now.
	insertRepo = `INSERT INTO repos (org_id, slug, version, entries, bytes, audit_head)
SELECT ?1, ?2, 0, 0, 0, zeroblob(32) WHERE NOT EXISTS (SELECT 1 FROM repo_aliases WHERE org_id = ?1 AND slug = ?2) RETURNING id`

	updateHead = `UPDATE repos SET version = ?2, checksum = ?3, entries = ?4, bytes = ?5, last_modified = ?6,
	set_state = ?7, audit_head = ?8, proposals = ?9, redacted = ?10 WHERE id = ?1`

	// insertVersion is the change itself.
	insertVersion = `INSERT INTO versions (repo_id, version, at, user_id, token_id, client, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)`
)

// Head reads a repo's head.
func (db *DB) Head(ctx context.Context, ref store.RepoRef) (store.Head, error) {
	head, err := scanHead(db.statements.selectHead.QueryRowContext(ctx, int64(ref.Org), string(ref.Slug)))
	if err != nil {
		return head, fail(ctx, "head of "+string(ref.Slug), err)
	}
	return head, nil
}

// View reads the head and the rows that changed after since, in one snapshot.
func (db *DB) View(ctx context.Context, ref store.RepoRef, since api.Version) (view store.View, err error) {
	err = db.reads(ctx, "view of "+string(ref.Slug), func(tx *sql.Tx) error {
		head := tx.StmtContext(ctx, db.statements.selectHead)
		if view.Head, err = scanHead(head.QueryRowContext(ctx, int64(ref.Org), string(ref.Slug))); err != nil || view.Head.ID == 0 {
			return err
		}
		if view.Rows, err = db.changedAfter(ctx, tx, view.Head, since); err != nil {
			return err
		}
		if view.Redacted, err = withdrawnAfter(ctx, tx, view.Head, since); err != nil {
			return err
		}
		return db.shadowsInView(ctx, tx, ref, &view)
	})
	return view, err
}

// scanHead reads selectHead's row; no row is the zero head.
func scanHead(row scanner, more ...any) (head store.Head, err error) {
	columns := []any{&head.ID, &head.Version, (*checksum)(&head.Checksum), &head.Entries, &head.Bytes, (*moment)(&head.LastModified), &head.Proposals, &head.Redacted}
	if err = row.Scan(append(columns, more...)...); errors.Is(err, sql.ErrNoRows) {
		return store.Head{}, nil
	}
	return head, err
}

// scanLockedHead reads lockHead's row.
func scanLockedHead(row scanner) (store.Head, error) {
	var set []byte
	var audit hash
	head, err := scanHead(row, &set, &audit)
	head.Set, head.AuditHead = set, audit
	return head, err
}
