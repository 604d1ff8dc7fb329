package sqlite

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammem/migrations"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/schema"
)

var quiet = slog.New(slog.DiscardHandler)

// withSecond is the dialect with one migration more, made for a test.
func withSecond(t testing.TB, up string) schema.Dialect {
	t.Helper()
	d := dialect()
	next := newestOf(t) + 1
	source := fstest.MapFS{
		fmt.Sprintf("sqlite/%04d_test.up.sql", next):   {Data: []byte(up)},
		fmt.Sprintf("sqlite/%04d_test.down.sql", next): {Data: []byte("DROP TABLE second;")},
	}
	names, err := fs.Glob(migrations.FS, "sqlite/[0-9]*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		source[name] = &fstest.MapFile{Data: text}
	}
	d.Source = source
	return d
}

// newestOf is the newest migration that this server knows.
func newestOf(t testing.TB) uint {
	t.Helper()
	newest, err := dialect().Newest()
	if err != nil {
		t.Fatal(err)
	}
	return newest
}

func wantStatus(t testing.TB, path string, want store.Migration) {
	t.Helper()
	got, err := MigrationStatus(t.Context(), path)
	if err != nil || got != want {
		t.Fatalf("MigrationStatus: %+v, %v; want %+v", got, err, want)
	}
}

func TestMigrateUpAndDown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "teammem.db")
	wantStatus(t, path, store.Migration{Current: 0, Newest: newestOf(t)})
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("asking for the status made the file: %v", err)
	}
	if _, err := Open(t.Context(), quiet, path); !errors.Is(err, store.ErrSchema) {
		t.Errorf("Open without a schema: %v, want ErrSchema", err)
	}
	if err := MigrateDown(t.Context(), quiet, path); err == nil {
		t.Error("MigrateDown of nothing succeeds")
	}
	for range 2 {
		if err := Migrate(t.Context(), quiet, path); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		wantStatus(t, path, store.Migration{Current: newestOf(t), Newest: newestOf(t)})
		for down := newestOf(t); down > 0; {
			if err := MigrateDown(t.Context(), quiet, path); err != nil {
				t.Fatalf("MigrateDown: %v", err)
			}
			status, err := MigrationStatus(t.Context(), path)
			if err != nil || status.Current >= down {
				t.Fatalf("MigrateDown of version %d leaves %+v, %v", down, status, err)
			}
			down = status.Current
		}
		wantStatus(t, path, store.Migration{Current: 0, Newest: newestOf(t)})
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700, path + lockSuffix: 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %s: %v, %v; want %o", filepath.Base(name), info.Mode(), err, want)
		}
	}
}

// TestMigrateAtOnce: of twenty starts on no file one migrates and all can open.
func TestMigrateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "teammem.db")
	var group errgroup.Group
	for range 20 {
		group.Go(func() error {
			if err := Migrate(t.Context(), quiet, path); err != nil {
				return err
			}
			db, err := Open(t.Context(), quiet, path)
			if err != nil {
				return err
			}
			return db.Close()
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, path, store.Migration{Current: newestOf(t), Newest: newestOf(t)})
}

// TestCurrentTakesNoLock: neither Migrate nor Open waits for another process
// where the schema is current.
func TestCurrentTakesNoLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "teammem.db")
	first := openAt(t, path)
	defer func() { _ = first.Close() }()
	err := locked(t.Context(), path, func(db *sql.DB) error {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if err := Migrate(t.Context(), quiet, path); err != nil {
			return err
		}
		second, err := Open(t.Context(), quiet, path)
		if err != nil {
			return err
		}
		return second.Close()
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMigrationFails: half of a migration is none of it, and a mended one runs
// without anything being repaired (BR-46).
func TestMigrationFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "teammem.db")
	broken := withSecond(t, "-- A test.\nCREATE TABLE second (id INTEGER);\nINSERT INTO nowhere VALUES (1);")
	err := migrateWith(t.Context(), quiet, path, broken)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d", newestOf(t)+1)) || !strings.Contains(err.Error(), "nowhere") {
		t.Fatalf("a broken migration: %v, want an error with version and cause", err)
	}
	if strings.Contains(err.Error(), "CREATE TABLE") {
		t.Errorf("the error repeats the whole migration: %v", err)
	}
	// The first migration was of the same run, so it is not there either.
	wantStatus(t, path, store.Migration{Current: 0, Newest: newestOf(t)})
	if err := migrateWith(t.Context(), quiet, path, withSecond(t, "CREATE TABLE second (id INTEGER);")); err != nil {
		t.Fatalf("the mended migration: %v", err)
	}
	// This server knows only the first: a newer one has been here.
	wantStatus(t, path, store.Migration{Current: newestOf(t) + 1, Newest: newestOf(t)})
	for name, try := range map[string]func() error{
		"Migrate":     func() error { return Migrate(t.Context(), quiet, path) },
		"MigrateDown": func() error { return MigrateDown(t.Context(), quiet, path) },
		"Open": func() error {
			_, err := Open(t.Context(), quiet, path)
			return err
		},
	} {
		if err := try(); !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), fmt.Sprintf("version %d", newestOf(t)+1)) {
			t.Errorf("%s of a newer schema: %v, want ErrSchema with its version", name, err)
		}
	}
}

// TestDirty: a schema that another tool left dirty is refused with the command
// that cures it, and never forced.
func TestDirty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "teammem.db")
	_ = openAt(t, path).Close()
	err := locked(t.Context(), path, func(db *sql.DB) error {
		_, err := db.Exec("UPDATE schema_migrations SET version = ?, dirty = 1", newestOf(t)+1)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := Migrate(t.Context(), quiet, path)
		if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), fmt.Sprintf("server migrate force %d", newestOf(t))) {
			t.Fatalf("Migrate: %v, want ErrSchema with the cure", err)
		}
		if _, err := Open(t.Context(), quiet, path); !errors.Is(err, store.ErrSchema) {
			t.Fatalf("Open: %v, want ErrSchema", err)
		}
		wantStatus(t, path, store.Migration{Current: newestOf(t) + 1, Newest: newestOf(t), Dirty: true})
	}
	if err := MigrateForce(t.Context(), quiet, path, 99); err == nil {
		t.Error("MigrateForce to a version that no migration leads to succeeds")
	}
	if err := MigrateForce(t.Context(), quiet, path, newestOf(t)); err != nil {
		t.Fatalf("MigrateForce: %v", err)
	}
	db := openAt(t, path)
	defer func() { _ = db.Close() }()
	if epoch, err := db.Epoch(t.Context()); err != nil || epoch == "" {
		t.Errorf("Epoch after the cure: %q, %v", epoch, err)
	}
}

// killedEnv makes the test binary a process that migrates for ever.
const killedEnv = "TEAMMEM_TEST_MIGRATE_FOREVER"

// TestMigrationKilled kills a process in the middle of a migration. The next
// start finds what stood before, and goes on.
func TestMigrationKilled(t *testing.T) {
	if path := os.Getenv(killedEnv); path != "" {
		migrateForever(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "teammem.db")
	_ = openAt(t, path).Close()
	process := exec.Command(os.Args[0], "-test.run=^TestMigrationKilled$", "-test.v")
	process.Env = append(os.Environ(), killedEnv+"="+path)
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.Contains(lines.Text(), "migrating") {
		continue
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait()
	wantStatus(t, path, store.Migration{Current: newestOf(t), Newest: newestOf(t)})
	db := openAt(t, path)
	defer func() { _ = db.Close() }()
	var tables int
	if err := db.reader.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name = 'second'").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables of the killed migration, %v", tables, err)
	}
	if err := migrateWith(t.Context(), quiet, path, withSecond(t, "CREATE TABLE second (id INTEGER);")); err != nil {
		t.Errorf("the migration after the kill: %v", err)
	}
}

// migrateForever says when it has written something, and goes on writing.
func migrateForever(t *testing.T, path string) {
	d := withSecond(t, `CREATE TABLE second (id INTEGER);
INSERT INTO second WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n;`)
	go func() {
		// Once the journal has grown, the migration is under way.
		before, _ := os.Stat(path + "-wal")
		for {
			now, err := os.Stat(path + "-wal")
			if err == nil && (before == nil || now.Size() > before.Size()+1<<20) {
				_, _ = os.Stdout.WriteString("migrating\n")
				return
			}
		}
	}()
	if err := migrateWith(t.Context(), quiet, path, d); err != nil {
		t.Fatal(err)
	}
}
