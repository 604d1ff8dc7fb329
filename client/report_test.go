package client_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
)

// told asks a server, as its admin may, what the client that it heard of last said of
// itself; zero where none did.
func told(t *testing.T, s *servertest.Server) func() api.ClientReport {
	t.Helper()
	asker, token := s.Client(), s.Token(api.Admin)
	return func() api.ClientReport {
		t.Helper()
		r, err := newGet(s.URL+api.PathClients, token)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := asker.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var list api.ClientList
		if err := json.NewDecoder(answer.Body).Decode(&list); err != nil {
			t.Fatal(err)
		}
		if len(list.Clients) == 0 {
			return api.ClientReport{}
		}
		return list.Clients[0].ClientReport
	}
}

func newGet(address, token string) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err == nil {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r, err
}

// A client says at its start how it is, and at its end that it has ended.
func TestAClientSaysHowItIs(t *testing.T) {
	s := servertest.Start(t)
	m, said := newMachine(t, s, "dana", "acme/widgets"), told(t, s)
	m.write("a.md", "what the repo is made with")
	stop := m.run()
	await(t, "the server is told that it runs", func() bool { return said().State == api.ClientRunning })
	stop()
	await(t, "the server is told that it has ended", func() bool { return said().State == api.ClientStopped })
}

// seededToken is what the scanner takes for a token.
func seededToken() string {
	letters := []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	rand.New(rand.NewPCG(4, 2)).Shuffle(len(letters), func(i, j int) { letters[i], letters[j] = letters[j], letters[i] })
	return "ghp" + "_" + string(letters[:36])
}

// A client says how many files are in step, how many edits wait, how many texts are in the
// keep, and how many files are held back.
func TestAClientCounts(t *testing.T) {
	s := servertest.Start(t)
	a, b := newMachine(t, s, "dana", "acme/widgets"), newMachine(t, s, "lee", "acme/widgets")
	a.write("clash.md", "first\n")
	a.once()
	b.once()
	b.write("clash.md", "theirs\n")
	b.once()
	a.write("clash.md", "mine\n") // the same line: one of both goes to the keep
	a.write("fine.md", "x")
	a.write("secret.md", "the key is "+seededToken())
	stop, said := a.run(), told(t, s)
	await(t, "the server is told", func() bool { return said().State == api.ClientRunning })
	stop()
	await(t, "the server is told that it has ended", func() bool { return said().State == api.ClientStopped })
	if got := said(); got.Files != 2 || got.Pending != 0 || got.Kept != 1 || got.Held != 1 {
		t.Errorf("%d in step, %d pending, %d kept, %d held", got.Files, got.Pending, got.Kept, got.Held)
	}
}

// A server that knows no such address is asked once and never again.
func TestAnOlderServerIsAskedOnce(t *testing.T) {
	s := servertest.Start(t)
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		if r.SetURL(to); r.In.URL.Path == api.PathClients {
			asked.Add(1)
			r.Out.URL.Path = "/api/v1/nothing-of-the-kind"
		}
	}}
	front := httptest.NewServer(http.HandlerFunc(proxy.ServeHTTP))
	t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
	m := newMachine(t, s, "dana", "acme/widgets").quick()
	var later atomic.Int64
	m.now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	m.cfg.Remote.Server = front.URL
	stop := m.run()
	await(t, "it is asked", func() bool { return asked.Load() == 1 })
	later.Add(int64(time.Hour))
	m.write("a.md", "an edit, with which the next word would be due")
	reader := newMachine(t, s, "lee", "acme/widgets")
	await(t, "the edit goes out", func() bool { reader.once(); return reader.read("a.md") != "" })
	stop()
	if n := asked.Load(); n != 1 {
		t.Errorf("it is asked %d times", n)
	}
}
