package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/teammem/teammem/migrations"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/schema"
)

// migrationLock is the key of the advisory lock under which migrations run. It
// is held by the transaction, so that a pooler may sit between.
const migrationLock = 7_463_226_531_944_210_541

const (
	selectSchemaVersion = `SELECT version, dirty FROM schema_migrations`
	insertSchemaVersion = `INSERT INTO schema_migrations (version, dirty) VALUES ($1, $2)`
	createSchemaTable   = `CREATE TABLE IF NOT EXISTS schema_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL)`
)

// dialect is how Postgres is migrated.
func dialect() schema.Dialect {
	return schema.Dialect{
		Name: "postgres", Source: migrations.FS, Folder: migrations.Postgres,
		Lock: lockSchema, CreateTable: createSchemaTable, SetVersion: insertSchemaVersion, Finish: finishSchema,
	}
}

// Migrate brings the schema up. It takes no lock where there is nothing to do.
func Migrate(ctx context.Context, log *slog.Logger, dsn string) error {
	return migrateWith(ctx, log, dsn, dialect())
}

func migrateWith(ctx context.Context, log *slog.Logger, dsn string, d schema.Dialect) error {
	return withSchema(ctx, dsn, d, func(db *sql.DB, status store.Migration) error {
		if err := status.Sound(); err != nil || status.Current == status.Newest {
			return err
		}
		return d.Up(ctx, log, db)
	})
}

// MigrateTo brings the schema of a new database to a version.
func MigrateTo(ctx context.Context, log *slog.Logger, dsn string, version uint) error {
	d := dialect()
	return withSchema(ctx, dsn, d, func(db *sql.DB, _ store.Migration) error { return d.To(ctx, log, db, version) })
}

// MigrateDown takes back one step.
func MigrateDown(ctx context.Context, log *slog.Logger, dsn string) error {
	d := dialect()
	return withSchema(ctx, dsn, d, func(db *sql.DB, status store.Migration) error {
		if err := status.Sound(); err != nil {
			return err
		}
		return d.Down(ctx, log, db)
	})
}

// MigrateForce sets the version that an operator says stands.
func MigrateForce(ctx context.Context, log *slog.Logger, dsn string, version uint) error {
	d := dialect()
	return withSchema(ctx, dsn, d, func(db *sql.DB, _ store.Migration) error { return d.Force(ctx, log, db, version) })
}

// MigrationStatus tells where the schema stands. It takes no lock.
func MigrationStatus(ctx context.Context, dsn string) (status store.Migration, err error) {
	err = withSchema(ctx, dsn, dialect(), func(_ *sql.DB, s store.Migration) error {
		status = s
		return nil
	})
	return status, err
}

// withSchema opens a handle of its own, on one connection, for a migration.
func withSchema(ctx context.Context, dsn string, d schema.Dialect, fn func(*sql.DB, store.Migration) error) error {
	config, err := parse(dsn)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return fail(ctx, "connecting to the database", err)
	}
	status, err := statusOf(ctx, conn, d)
	_ = conn.Close(ctx)
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*config.ConnConfig)
	db.SetMaxOpenConns(1)
	err = fn(db, status)
	if err != nil {
		err = fail(ctx, "schema", err)
	}
	return errors.Join(err, db.Close())
}

func schemaStatus(ctx context.Context, conn *pgx.Conn) (store.Migration, error) {
	return statusOf(ctx, conn, dialect())
}

func statusOf(ctx context.Context, conn *pgx.Conn, d schema.Dialect) (store.Migration, error) {
	var version int64
	var dirty bool
	err := conn.QueryRow(ctx, selectSchemaVersion).Scan(&version, &dirty)
	if err != nil && code(err) != codeUndefinedTable && !errors.Is(err, pgx.ErrNoRows) {
		return store.Migration{}, fail(ctx, "reading the schema's version", err)
	}
	return d.Status(uint(max(version, 0)), dirty)
}

// lockSchema waits for another process's migration to end.
func lockSchema(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, "SET LOCAL lock_timeout = "+strconv.FormatInt(schema.LockWait.Milliseconds(), 10)); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock("+strconv.FormatInt(migrationLock, 10)+")")
	return err
}

// finishSchema gives a new database its epoch.
func finishSchema(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, insertEpoch, rand.Text()); err != nil {
		return fmt.Errorf("epoch: %w", err)
	}
	return nil
}
