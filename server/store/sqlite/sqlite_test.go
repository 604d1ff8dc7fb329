package sqlite

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/storetest"
)

// open gives a store on a fresh, migrated file.
func open(t testing.TB) *DB {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "teammem.db"))
}

func openAt(t testing.TB, path string) *DB {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	if err := Migrate(t.Context(), log, path); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	db, err := Open(t.Context(), log, path)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return db
}

// damage flips a bit in the middle of a stored body.
func damage(t *testing.T, s store.Store, org store.OrgID, sum api.Checksum) {
	db := s.(*DB)
	var data []byte
	if err := db.reader.QueryRow("SELECT data FROM bodies WHERE org_id = ? AND checksum = ?", org, raw(sum)).Scan(&data); err != nil {
		t.Fatalf("reading a body: %v", err)
	}
	data[len(data)/2] ^= 1
	if _, err := db.writer.Exec("UPDATE bodies SET data = ? WHERE org_id = ? AND checksum = ?", data, org, raw(sum)); err != nil {
		t.Fatalf("damaging a body: %v", err)
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
		err := s.(*DB).together(t.Context(), next)
		for _, c := range taken {
			heads, errs = append(heads, c.head), append(errs, cmp.Or(err, c.err, c.refusal))
		}
	}
	return heads, errs
}

// spoil has a COMMIT fail: it finds a reference to nothing.
func spoil(t *testing.T, s store.Store) {
	for _, statement := range []string{
		`CREATE TABLE spoilt (version INTEGER REFERENCES server (id) DEFERRABLE INITIALLY DEFERRED)`,
		`CREATE TRIGGER spoil AFTER INSERT ON versions WHEN NEW.client = '` + storetest.Spoiler + `' BEGIN INSERT INTO spoilt VALUES (NEW.version); END`,
	} {
		if _, err := s.(*DB).writer.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t) }, storetest.Corrupt(damage), storetest.Together(together, spoil))
}
