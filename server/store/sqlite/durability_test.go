package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/server/store"
)

// TestDurable: every connection that writes flushes at each commit; nothing else
// shows in a test that does not pull a plug.
func TestDurable(t *testing.T) {
	db := open(t)
	defer func() { _ = db.Close() }()
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "5000"} {
		var got string
		if err := db.writer.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", pragma, got, err, want)
		}
	}
	if _, err := db.reader.Exec("DELETE FROM server"); err == nil {
		t.Error("the reading handle writes")
	}
}

func TestVersions(t *testing.T) {
	for _, test := range []struct {
		version string
		older   bool
	}{{"3.51.2", true}, {"3.51.3", false}, {"3.9.9", true}, {"3.54.1", false}, {"4.0.0", false}, {"3.52", false}, {"", true}} {
		if got := older(test.version, leastVersion); got != test.older {
			t.Errorf("older(%q, %q) is %v", test.version, leastVersion, got)
		}
	}
}

// TestPaths: whatever a path holds, the file is there and nowhere else.
func TestPaths(t *testing.T) {
	for _, name := range []string{"plain.db", "a b.db", "what?mode=memory.db", "100%25.db", "a#b.db", "ünicode.db", "a&b=c.db"} {
		dir := filepath.Join(t.TempDir(), "made", "for it")
		_ = openAt(t, filepath.Join(dir, name)).Close()
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, path := range []string{"", "file:x.db"} {
		if err := Migrate(t.Context(), quiet, path); err == nil {
			t.Errorf("Migrate of %q succeeds", path)
		}
	}
}

// TestBusy: another process that holds the file is worth waiting for, and so is
// this process's own queue.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "teammem.db")
	db := openAt(t, path)
	defer func() { _ = db.Close() }()
	other, err := handle(path, writing, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	hold, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.writer.Exec("PRAGMA busy_timeout = 50"); err != nil {
		t.Fatal(err)
	}
	nothing := func(store.State) (*store.Change, error) { return nil, nil }
	ref := store.RepoRef{Org: 1, Slug: "acme/widgets"}
	if _, err := db.Commit(t.Context(), ref, nil, nothing); !errors.Is(err, store.ErrBusy) {
		t.Errorf("Commit while another process writes: %v, want ErrBusy", err)
	}
	if err := hold.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Commit(t.Context(), ref, nil, nothing); err != nil {
		t.Errorf("Commit afterwards: %v", err)
	}
	db.acquireWait = 50 * time.Millisecond
	_, err = db.Commit(t.Context(), ref, nil, func(store.State) (*store.Change, error) {
		_, err := db.Commit(t.Context(), ref, nil, nothing)
		return nil, err
	})
	if !errors.Is(err, store.ErrBusy) {
		t.Errorf("Commit behind one that does not end: %v, want ErrBusy", err)
	}
}

// TestFull: a full disk is not busy, and what stood before stands.
func TestFull(t *testing.T) {
	db := open(t)
	defer func() { _ = db.Close() }()
	if _, err := db.writer.Exec("PRAGMA max_page_count = 1"); err != nil { // as low as it goes: what is used
		t.Fatal(err)
	}
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		_, err = db.CreateOrganization(t.Context(), store.Organization{UID: strings.Repeat("u", 1000+i), Name: strings.Repeat("n", 1000+i)})
	}
	if err == nil || errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), "full") {
		t.Errorf("a full database: %.60v…, want an error that says so and is not ErrBusy", err)
	}
	if err := db.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
}

// TestCancelled: a caller who leaves while a commit waits leaves nothing behind.
func TestCancelled(t *testing.T) {
	db := open(t)
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	ref := store.RepoRef{Org: 1, Slug: "acme/widgets"}
	_, err := db.Commit(t.Context(), ref, nil, func(store.State) (*store.Change, error) {
		cancel()
		_, err := db.Commit(ctx, ref, nil, nil)
		return nil, err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Commit of a caller who left: %v, want context.Canceled", err)
	}
	if stats := db.writer.Stats(); stats.InUse != 0 {
		t.Errorf("%d connections are still in use", stats.InUse)
	}
	if err := db.change(t.Context(), "test", func(context.Context, *sql.Tx) error { return nil }); err != nil {
		t.Errorf("the next transaction: %v", err)
	}
}
