package store

import (
	"context"
	"time"
)

// Tally is what servers on one database counted of one thing within a minute.
type Tally struct {
	Key   string
	Count int
	Began time.Time // by the database's clock
	Age   time.Duration
}

// Tallier is what a store has in addition where several servers may share its database:
// counts that are theirs together. They bound what strangers do and need not survive a
// power cut.
type Tallier interface {
	// Tally adds to counts, each key once, and gives what all servers counted. A count
	// begins anew when it is older than a minute.
	Tally(ctx context.Context, add map[string]int) ([]Tally, error)
	// DropTallies takes away what is older.
	DropTallies(ctx context.Context, age time.Duration) error
}
