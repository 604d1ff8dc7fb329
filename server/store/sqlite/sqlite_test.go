package sqlite

import (
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

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t) }, storetest.Corrupt(damage))
}
