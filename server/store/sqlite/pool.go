package sqlite

import "github.com/teammem/teammem/server/store"

// Pool says how the connections are used: the writer and the readers together.
func (db *DB) Pool() store.Pool {
	var all store.Pool
	writer, reader := db.writer.Stats(), db.reader.Stats()
	all.Most = writer.MaxOpenConnections + reader.MaxOpenConnections
	all.Open = writer.OpenConnections + reader.OpenConnections
	all.InUse = writer.InUse + reader.InUse
	all.Waits = writer.WaitCount + reader.WaitCount
	all.Waited = writer.WaitDuration + reader.WaitDuration
	return all
}
