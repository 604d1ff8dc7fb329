package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/postgres"
	"github.com/teammem/teammem/server/store/standby"
)

// replica is a standby of the database that reads are asked of. A nil one is none.
type replica struct {
	db    *postgres.DB
	store *standby.Store
}

// openReplica opens the standby that is configured. It may be away.
func (s *Server) openReplica(ctx context.Context, now func() time.Time) (*replica, error) {
	if s.cfg.Replica == "" {
		return nil, nil
	}
	if err := CheckReplica(s.cfg.DatabaseURL(), s.cfg.Replica); err != nil {
		return nil, err
	}
	db, err := postgres.OpenReplica(ctx, s.log, s.cfg.Replica)
	if err != nil {
		return nil, fmt.Errorf("open the replica: %w", err)
	}
	return &replica{db: db, store: standby.New(s.log, s.store, db, now)}, nil
}

// CheckReplica checks the form of a replica's address beside the database's. Neither is
// asked, and no address is in the error.
func CheckReplica(database, replica string) error {
	primary, err := parseDatabase(database)
	if err != nil {
		return err
	}
	standby, err := parseDatabase(replica)
	if err != nil || primary.sqlite || standby.sqlite {
		return WithHint(errors.New("only a Postgres has a replica that can be asked"), "give --database and --database-replica as postgres://user@host/name, or leave the replica out")
	}
	return CheckDatabase(replica)
}

// beside is the store that the rules read from.
func (r *replica) beside(primary store.Store) store.Store {
	if r == nil {
		return primary
	}
	return r.store
}

// heard notes what another server made.
func (r *replica) heard(ctx context.Context, a store.Announcement) {
	if r != nil {
		r.store.Heard(ctx, a)
	}
}

func (r *replica) close() error {
	if r == nil {
		return nil
	}
	return r.db.Close()
}
