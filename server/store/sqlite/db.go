// Package sqlite is the store in one file, embedded: the default.
//
// It keeps the tables of migrations/sqlite in WAL mode with synchronous=FULL, so
// that what a [DB.Commit] returned for survives a power cut. One handle writes,
// on one connection whose transactions lock the file when they begin; commits that
// wait for it share one, and its flush (see [store.Gather]). Other handles
// read, each in the snapshot in which its transaction began, and never wait for
// the writer. A second process, such as a command run beside the server, may
// write too: whoever comes later waits for a bounded time and gets
// store.ErrBusy.
//
// SQLite before 3.51.3 could lose commits when a checkpoint met a writer; [Open]
// refuses it. The statements stand as constants beside the noun they concern.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/teammem/teammem/server/store"
)

// The waits that are bounded. A request has 30 s.
const (
	defaultAcquireWait = 5 * time.Second // for this process's own writers
	defaultLockWait    = 5 * time.Second // for another process's
)

// leastVersion is the first SQLite whose WAL loses nothing.
// https://www.sqlite.org/wal.html, section "The WAL-Reset Bug"
const leastVersion = "3.51.3"

// DB is a store in a file.
type DB struct {
	log         *slog.Logger
	writer      *sql.DB       // one connection
	turn        chan struct{} // full while someone writes
	commits     store.Gather[struct{}, *request]
	reader      *sql.DB
	statements  statements
	epoch       store.EpochCache
	acquireWait time.Duration
}

var _ store.Store = (*DB)(nil)

// Open opens the database in the file path and checks SQLite's version and the
// schema's. It does not migrate. [store.ErrSchema].
func Open(ctx context.Context, log *slog.Logger, path string) (*DB, error) {
	status, err := MigrationStatus(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := status.Fits(); err != nil {
		return nil, err
	}
	db := &DB{log: log, turn: make(chan struct{}, 1), acquireWait: defaultAcquireWait}
	if db.writer, err = handle(path, writing, defaultLockWait); err != nil {
		return nil, err
	}
	if db.reader, err = handle(path, reading, defaultLockWait); err != nil {
		return nil, errors.Join(err, db.writer.Close())
	}
	db.writer.SetMaxOpenConns(1)
	db.reader.SetMaxOpenConns(max(4, 2*runtime.GOMAXPROCS(0)))
	db.reader.SetMaxIdleConns(max(4, 2*runtime.GOMAXPROCS(0)))
	if err := db.start(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// start checks the library and prepares the statements.
func (db *DB) start(ctx context.Context) error {
	var version, journal string
	if err := db.writer.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return fail(ctx, "asking for SQLite's version", err)
	}
	if older(version, leastVersion) {
		return fmt.Errorf("this server was built with SQLite %s, which can lose commits: build it with %s or later", version, leastVersion)
	}
	if err := db.writer.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal); err != nil {
		return fail(ctx, "asking for the journal's mode", err)
	}
	if journal != "wal" {
		return fmt.Errorf("the database's journal mode is %s, not wal: its file system may not allow shared memory; put the data directory on a local disk", journal)
	}
	return db.statements.prepare(ctx, db)
}

// older compares dotted version numbers.
func older(version, than string) bool {
	var a, b [3]int
	_, _ = fmt.Sscanf(version, "%d.%d.%d", &a[0], &a[1], &a[2])
	_, _ = fmt.Sscanf(than, "%d.%d.%d", &b[0], &b[1], &b[2])
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// access is what a handle is for.
type access string

// What is deleted is overwritten with zeros (secure_delete), which costs a PUT
// nothing: it deletes next to nothing. The writer keeps up to 16 MB of pages, and folds the WAL into the file every 16
// MB: a repo's size must not show in the time of a commit.
const (
	writing access = "_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=foreign_keys(1)" +
		"&_pragma=secure_delete(1)&_pragma=cache_size(-16000)&_pragma=wal_autocheckpoint(4000)"
	reading access = "mode=rw&_pragma=query_only(1)"
	looking access = "mode=rw"
	// flushing matters on macOS, where an ordinary flush does not reach the disk.
	flushing = "_pragma=fullfsync(1)&_pragma=checkpoint_fullfsync(1)"
)

// handle opens a database/sql handle. Nothing is touched before its first use.
func handle(path string, access access, lockWait time.Duration) (*sql.DB, error) {
	// Characters that mean something in a URI may stand in a path.
	name := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	dsn := fmt.Sprintf("file:%s?_busy_timeout=%d&_dqs=0&%s&%s", name, lockWait.Milliseconds(), flushing, access)
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	return db, nil
}

// create makes the file, readable by its owner only, where it is missing, and
// its directory likewise. SQLite gives its other files the mode of this one.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the database's directory: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("making the database: %w", err)
	}
	return file.Close()
}

// Ping answers nil when the database can be read.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.reader.PingContext(ctx); err != nil {
		return fail(ctx, "ping", err)
	}
	return nil
}

// Close ends all connections; the last one folds the WAL into the file.
func (db *DB) Close() error {
	return errors.Join(db.statements.close(), db.reader.Close(), db.writer.Close())
}

// reads runs fn in one snapshot.
func (db *DB) reads(ctx context.Context, operation string, fn func(tx *sql.Tx) error) error {
	tx, err := db.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fail(ctx, operation, err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := fn(tx); err != nil {
		return fail(ctx, operation, err)
	}
	return nil
}

// writes runs fn in the one transaction that may write, and commits unless fn
// says otherwise. Once it has begun the caller can no longer break it off: it is
// short, and watching for that would cost more than it.
func (db *DB) writes(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) (keep bool, err error)) error {
	if err := db.queue(ctx); err != nil {
		return err
	}
	defer func() { <-db.turn }()
	ctx = context.WithoutCancel(ctx)
	tx, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	keep, err := fn(ctx, tx)
	if err != nil || !keep {
		return err
	}
	return tx.Commit()
}

// queue waits for this process's other writers, first come, first served:
// database/sql would pick the next at random, and someone would wait for ever.
func (db *DB) queue(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	wait := time.NewTimer(db.acquireWait)
	defer wait.Stop()
	select {
	case db.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return fmt.Errorf("not first in the queue within %s: %w", db.acquireWait, store.ErrBusy)
	}
}

// plainPath refuses what SQLite would read as something else than a file's path.
func plainPath(path string) error {
	if path == "" || strings.HasPrefix(path, "file:") || strings.Contains(path, "\x00") {
		return errors.New("the database's path must be a plain path of a file")
	}
	return nil
}
