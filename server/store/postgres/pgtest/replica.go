package pgtest

import (
	"errors"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Replica starts a streaming replica of the test process's own server, which follows
// until the test ends: all of its databases, those that are made later too.
func Replica(t testing.TB) *Server {
	t.Helper()
	primary := Start(t)
	dir, err := os.MkdirTemp(primary.Dir, "replica-")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Dir: dir, kind: primary.kind, bin: primary.bin}
	if os.Geteuid() == 0 {
		if err := run(exec.Command("chown", "postgres:", dir)); err != nil {
			t.Fatal(err)
		}
	}
	err = run(s.command("pg_basebackup", "-D", s.file("data"), "-R", "-X", "stream", "-c", "fast", "--no-sync", "-h", "127.0.0.1", "-p", primary.Port(), "-U", "postgres"))
	if err == nil {
		err = s.launch()
	}
	if err != nil {
		log, _ := os.ReadFile(s.file("log"))
		t.Fatalf("starting a replica: %v; its log: %s", err, log)
	}
	t.Cleanup(func() {
		stop := run(s.command("pg_ctl", "-D", s.file("data"), "-m", "immediate", "-w", "stop"))
		if err := errors.Join(stop, os.RemoveAll(dir)); err != nil {
			t.Errorf("ending a replica: %v", err)
		}
	})
	return s
}

// At is the address on this server of the database that another address names.
func (s *Server) At(t testing.TB, address string) string {
	t.Helper()
	return withDatabase(t, s.Address, strings.TrimPrefix(databaseOf(t, address), "/"))
}

// Exec runs one statement as the superuser on this server.
func (s *Server) Exec(t testing.TB, statement string) {
	t.Helper()
	admin(t, s.Address, statement)
}

// Exec runs one statement in the database at an address.
func Exec(t testing.TB, address, statement string) {
	t.Helper()
	admin(t, address, statement)
}

// databaseOf is the path of an address.
func databaseOf(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal("not an address of DSN's")
	}
	return u.Path
}
