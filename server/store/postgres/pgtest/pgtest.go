// Package pgtest gives tests a real PostgreSQL.
//
// [DSN] makes a fresh database, and drops it when the test ends. The server is
// the one that TEAMMEM_TEST_POSTGRES names, else one of the test process's own,
// started at the first call from the installed binaries on a loopback port. A
// watcher ends that server and removes its files when the test process ends,
// however it ends. Where there is no Postgres the test is skipped, and with CI
// set it fails.
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Environment names the variable with the address of a running server, on which
// the tests may create and drop databases.
const Environment = "TEAMMEM_TEST_POSTGRES"

// Option changes which server a test gets.
type Option func(*kind)

// kind is the sort of server asked for.
type kind struct{ durable bool }

// Durable asks for a server that flushes to the disk, for tests that kill it and
// for benchmarks. Others run with fsync off.
func Durable() Option { return func(k *kind) { k.durable = true } }

// servers are the test process's own, one a kind, started when first needed.
var servers sync.Map // kind → func() (*Server, error)

// numbers tell databases of one process apart.
var numbers atomic.Int64

// DSN makes a database and gives its address. It is dropped when the test ends.
func DSN(t testing.TB, options ...Option) string {
	t.Helper()
	address := os.Getenv(Environment)
	if address == "" {
		address = Start(t, options...).Address
	}
	name := fmt.Sprintf("teammem_test_%d_%d", os.Getpid(), numbers.Add(1))
	admin(t, address, "CREATE DATABASE "+name+" ENCODING 'UTF8' LOCALE 'C.UTF-8' TEMPLATE template0")
	t.Cleanup(func() { admin(t, address, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	return withDatabase(t, address, name)
}

// Copy makes a database like the one at an address of DSN's, which nobody may be
// connected to, and gives its address: a backup that was restored.
func Copy(t testing.TB, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal("not an address of DSN's")
	}
	address := withDatabase(t, dsn, "postgres")
	name := fmt.Sprintf("teammem_test_%d_%d", os.Getpid(), numbers.Add(1))
	admin(t, address, "CREATE DATABASE "+name+" TEMPLATE "+strings.TrimPrefix(u.Path, "/"))
	t.Cleanup(func() { admin(t, address, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	return withDatabase(t, dsn, name)
}

// Start gives the test process's own server, whatever the environment names.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	var k kind
	for _, option := range options {
		option(&k)
	}
	bin, err := binaries()
	if err != nil {
		absent(t, err)
	}
	start, _ := servers.LoadOrStore(k, sync.OnceValues(func() (*Server, error) { return start(bin, k) }))
	server, err := start.(func() (*Server, error))()
	if err != nil {
		t.Fatalf("starting a Postgres for the tests: %v", err)
	}
	return server
}

// absent skips the test, or fails it where nothing may be skipped.
func absent(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("CI is set and nothing may be skipped: %v", err)
	}
	t.Skipf("%v", err)
}

// admin runs one statement on the server itself.
func admin(t testing.TB, address, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatalf("connecting to the test Postgres: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", strings.Fields(statement)[0], err)
	}
}

// withDatabase names another database of the same server.
func withDatabase(t testing.TB, address, name string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		t.Fatalf("%s must be a postgres:// address", Environment)
	}
	u.Path = "/" + name
	return u.String()
}
