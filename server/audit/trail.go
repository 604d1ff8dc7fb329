package audit

import (
	"errors"
	"fmt"
)

// ErrBroken says that a trail is not as it was written.
var ErrBroken = errors.New("the audit trail is broken")

// Trail checks one repo's records while they are read, oldest first. The zero
// value stands before the first one. A trail that was cut off at its end is found
// by comparing Head with what the repo's own head says.
type Trail struct {
	Seq  int64    // of the last record checked
	Head [32]byte // its hash
}

// Next checks the record that follows.
func (t *Trail) Next(r Record) error {
	switch {
	case r.Seq != t.Seq+1:
		return fmt.Errorf("record %d follows record %d: %w", r.Seq, t.Seq, ErrBroken)
	case !r.Verify(t.Head):
		return fmt.Errorf("record %d does not fit its hash: %w", r.Seq, ErrBroken)
	}
	t.Seq, t.Head = r.Seq, r.Hash
	return nil
}
