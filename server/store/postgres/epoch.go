package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/api"
)

const (
	selectEpoch = `SELECT epoch FROM server WHERE id = 1`
	insertEpoch = `INSERT INTO server (id, epoch, created) VALUES (1, $1, now()) ON CONFLICT DO NOTHING`
)

// Epoch reads the database's epoch, at most once a second.
func (db *DB) Epoch(ctx context.Context) (api.Epoch, error) {
	return db.epoch.Get(ctx, func(ctx context.Context) (epoch api.Epoch, err error) {
		err = db.read(ctx, "epoch", func(conn *pgxpool.Conn) error {
			return conn.QueryRow(ctx, selectEpoch).Scan((*string)(&epoch))
		})
		return epoch, err
	})
}
