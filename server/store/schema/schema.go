// Package schema runs the numbered migrations of one database.
//
// The engine is golang-migrate's; the driver under it is ours, for one property
// that the engine's own drivers lack: a whole run, the version it leaves behind
// included, is one transaction. A run that fails or is killed therefore leaves
// the schema that stood before, clean; there is nothing to repair by hand, no
// lock outlives the process, and it works behind a pooler in transaction mode. A
// schema that is dirty all the same was left so by another tool; it is reported
// and never forced (BR-46).
//
// It keeps the table schema_migrations, in the form golang-migrate's own tools
// read. The stores call it; what differs between databases is a [Dialect].
package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/source/iofs"

	"github.com/teammem/teammem/server/store"
)

// LockWait is how long a run waits for another process's run to end.
const LockWait = time.Minute

// Dialect is what differs between databases.
type Dialect struct {
	Name   string // for golang-migrate's messages
	Source fs.FS  // holds Folder
	Folder string
	// Lock takes, in the transaction, the lock that keeps other processes' runs
	// out until the transaction ends. Nil when to begin is to lock.
	Lock func(ctx context.Context, tx *sql.Tx) error
	// CreateTable makes the version table where it is missing.
	CreateTable string
	// SetVersion inserts the version table's one row.
	SetVersion string
	// Finish completes a schema of at least version 1, in the run's transaction.
	Finish func(ctx context.Context, tx *sql.Tx) error
}

// Up brings the schema to the newest version. One that is there already is no
// error: another process may have done it while this one waited.
func (d Dialect) Up(ctx context.Context, log *slog.Logger, db *sql.DB) error {
	return d.run(ctx, log, db, func(m *migrate.Migrate) error { return m.Up() })
}

// To brings the schema of an empty database to a version, for rows that have it.
func (d Dialect) To(ctx context.Context, log *slog.Logger, db *sql.DB, version uint) error {
	return d.run(ctx, log, db, func(m *migrate.Migrate) error { return m.Migrate(version) })
}

// Down takes back the newest migration that stands.
func (d Dialect) Down(ctx context.Context, log *slog.Logger, db *sql.DB) error {
	return d.run(ctx, log, db, func(m *migrate.Migrate) error {
		err := m.Steps(-1)
		if errors.Is(err, os.ErrNotExist) {
			return errors.New("there is no migration to take back")
		}
		return err
	})
}

// Force sets the version that an operator says stands, and changes nothing else.
func (d Dialect) Force(ctx context.Context, log *slog.Logger, db *sql.DB, version uint) error {
	newest, err := d.Newest()
	if err != nil {
		return err
	}
	if version > newest {
		return fmt.Errorf("no migration leads to version %d: the newest is %d", version, newest)
	}
	target := int(version)
	if version == 0 {
		target = noVersion
	}
	return d.run(ctx, log, db, func(m *migrate.Migrate) error { return m.Force(target) })
}

// Newest is the highest version there is a migration to.
func (d Dialect) Newest() (uint, error) {
	source, err := iofs.New(d.Source, d.Folder)
	if err != nil {
		return 0, fmt.Errorf("reading the migrations: %w", err)
	}
	defer func() { _ = source.Close() }()
	version, err := source.First()
	for err == nil {
		var next uint
		if next, err = source.Next(version); err == nil {
			version = next
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("reading the migrations: %w", err)
	}
	return version, nil
}

// Status completes what a store has read from its version table.
func (d Dialect) Status(current uint, dirty bool) (store.Migration, error) {
	newest, err := d.Newest()
	return store.Migration{Current: current, Newest: newest, Dirty: dirty}, err
}

func (d Dialect) run(ctx context.Context, log *slog.Logger, db *sql.DB, do func(*migrate.Migrate) error) error {
	source, err := iofs.New(d.Source, d.Folder)
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	run := &run{ctx: ctx, dialect: d, db: db, from: noVersion, version: noVersion}
	engine, err := migrate.NewWithInstance("iofs", source, d.Name, run)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	// The lock has a time limit of its own; the engine's must not end first, or
	// it would leave the wait behind.
	engine.LockTimeout = 2 * LockWait
	if err := do(engine); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		run.abandon()
		if dirty, ok := errors.AsType[migrate.ErrDirty](err); ok {
			return store.Migration{Current: uint(max(dirty.Version, 0)), Dirty: true}.Sound()
		}
		return fmt.Errorf("migrating the schema: %w", err)
	}
	if run.version != run.from {
		log.InfoContext(ctx, "schema migrated", "from", max(run.from, 0), "to", max(run.version, 0))
	}
	return nil
}
