package store

import "time"

// Cut says what of an organization's history goes. The newest change of a key always
// stays, so that what changed since a version can be told from whatever version on, and
// a tombstone stays with its repo.
type Cut struct {
	Before time.Time // changes made before go, but for the Keep newest of their key; zero: none do
	Keep   int
	// Deleted: of keys that were deleted before, all goes but the deletion; zero: of none.
	Deleted time.Time
	DryRun  bool // count what would go
}

// Nothing reports whether nothing is to go.
func (c Cut) Nothing() bool { return c.Before.IsZero() && c.Deleted.IsZero() }

// Vacuumed is what went, or would.
type Vacuumed struct {
	Changes  int64 // of keys, in the history
	Contents int64 // that nothing refers to any more
	Bytes    int64 // of these, packed
}

// Change and content batches of a vacuum: each is one short transaction that others wait
// for.
const (
	VacuumChanges  = 100
	VacuumContents = 100
	// VacuumPass bounds how many changes are held in memory at once.
	VacuumPass = 50_000
)
