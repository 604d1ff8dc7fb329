package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

const (
	longestStint = 250 * time.Millisecond // of writing, before the kill
	recoveryTime = 2 * time.Second        // from the start to ready, wanted
	recoveryWait = time.Minute            // and waited for
)

// victim is a server that is killed and started again.
type victim struct {
	*wire
	flags  []string
	server *process
	ready  []time.Duration // how long each start took
}

func newVictim(t *testing.T, database string) *victim {
	t.Helper()
	dir := t.TempDir()
	if database == "" {
		database = "sqlite://" + filepath.Join(dir, "crash.db")
	}
	return launched(t, program(t, "server"), dir, database)
}

func launched(t *testing.T, path, dir, database string) *victim {
	t.Helper()
	v := &victim{flags: []string{"--data", dir, "--database", database}}
	server := start(t, exec.Command(path, append([]string{"--listen", "127.0.0.1:0"}, v.flags...)...))
	address := server.address(t)
	token := output(t, exec.Command(path, append([]string{"token", "create", "--org", "local", "--user", "dana", "--role", "member"}, v.flags...)...))
	v.wire, v.server = newWire(address, strings.TrimSpace(token)), server
	return v
}

// newVictimIn is a server of programs with all its data in dir.
func newVictimIn(t *testing.T, programs, dir string) *victim {
	t.Helper()
	return launched(t, filepath.Join(programs, "server"), dir, "sqlite://"+filepath.Join(dir, "crash.db"))
}

// readiness is how long the starts took: the middle one, and the longest.
func (v *victim) readiness() (middle, last time.Duration) {
	slices.Sort(v.ready)
	return v.ready[len(v.ready)/2], v.ready[len(v.ready)-1]
}

// launch starts the server without waiting.
func (v *victim) launch(t *testing.T) {
	t.Helper()
	v.client.CloseIdleConnections()
	listen := strings.TrimPrefix(v.url, "http://")
	v.server = start(t, exec.Command(program(t, "server"), append([]string{"--listen", listen}, v.flags...)...))
}

// awaitReady waits until it serves, and notes how long that took.
func (v *victim) awaitReady(t *testing.T, since time.Time) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recoveryWait)
	defer cancel()
	if err := v.wire.ready(ctx); err != nil {
		t.Fatalf("the server is not ready %s after its start: %s", recoveryWait, v.server.said())
	}
	v.ready = append(v.ready, time.Since(since))
}

// wait is a time to write in, or to start in.
func wait(most time.Duration) { <-time.After(rand.N(most)) }

// killServer kills the server, starts it, and sometimes kills it while it starts.
func (v *victim) killServer(t *testing.T, cycle int) {
	v.server.kill()
	if cycle%4 == 3 {
		v.launch(t)
		wait(50 * time.Millisecond)
		v.server.kill()
	}
	begun := time.Now()
	v.launch(t)
	v.awaitReady(t, begun)
}

// cycles writes and kills, and holds all stints against what is there: each after
// its kill, and all at the end.
func (v *victim) cycles(t *testing.T, n int, kill func(t *testing.T, cycle int)) {
	t.Helper()
	var stints []*stint
	acked := 0
	for cycle := range n {
		seed := rand.Uint64()
		s := interrupted(v.wire, fmt.Sprintf("crash/cycle-%d", cycle), seed, func() {
			wait(longestStint)
			kill(t, cycle)
		})
		if err := s.check(t.Context(), v.wire); err != nil {
			t.Fatalf("cycle %d, seed %d: %v", cycle, seed, err)
		}
		stints, acked = append(stints, s), acked+s.acked()
	}
	for _, s := range stints {
		if err := s.check(t.Context(), v.wire); err != nil {
			t.Fatalf("at the end: %v", err)
		}
	}
	middle, last := v.readiness()
	t.Logf("%d cycles, %d acknowledged writes, none lost; ready after %s, at most %s", n, acked, middle.Round(time.Millisecond), last.Round(time.Millisecond))
	if acked == 0 {
		t.Error("nothing was acknowledged, so nothing is shown")
	}
	if middle > recoveryTime {
		t.Errorf("the server is ready %s after its start, want %s", middle, recoveryTime)
	}
}

func TestKilledServer(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		v := newVictim(t, "")
		v.cycles(t, cycles(t, 10), v.killServer)
	})
	t.Run("postgres", func(t *testing.T) {
		v := newVictim(t, pgtest.Start(t, pgtest.Durable()).Database(t))
		v.cycles(t, cycles(t, 10), v.killServer)
	})
}

// The server lives on while its database is killed: it is not ready, and then is
// again by itself.
func TestKilledDatabase(t *testing.T) {
	database := pgtest.Start(t, pgtest.Durable())
	v := newVictim(t, database.Database(t))
	v.cycles(t, cycles(t, 5), func(t *testing.T, _ int) {
		database.Kill(t)
		database.Relaunch(t)
		v.awaitReady(t, time.Now())
	})
}

// A proxy that acknowledges a PUT before it has forwarded it must be found out.
func TestAckBeforeCommitIsCaught(t *testing.T) {
	v := newVictim(t, "")
	hasty := newHasty(t, v.wire)
	// Left in peace it loses nothing, and is not blamed.
	s := interrupted(hasty, "crash/peace", rand.Uint64(), func() { wait(longestStint) })
	for deadline := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		err := s.check(t.Context(), v.wire)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("without a kill: %v", err)
		}
	}
	for cycle := range 20 {
		s := interrupted(hasty, fmt.Sprintf("crash/hasty-%d", cycle), rand.Uint64(), func() {
			wait(longestStint)
			v.killServer(t, cycle)
		})
		if err := s.check(t.Context(), v.wire); err != nil {
			t.Logf("caught in cycle %d: %v", cycle, err)
			return
		}
	}
	t.Error("a server that acknowledges before it commits is not found out")
}

// newHasty is a way to a server on which PUTs are answered at once and forwarded
// one after the other.
func newHasty(t *testing.T, to *wire) *wire {
	t.Helper()
	type put struct {
		repo string
		body []byte
	}
	waiting := make(chan put, 1<<16)
	var forwarding sync.WaitGroup
	forwarding.Go(func() {
		for p := range waiting {
			_, _ = to.do(context.Background(), http.MethodPut, p.repo, p.body)
		}
	})
	var mu sync.Mutex
	versions := map[string]api.Version{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		repo := r.URL.Query().Get("repo")
		mu.Lock()
		versions[repo]++
		version := versions[repo]
		waiting <- put{repo, body}
		mu.Unlock()
		_ = json.NewEncoder(w).Encode(api.PushResult{Version: version})
	}))
	t.Cleanup(func() { s.Close(); close(waiting); forwarding.Wait() })
	return newWire(s.URL, to.token)
}
