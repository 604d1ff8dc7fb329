package sqlite

import (
	"context"

	"github.com/teammem/teammem/api"
)

const (
	selectEpoch = `SELECT epoch FROM server WHERE id = 1`
	insertEpoch = `INSERT INTO server (id, epoch, created) VALUES (1, ?, CAST(unixepoch('subsec') * 1000 AS INTEGER)) ON CONFLICT DO NOTHING`
)

// Epoch reads the database's epoch, at most once a second.
func (db *DB) Epoch(ctx context.Context) (api.Epoch, error) {
	return db.epoch.Get(ctx, func(ctx context.Context) (api.Epoch, error) {
		var epoch string
		if err := db.reader.QueryRowContext(ctx, selectEpoch).Scan(&epoch); err != nil {
			return "", fail(ctx, "epoch", err)
		}
		return api.Epoch(epoch), nil
	})
}
