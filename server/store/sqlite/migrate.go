package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/gofrs/flock"

	"github.com/teammem/teammem/migrations"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/schema"
)

const (
	selectSchemaTable   = `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'`
	selectSchemaVersion = `SELECT version, dirty FROM schema_migrations`
	insertSchemaVersion = `INSERT INTO schema_migrations (version, dirty) VALUES (?, ?)`
	createSchemaTable   = `CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER NOT NULL PRIMARY KEY, dirty INTEGER NOT NULL) STRICT`
)

// lockSuffix names the file beside the database under whose lock migrations run.
// A transaction alone does not keep two processes apart while one of them makes
// the file and turns on the WAL.
const lockSuffix = ".lock"

// lockPoll is how often a waiting process asks for the lock.
const lockPoll = 20 * time.Millisecond

// dialect is how SQLite is migrated.
func dialect() schema.Dialect {
	return schema.Dialect{
		Name: "sqlite", Source: migrations.FS, Folder: migrations.SQLite,
		CreateTable: createSchemaTable, SetVersion: insertSchemaVersion, Finish: finishSchema,
	}
}

// Migrate brings the schema up, making the file where it is missing. It takes no
// lock where there is nothing to do.
func Migrate(ctx context.Context, log *slog.Logger, path string) error {
	return migrateWith(ctx, log, path, dialect())
}

func migrateWith(ctx context.Context, log *slog.Logger, path string, d schema.Dialect) error {
	status, err := statusOf(ctx, path, d)
	if err != nil {
		return err
	}
	if err := status.Sound(); err != nil || status.Current == status.Newest {
		return err
	}
	return locked(ctx, path, func(db *sql.DB) error { return d.Up(ctx, log, db) })
}

// MigrateTo brings the schema of a new database to a version.
func MigrateTo(ctx context.Context, log *slog.Logger, path string, version uint) error {
	return locked(ctx, path, func(db *sql.DB) error { return dialect().To(ctx, log, db, version) })
}

// MigrateDown takes back one step.
func MigrateDown(ctx context.Context, log *slog.Logger, path string) error {
	status, err := MigrationStatus(ctx, path)
	if err != nil {
		return err
	}
	if err := status.Sound(); err != nil {
		return err
	}
	return locked(ctx, path, func(db *sql.DB) error { return dialect().Down(ctx, log, db) })
}

// MigrateForce sets the version that an operator says stands.
func MigrateForce(ctx context.Context, log *slog.Logger, path string, version uint) error {
	return locked(ctx, path, func(db *sql.DB) error { return dialect().Force(ctx, log, db, version) })
}

// MigrationStatus tells where the schema stands. It makes no file.
func MigrationStatus(ctx context.Context, path string) (store.Migration, error) {
	return statusOf(ctx, path, dialect())
}

func statusOf(ctx context.Context, path string, d schema.Dialect) (store.Migration, error) {
	if err := plainPath(path); err != nil {
		return store.Migration{}, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist), err == nil && info.Size() == 0:
		// An empty file is one that another process is about to fill.
		return d.Status(0, false)
	case err != nil:
		return store.Migration{}, fmt.Errorf("looking for the database: %w", err)
	}
	db, err := handle(path, looking, defaultLockWait)
	if err != nil {
		return store.Migration{}, err
	}
	defer func() { _ = db.Close() }()
	var tables, version int
	var dirty bool
	if err := db.QueryRowContext(ctx, selectSchemaTable).Scan(&tables); err != nil {
		return store.Migration{}, fail(ctx, "reading the schema", err)
	}
	if tables == 0 {
		return d.Status(0, false)
	}
	if err := db.QueryRowContext(ctx, selectSchemaVersion).Scan(&version, &dirty); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return store.Migration{}, fail(ctx, "reading the schema's version", err)
	}
	return d.Status(uint(max(version, 0)), dirty)
}

// locked runs fn on a handle of its own, with other processes' migrations kept
// out.
func locked(ctx context.Context, path string, fn func(*sql.DB) error) error {
	if err := create(path); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, schema.LockWait)
	defer cancel()
	lock := flock.New(path+lockSuffix, flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(wait, lockPoll); err != nil {
		if ctx.Err() == nil && wait.Err() != nil {
			err = store.ErrBusy
		}
		return fmt.Errorf("waiting for another process's migration: %w", err)
	}
	defer func() { _ = lock.Close() }()
	db, err := handle(path, writing, schema.LockWait)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if err = fn(db); err != nil {
		err = fail(ctx, "schema", err)
	}
	return errors.Join(err, db.Close())
}

// finishSchema gives a new database its epoch.
func finishSchema(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, insertEpoch, rand.Text()); err != nil {
		return fmt.Errorf("epoch: %w", err)
	}
	return nil
}
