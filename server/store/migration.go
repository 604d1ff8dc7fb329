package store

import (
	"errors"
	"fmt"
)

// ErrSchema: the database's schema is not the one this server works with. The
// error that wraps it says which version stands, why it does not fit, and the
// command that cures it.
var ErrSchema = errors.New("the database schema does not fit this server")

// Migration is where a database's schema stands.
type Migration struct {
	Current uint // 0: no schema yet
	Newest  uint // that this server knows
	Dirty   bool // a migration to Current was broken off half-way
}

// Fits answers nil when a server can work on the schema, and otherwise an
// [ErrSchema] for the operator. Nothing is ever mended without being asked: what
// a broken migration left behind only a person can judge.
func (m Migration) Fits() error {
	if m.Current < m.Newest && !m.Dirty {
		return fmt.Errorf("%w: it is at version %d and this server needs version %d; run: server migrate up", ErrSchema, m.Current, m.Newest)
	}
	return m.Sound()
}

// Sound answers nil when the schema can be migrated: it is clean and not newer
// than this server.
func (m Migration) Sound() error {
	switch {
	case m.Dirty && m.Current == 0:
		return fmt.Errorf("%w: it is marked dirty at version 0, so taking back the first migration was broken off; look at what stands, then run: server migrate force 0", ErrSchema)
	case m.Dirty:
		return fmt.Errorf("%w: it is marked dirty at version %d, so a migration to that version was broken off; when what stands is version %d, run: server migrate force %d", ErrSchema, m.Current, m.Current-1, m.Current-1)
	case m.Current > m.Newest:
		return fmt.Errorf("%w: it is at version %d and this server knows none after %d, so a newer server has used it; start the newer server, or let the newer server take it back: server migrate down", ErrSchema, m.Current, m.Newest)
	}
	return nil
}
