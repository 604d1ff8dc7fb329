package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/teammem/teammem/server/store"
)

// SQLSTATE codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeSerialization  = "40001"
	codeDeadlock       = "40P01"
	codeLockTimeout    = "55P03"
	codeUniqueness     = "23505"
	codeForeignKey     = "23503"
	codeUndefinedTable = "42P01"
	// classConnection are the faults of a connection, and what PgBouncer says of its
	// own: that it finds no server, that it waited for too long, that one went away.
	classConnection = "08"
)

// busyCodes are refusals that say nothing of the request: another moment, or
// another server behind the same address, will do.
var busyCodes = map[string]bool{
	codeSerialization: true,
	codeDeadlock:      true,
	codeLockTimeout:   true,
	"25006":           true, // read-only: a standby that is not promoted yet
	"0A000":           true, // the same, said to the BEGIN of a transaction that writes
	"53300":           true, // too many connections
	"57014":           true, // a statement timeout of the database's own
	"57P01":           true, // the administrator ends the connection
	"57P02":           true, // another backend crashed
	"57P03":           true, // starting up or shutting down
}

// code is the SQLSTATE in err, or empty.
func code(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	return ""
}

// fail wraps an error of the driver. It is [store.ErrBusy] where trying again
// makes sense, so it must not be used once a COMMIT may have been carried out.
func fail(ctx context.Context, operation string, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", operation, ctx.Err())
	case errors.Is(err, store.ErrBusy), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrExists):
	case refusesForNow(code(err)), code(err) == "" && isConnectionLoss(err):
		return fmt.Errorf("%s: %w: %w", operation, store.ErrBusy, short(err))
	}
	return fmt.Errorf("%s: %w", operation, short(err))
}

// refusesForNow reports whether a code is one of those refusals.
func refusesForNow(code string) bool {
	return busyCodes[code] || strings.HasPrefix(code, classConnection)
}

// isConnectionLoss reports whether the way to the database is at fault.
func isConnectionLoss(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || pgconn.Timeout(err) {
		return true
	}
	_, network := errors.AsType[net.Error](err)
	return network
}

// short leaves out what a failed connection says of its address: the user, and
// the database's name.
func short(err error) error {
	if connect, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		if cause := connect.Unwrap(); cause != nil {
			return cause
		}
	}
	return err
}
