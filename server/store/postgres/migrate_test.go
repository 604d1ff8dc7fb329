package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammem/migrations"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
	"github.com/teammem/teammem/server/store/schema"
)

var quiet = slog.New(slog.DiscardHandler)

// withSecond is the dialect with one migration more, made for a test.
func withSecond(t testing.TB, up string) schema.Dialect {
	t.Helper()
	d := dialect()
	next := newestOf(t) + 1
	source := fstest.MapFS{
		fmt.Sprintf("postgres/%04d_test.up.sql", next):   {Data: []byte(up)},
		fmt.Sprintf("postgres/%04d_test.down.sql", next): {Data: []byte("DROP TABLE second;")},
	}
	names, err := fs.Glob(migrations.FS, "postgres/[0-9]*.sql")
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

func wantStatus(t testing.TB, dsn string, want store.Migration) {
	t.Helper()
	got, err := MigrationStatus(t.Context(), dsn)
	if err != nil || got != want {
		t.Fatalf("MigrationStatus: %+v, %v; want %+v", got, err, want)
	}
}

// session is a connection of the test's own.
func session(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

func exec(t testing.TB, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestMigrateUpAndDown(t *testing.T) {
	dsn := pgtest.DSN(t)
	wantStatus(t, dsn, store.Migration{Current: 0, Newest: newestOf(t)})
	if _, err := Open(t.Context(), quiet, dsn); !errors.Is(err, store.ErrSchema) {
		t.Errorf("Open without a schema: %v, want ErrSchema", err)
	}
	if err := MigrateDown(t.Context(), quiet, dsn); err == nil {
		t.Error("MigrateDown of nothing succeeds")
	}
	for range 2 {
		if err := Migrate(t.Context(), quiet, dsn); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		wantStatus(t, dsn, store.Migration{Current: newestOf(t), Newest: newestOf(t)})
		for down := newestOf(t); down > 0; {
			if err := MigrateDown(t.Context(), quiet, dsn); err != nil {
				t.Fatalf("MigrateDown: %v", err)
			}
			status, err := MigrationStatus(t.Context(), dsn)
			if err != nil || status.Current >= down {
				t.Fatalf("MigrateDown of version %d leaves %+v, %v", down, status, err)
			}
			down = status.Current
		}
		wantStatus(t, dsn, store.Migration{Current: 0, Newest: newestOf(t)})
	}
}

// TestMigrateAtOnce: of several servers that start on an empty database one
// migrates, and all can open, behind a pooler too (BR-47).
func TestMigrateAtOnce(t *testing.T) {
	for name, address := range map[string]func(testing.TB) string{
		"direct": func(t testing.TB) string { return pgtest.DSN(t) },
		"pooled": func(t testing.TB) string { return pgtest.Bouncer(t) + "&default_query_exec_mode=cache_describe" },
	} {
		t.Run(name, func(t *testing.T) {
			dsn := address(t)
			var group errgroup.Group
			for range 8 {
				group.Go(func() error {
					if err := Migrate(t.Context(), quiet, dsn); err != nil {
						return err
					}
					db, err := Open(t.Context(), quiet, dsn)
					if err != nil {
						return err
					}
					return db.Close()
				})
			}
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
			wantStatus(t, dsn, store.Migration{Current: newestOf(t), Newest: newestOf(t)})
		})
	}
}

// TestCurrentTakesNoLock: neither Migrate nor Open waits for another's migration
// where the schema is current.
func TestCurrentTakesNoLock(t *testing.T) {
	dsn := pgtest.DSN(t)
	_ = open(t, dsn).Close()
	other := session(t, dsn)
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock(7463226531944210541)"); err != nil {
		t.Fatal(err)
	}
	_ = open(t, dsn).Close()
}

// TestMigrationFails: half of a migration is none of it, and a mended one runs
// without anything being repaired (BR-46).
func TestMigrationFails(t *testing.T) {
	dsn := pgtest.DSN(t)
	err := migrateWith(t.Context(), quiet, dsn, withSecond(t, "CREATE TABLE second (id int);\nINSERT INTO nowhere VALUES (1);"))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d", newestOf(t)+1)) || !strings.Contains(err.Error(), "nowhere") {
		t.Fatalf("a broken migration: %v, want an error with version and cause", err)
	}
	wantStatus(t, dsn, store.Migration{Current: 0, Newest: newestOf(t)})
	if err := migrateWith(t.Context(), quiet, dsn, withSecond(t, "CREATE TABLE second (id int);")); err != nil {
		t.Fatalf("the mended migration: %v", err)
	}
	wantStatus(t, dsn, store.Migration{Current: newestOf(t) + 1, Newest: newestOf(t)})
	for name, try := range map[string]func() error{
		"Migrate":     func() error { return Migrate(t.Context(), quiet, dsn) },
		"MigrateDown": func() error { return MigrateDown(t.Context(), quiet, dsn) },
		"Open": func() error {
			_, err := Open(t.Context(), quiet, dsn)
			return err
		},
	} {
		if err := try(); !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), fmt.Sprintf("version %d", newestOf(t)+1)) {
			t.Errorf("%s of a newer schema: %v, want ErrSchema with its version", name, err)
		}
	}
}

// TestMigrationKilled ends the connection in the middle of a migration, as the
// death of its process would. Another server waits, and goes on from what stood.
func TestMigrationKilled(t *testing.T) {
	dsn := pgtest.DSN(t)
	_ = open(t, dsn).Close()
	killed := make(chan error, 1)
	go func() {
		killed <- migrateWith(t.Context(), quiet, dsn, withSecond(t, "CREATE TABLE second (id int);\nSELECT pg_sleep(600);"))
	}()
	control := session(t, dsn)
	const find = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()"
	var pid int
	for deadline := time.Now().Add(20 * time.Second); ; {
		if err := control.QueryRow(t.Context(), find).Scan(&pid); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the migration does not begin: %v", err)
		}
	}
	waiting := make(chan error, 1)
	go func() {
		waiting <- migrateWith(t.Context(), quiet, dsn, withSecond(t, "CREATE TABLE second (id int);"))
	}()
	if _, err := control.Exec(t.Context(), "SELECT pg_terminate_backend($1)", pid); err != nil {
		t.Fatal(err)
	}
	if err := <-killed; !errors.Is(err, store.ErrBusy) {
		t.Errorf("the killed migration: %v, want ErrBusy", err)
	}
	if err := <-waiting; err != nil {
		t.Errorf("the migration that waited: %v", err)
	}
	wantStatus(t, dsn, store.Migration{Current: newestOf(t) + 1, Newest: newestOf(t)})
}

// TestDirty: a schema that another tool left dirty is refused with the command
// that cures it, and never forced.
func TestDirty(t *testing.T) {
	dsn := pgtest.DSN(t)
	_ = open(t, dsn).Close()
	exec(t, session(t, dsn), fmt.Sprintf("UPDATE schema_migrations SET version = %d, dirty = true", newestOf(t)+1))
	for range 2 {
		err := Migrate(t.Context(), quiet, dsn)
		if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), fmt.Sprintf("server migrate force %d", newestOf(t))) {
			t.Fatalf("Migrate: %v, want ErrSchema with the cure", err)
		}
		if _, err := Open(t.Context(), quiet, dsn); !errors.Is(err, store.ErrSchema) {
			t.Fatalf("Open: %v, want ErrSchema", err)
		}
	}
	if err := MigrateForce(t.Context(), quiet, dsn, newestOf(t)); err != nil {
		t.Fatalf("MigrateForce: %v", err)
	}
	_ = open(t, dsn).Close()
}

// TestAddressIsNotRepeated: what an operator typed may hold a password.
func TestAddressIsNotRepeated(t *testing.T) {
	for _, dsn := range []string{
		"postgres://dana:hunter2@127.0.0.1:1/none?connect_timeout=2",
		"postgres://dana:hunter2@:port/none",
		"host=127.0.0.1 port=1 user=dana password=hunter2 dbname=none sslmode=sideways",
	} {
		for name, try := range map[string]func() error{
			"Migrate": func() error { return Migrate(t.Context(), quiet, dsn) },
			"Open": func() error {
				_, err := Open(t.Context(), quiet, dsn)
				return err
			},
		} {
			err := try()
			if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "dana") {
				t.Errorf("%s: %v, want an error without user and password", name, err)
			}
		}
	}
}
