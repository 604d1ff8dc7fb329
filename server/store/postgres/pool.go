package postgres

import "github.com/teammem/teammem/server/store"

// Pool says how the pool's connections are used. The one that listens is not of it.
func (db *DB) Pool() store.Pool {
	s := db.pool.Stat()
	return store.Pool{
		Most: int(s.MaxConns()), Open: int(s.TotalConns()), InUse: int(s.AcquiredConns()),
		Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime(),
	}
}
