package client_test

import (
	"context"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/server/servertest"
)

// machine is one client's side: a directory and its state, for one repo at a
// server in a box.
type machine struct {
	t      *testing.T
	dir    string
	cfg    client.Config
	now    func() time.Time
	mu     sync.Mutex
	events []syncer.Event
}

func newMachine(t *testing.T, server *servertest.Server, user string, repo api.RepoSlug) *machine {
	t.Helper()
	token := server.TokenOf("local", user, api.Member)
	m := &machine{t: t, dir: filepath.Join(t.TempDir(), "team"), cfg: client.DefaultConfig, now: time.Now}
	m.cfg.Dir, m.cfg.StateDir, m.cfg.Repo = m.dir, t.TempDir(), repo
	m.cfg.Remote = remote.Options{
		Server: server.URL, Token: func() string { return token }, ClientName: user + "-box",
		Tries: 2, Pause: time.Millisecond,
	}
	return m
}

func (m *machine) tell(e syncer.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e)
}

func (m *machine) open() (*client.Session, error) {
	m.t.Helper()
	return client.Open(context.Background(), slog.New(slog.DiscardHandler), m.cfg, guard.ScanRules, m.now, m.tell)
}

// once runs one round, as client sync --once does.
func (m *machine) once() *syncer.Report {
	m.t.Helper()
	session, err := m.open()
	if err != nil {
		m.t.Fatalf("open: %v", err)
	}
	report, err := session.Once(context.Background())
	if err != nil {
		m.t.Errorf("round: %v", err)
	}
	if err := session.Close(); err != nil {
		m.t.Errorf("close: %v", err)
	}
	return report
}

// run keeps the machine in agreement until the test ends.
func (m *machine) run() (stop func()) {
	m.t.Helper()
	session, err := m.open()
	if err != nil {
		m.t.Fatalf("open: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- session.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				m.t.Errorf("run: %v", err)
			}
			if err := session.Close(); err != nil {
				m.t.Errorf("close: %v", err)
			}
		})
	}
	m.t.Cleanup(stop)
	return stop
}

func (m *machine) write(key, text string) {
	m.t.Helper()
	path := filepath.Join(m.dir, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) read(key string) string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, filepath.FromSlash(key)))
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return string(text)
}

// await polls for a condition that other goroutines bring about.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// eventsOf gives the events of a kind so far.
func (m *machine) eventsOf(kind syncer.EventKind) (found []syncer.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// wantEvents checks how often an event of a kind was told.
func (m *machine) wantEvents(kind syncer.EventKind, want int) {
	m.t.Helper()
	if got := m.eventsOf(kind); len(got) != want {
		m.t.Errorf("%d events %s, want %d: %+v", len(got), kind, want, got)
	}
}

// quick makes a machine's waits those of a test.
func (m *machine) quick() *machine {
	m.cfg.Debounce, m.cfg.Ceiling, m.cfg.Poll = 20*time.Millisecond, 200*time.Millisecond, 100*time.Millisecond
	return m
}

// arrives waits until a file holds a text.
func (m *machine) arrives(key, text string) {
	m.t.Helper()
	await(m.t, key+" holds "+text, func() bool { return m.read(key) == text })
}

// gate is a proxy before a server that counts what passes, and lets nothing pass
// that a test does not want to.
type gate struct {
	URL    string
	closed atomic.Bool // everything is answered with the page of a proxy
	gone   atomic.Bool // nothing is answered at all
	mu     sync.Mutex
	passed map[string]int // by method and path
	cut    func()         // breaks all connections
}

func newGate(t *testing.T, server *servertest.Server, stops func(*http.Request) bool) *gate {
	t.Helper()
	g := &gate{passed: map[string]int{}}
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.gone.Load() {
			panic(http.ErrAbortHandler)
		}
		if g.closed.Load() || stops != nil && stops(r) {
			http.Error(w, "<html>not here</html>", http.StatusNotFound)
			return
		}
		g.mu.Lock()
		g.passed[r.Method+" "+r.URL.Path]++
		g.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	g.URL, g.cut = front.URL, front.CloseClientConnections
	return g
}

// count says how many requests of a method to a path have passed.
func (g *gate) count(method, path string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.passed[method+" "+path]
}

func (g *gate) puts() int { return g.count(http.MethodPut, api.PathTeamMemory) }
