//go:build unix

package pgtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// EndSessions ends the sessions of a database that give the application name, and
// tells how many there were.
func EndSessions(t testing.TB, address, application string) (n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatalf("connecting to the test Postgres: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	const end = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`
	if err := conn.QueryRow(ctx, end, application).Scan(&n); err != nil {
		t.Fatalf("ending sessions: %v", err)
	}
	return n
}

// Database makes one more database on the server and gives its address. It is
// left to the server's end.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("teammem_kept_%d", numbers.Add(1))
	admin(t, s.Address, "CREATE DATABASE "+name+" ENCODING 'UTF8' LOCALE 'C.UTF-8' TEMPLATE template0")
	return withDatabase(t, s.Address, name)
}

// Kill ends all of the server's processes by kill -9, the first one first, as a
// crash of the machine would.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	text, err := os.ReadFile(s.file("data/postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	postmaster, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	// Held still it starts no child that would be overlooked.
	if err := syscall.Kill(postmaster, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	all := append([]int{postmaster}, childrenOf(postmaster)...)
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for deadline := time.Now().Add(30 * time.Second); ; <-time.After(time.Millisecond) {
		if !anyAlive(all) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the killed Postgres does not go away")
		}
	}
	// Where nobody waits for the dead their numbers stay taken, which a new server
	// would mistake for a running one.
	if err := os.Remove(s.file("data/postmaster.pid")); err != nil {
		t.Fatal(err)
	}
}

// Relaunch starts a server that was killed, at its old address. It recovers first.
func (s *Server) Relaunch(t testing.TB) {
	t.Helper()
	port, err := strconv.Atoi(s.Port())
	if err == nil {
		err = s.launchAt(port)
	}
	if err != nil {
		log, _ := os.ReadFile(s.file("log"))
		t.Fatalf("starting Postgres again: %v; its log: %s", err, log)
	}
}

// childrenOf reads the process table.
func childrenOf(parent int) (children []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if fields := processFields(pid); err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			children = append(children, pid)
		}
	}
	return children
}

// anyAlive leaves out what has ended and nobody has waited for.
func anyAlive(pids []int) bool {
	for _, pid := range pids {
		if fields := processFields(pid); len(fields) > 0 && fields[0] != "Z" && fields[0] != "X" {
			return true
		}
	}
	return false
}

// processFields are the fields of /proc/PID/stat after the name, which may hold
// anything: the state, the parent, and on.
func processFields(pid int) []string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}
