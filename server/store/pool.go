package store

import "time"

// Pool is how a store's connections are used.
type Pool struct {
	Most   int           // that may be open
	Open   int           // that are
	InUse  int           // that somebody holds
	Waits  int64         // how often one was waited for, since the start
	Waited time.Duration // and how long together
}

// Pooled is what a store has in addition that says how its connections are used.
type Pooled interface {
	Pool() Pool
}
