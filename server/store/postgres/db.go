// Package postgres is the store on PostgreSQL, for organizations that run one.
//
// It keeps the tables of migrations/postgres. A [DB.Commit] is two round trips:
// one pipelined batch begins the transaction, locks the repo's row and reads the
// state of the touched keys; the ledger decides; a second batch writes bodies,
// entries, history, version, audit record and head, and commits. The first PUT
// of a repo takes one more, to make the row it then locks, and where the organization
// ever withdrew a content one more asks for it. Commits that wait for one repo in this
// server share a transaction: what one writes goes with what the next reads, and
// there is one flush for all (see [store.Gather]). Reads are one round
// trip: a single statement, or one batch in one snapshot.
//
// It promises what store.Store does, behind a pooler in transaction mode too:
// nothing depends on a session (name an execution mode such as
// default_query_exec_mode=cache_describe in the address then), settings hold for
// one transaction, and no method holds two connections. Whoever waits, for a
// connection or for a lock, waits for a bounded time and gets store.ErrBusy.
//
// The one exception is [DB.Exchange], by which servers on one database tell each
// other of changes: it listens on a session of its own, outside the pool. A
// pooler in transaction mode takes that session away; Exchange notices, and goes
// on by looking every few seconds.
//
// The statements stand as constants beside the noun they concern.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/server/store"
)

// The waits that are bounded, and what may wait. A request has 30 s.
const (
	defaultAcquireWait = 5 * time.Second  // for a free connection
	defaultLockWait    = 5 * time.Second  // for a repo's row
	defaultConnectWait = 5 * time.Second  // for a new connection
	defaultCommitWait  = 15 * time.Second // for the last batch of a Commit
	replicaWait        = time.Second      // for a connection to a replica, which need not be asked
	defaultMaxConns    = 24               // unless the address says pool_max_conns
	keepAliveIdle      = 10 * time.Second
	keepAliveEvery     = 3 * time.Second
	keepAliveCount     = 3
	attempts           = 4 // of a transaction that the database broke off
)

// DB is a store on Postgres.
type DB struct {
	log         *slog.Logger
	pool        *pgxpool.Pool
	epoch       store.EpochCache
	acquireWait time.Duration
	lockWait    time.Duration
	commitWait  time.Duration
	commits     store.Gather[store.RepoRef, *request] // by repo, as nobody sees it
	queue       *queue                                // of announcements
}

var (
	_ store.Store     = (*DB)(nil)
	_ store.Announcer = (*DB)(nil)
)

// Open connects to the database that dsn names (a postgres:// address or
// key=value pairs; parameters as pgxpool reads them) and checks that its schema
// fits. It takes no lock and does not migrate. [store.ErrSchema], [store.ErrBusy].
func Open(ctx context.Context, log *slog.Logger, dsn string) (*DB, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("opening the pool: %w", err)
	}
	db := &DB{log: log, pool: pool, acquireWait: defaultAcquireWait, lockWait: defaultLockWait, commitWait: defaultCommitWait, queue: newQueue()}
	if err := db.check(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return db, nil
}

// OpenReplica is Open for a standby that is only asked for views: it may be away, or
// behind in its schema too, which its answers tell.
func OpenReplica(ctx context.Context, log *slog.Logger, dsn string) (*DB, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("opening the pool: %w", err)
	}
	return &DB{log: log, pool: pool, acquireWait: replicaWait, lockWait: defaultLockWait, commitWait: defaultCommitWait, queue: newQueue()}, nil
}

// parse reads an address. Its errors never repeat it: it may hold a password.
func parse(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the database address cannot be read: want postgres://user@host:port/name or key=value pairs")
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		config.MaxConns = defaultMaxConns
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = defaultConnectWait
	}
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		types := conn.TypeMap()
		types.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{makeRoom}, types.TryWrapEncodePlanFuncs...)
		return nil
	}
	// A machine that went without a word is noticed before requests run out of time.
	dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepAliveIdle, Interval: keepAliveEvery, Count: keepAliveCount}}
	config.ConnConfig.DialFunc = dialer.DialContext
	// Behind a pooler a connection of the pool may be given what another one
	// listens to; nobody would ever fetch it.
	config.ConnConfig.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) {}
	return config, nil
}

// check refuses a database that this server cannot work on.
func (db *DB) check(ctx context.Context) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var encoding string
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_encoding')").Scan(&encoding); err != nil {
		return fail(ctx, "asking for the encoding", err)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database's encoding is %s: make one with encoding UTF8", encoding)
	}
	status, err := schemaStatus(ctx, conn.Conn())
	if err != nil {
		return err
	}
	return status.Fits()
}

// Ping answers nil when the database does.
func (db *DB) Ping(ctx context.Context) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := conn.Ping(ctx); err != nil {
		return fail(ctx, "ping", err)
	}
	return nil
}

// Close ends all connections, waiting for those in use.
func (db *DB) Close() error {
	db.pool.Close()
	return nil
}

// acquire takes a connection, waiting no longer than the caller or the store
// allows.
func (db *DB) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	wait, cancel := context.WithTimeout(ctx, db.acquireWait)
	defer cancel()
	conn, err := db.pool.Acquire(wait)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() == nil && wait.Err() != nil:
		return nil, fmt.Errorf("no connection to the database within %s: %w", db.acquireWait, store.ErrBusy)
	}
	return nil, fail(ctx, "connecting to the database", err)
}

// read runs fn on a connection of its own.
func (db *DB) read(ctx context.Context, operation string, fn func(conn *pgxpool.Conn) error) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	defer conn.Release()
	if err := fn(conn); err != nil {
		return fail(ctx, operation, err)
	}
	return nil
}
