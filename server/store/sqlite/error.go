package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"github.com/teammem/teammem/server/store"
)

// Result codes: https://www.sqlite.org/rescode.html. The low byte is the kind.
const (
	codeBusy       = 5
	codeLocked     = 6
	codeConstraint = 19

	codeForeignKey = codeConstraint | 3<<8
	codePrimaryKey = codeConstraint | 6<<8
	codeUnique     = codeConstraint | 8<<8
)

// code is SQLite's extended result code in err, or 0.
func code(err error) int {
	if refused, ok := errors.AsType[*sqlite.Error](err); ok {
		return refused.Code()
	}
	return 0
}

// fail wraps an error of the driver. Only another writer's lock is busy; a full
// disk, or one that fails, is no better in a moment.
func fail(ctx context.Context, operation string, err error) error {
	kind := code(err) & 0xff
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", operation, ctx.Err())
	case kind == codeBusy || kind == codeLocked:
		return fmt.Errorf("%s: %w: %w", operation, store.ErrBusy, err)
	case errors.Is(err, sql.ErrNoRows):
		err = store.ErrNotFound
	}
	return fmt.Errorf("%s: %w", operation, err)
}
