package postgres

import (
	"cmp"
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

// together carries commits out in one transaction, or, where the statement of one
// fails, in as many as it takes.
func together(t *testing.T, s store.Store, ref store.RepoRef, all []storetest.Asked) (heads []store.Head, errs []error) {
	var taken []*request
	next := func() (*request, bool) {
		at := len(heads) + len(taken)
		if at == len(all) {
			return nil, false
		}
		taken = append(taken, &request{ref: ref, touched: all[at].Touched, decide: all[at].Decide})
		return taken[len(taken)-1], true
	}
	for len(heads) < len(all) {
		taken = nil
		err := s.(*DB).together(t.Context(), ref, next)
		for _, c := range taken {
			heads, errs = append(heads, c.head), append(errs, cmp.Or(err, c.refusal))
		}
	}
	return heads, errs
}

// spoil has a COMMIT fail, by a trigger that waits for it.
func spoil(t *testing.T, s store.Store) {
	for _, statement := range []string{
		`CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'spoilt'; END $$`,
		`CREATE CONSTRAINT TRIGGER spoil AFTER INSERT ON versions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
			WHEN (NEW.client = '` + storetest.Spoiler + `') EXECUTE FUNCTION spoil()`,
	} {
		if _, err := s.(*DB).pool.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// TestStore runs the suite in every way to execute statements: the driver's own,
// and those that a pooler asks for.
func TestStore(t *testing.T) {
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.DSN(t) + "&default_query_exec_mode=" + mode
			storetest.Run(t, func(t *testing.T) store.Store { return open(t, dsn) }, storetest.Corrupt(damage), storetest.Together(together, spoil))
		})
	}
}

// TestStoreBehindPooler runs the suite through a PgBouncer in transaction mode,
// migrations included.
func TestStoreBehindPooler(t *testing.T) {
	for _, mode := range []string{"cache_describe", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			dsn := pgtest.Bouncer(t) + "&default_query_exec_mode=" + mode
			storetest.Run(t, func(t *testing.T) store.Store { return open(t, dsn) }, storetest.Corrupt(damage), storetest.Together(together, spoil))
		})
	}
}
