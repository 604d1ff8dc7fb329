package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	selectBody = `SELECT size, coding, data FROM bodies WHERE org_id = ? AND checksum = ?`

	insertBody = `INSERT INTO bodies (org_id, checksum, size, coding, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
)

// Bodies calls fn with each content, in order, verified. Each is read by itself:
// bodies never change, and a transaction held while fn waits for a client's
// network would keep the WAL from being folded into the file.
func (db *DB) Bodies(ctx context.Context, org store.OrgID, sums []api.Checksum, fn func(api.Checksum, []byte) error) error {
	for _, sum := range sums {
		body := store.Body{Checksum: sum}
		err := db.statements.selectBody.QueryRowContext(ctx, int64(org), raw(sum)).Scan(&body.Size, &body.Coding, &body.Data)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("body %s is missing: %w", sum.Short(), store.ErrCorrupt)
		case err != nil:
			return fail(ctx, "body "+sum.Short(), err)
		}
		content, err := body.Unpack()
		if err != nil {
			return err
		}
		if err := fn(sum, content); err != nil {
			return err
		}
	}
	return nil
}

// writeBody stores a content that may be there already.
func (w *transaction) writeBody(org store.OrgID, body *store.Body) error {
	data := body.Data
	if data == nil {
		data = []byte{} // nil would be NULL
	}
	_, err := w.insertBody.ExecContext(w.ctx, int64(org), raw(body.Checksum), body.Size, int64(body.Coding), data)
	return err
}
