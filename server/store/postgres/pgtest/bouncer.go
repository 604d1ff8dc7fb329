package pgtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// bouncerPath is where distributions put PgBouncer.
const bouncerPath = "/usr/sbin/pgbouncer"

// Bouncer makes a database behind a PgBouncer in transaction mode and gives the
// address that leads through it. Where there is none the test is skipped, and
// with CI set it fails.
func Bouncer(t testing.TB) string {
	t.Helper()
	if _, err := os.Stat(bouncerPath); err != nil {
		absent(t, fmt.Errorf("no PgBouncer at %s", bouncerPath))
	}
	server := Start(t)
	name := fmt.Sprintf("teammem_pooled_%d_%d", os.Getpid(), numbers.Add(1))
	admin(t, server.Address, "CREATE DATABASE "+name+" ENCODING 'UTF8' LOCALE 'C.UTF-8' TEMPLATE template0")
	t.Cleanup(func() { admin(t, server.Address, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	startBouncer(t, server, port)
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", port, name)
}

// startBouncer runs it until the test ends. Few server connections make every
// transaction likely to land on another one than the last.
func startBouncer(t testing.TB, server *Server, port int) {
	t.Helper()
	dir, err := os.MkdirTemp(server.Dir, "bouncer-")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%s user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
server_round_robin = 1
max_client_conn = 200
logfile = %s
`, server.Port(), port, filepath.Join(dir, "log"))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := run(exec.Command("chown", "-R", "postgres:", dir)); err != nil {
			t.Fatal(err)
		}
	}
	bouncer := asPostgres(bouncerPath, "-q", config)
	if err := bouncer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bouncer.Process.Signal(syscall.SIGTERM)
		_ = bouncer.Wait()
	})
	awaitPort(t, port, filepath.Join(dir, "log"))
}

// awaitPort waits until something listens.
func awaitPort(t testing.TB, port int, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var dialer net.Dialer
	for ctx.Err() == nil {
		conn, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
	said, _ := os.ReadFile(log)
	t.Fatalf("PgBouncer does not listen; its log: %s", said)
}
