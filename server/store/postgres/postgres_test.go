package postgres

import (
	"log/slog"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
	"github.com/teammem/teammem/server/store/storetest"
)

// open gives a store on a fresh, migrated database at the address.
func open(t testing.TB, dsn string) *DB {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	if err := Migrate(t.Context(), log, dsn); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	db, err := Open(t.Context(), log, dsn)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return db
}

// damage flips a bit in the middle of a stored body.
func damage(t *testing.T, s store.Store, org store.OrgID, sum api.Checksum) {
	const flip = `UPDATE bodies SET data = set_bit(data, length(data) * 4, 1 - get_bit(data, length(data) * 4))
		WHERE org_id = $1 AND checksum = $2`
	tag, err := s.(*DB).pool.Exec(t.Context(), flip, int64(org), raw(sum))
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("damaging a body: %v, %v", tag, err)
	}
}

// TestStore runs the suite in every way to execute statements: the driver's own,
// and those that a pooler asks for.
func TestStore(t *testing.T) {
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.DSN(t) + "&default_query_exec_mode=" + mode
			storetest.Run(t, func(t *testing.T) store.Store { return open(t, dsn) }, storetest.Corrupt(damage))
		})
	}
}

// TestStoreBehindPooler runs the suite through a PgBouncer in transaction mode,
// migrations included.
func TestStoreBehindPooler(t *testing.T) {
	for _, mode := range []string{"cache_describe", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			dsn := pgtest.Bouncer(t) + "&default_query_exec_mode=" + mode
			storetest.Run(t, func(t *testing.T) store.Store { return open(t, dsn) }, storetest.Corrupt(damage))
		})
	}
}
