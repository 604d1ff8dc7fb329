package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/figures"
	"github.com/teammem/teammem/server/leak"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/rest"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/memory"
)

const repo api.RepoSlug = "acme/widgets"

// server is the whole server but its sockets: the handler, the rules, the store in
// memory.
type server struct {
	w       *world
	db      *memory.Store
	handler http.Handler
	who     auth.Caller
	backups []memory.Snapshot
	lives   int // epochs begun
	puts    int // that changed something
}

func newServer(w *world) (*server, error) {
	s := &server{w: w, db: memory.New()}
	org, err := s.db.CreateOrganization(context.Background(), store.Organization{UID: "org_1", Name: "acme"})
	if err != nil {
		return nil, err
	}
	token, err := s.db.CreateToken(context.Background(), store.Token{UID: "tok_1", Org: org.ID, UserName: "dana", Role: api.Member})
	if err != nil {
		return nil, err
	}
	s.who = auth.Caller{Org: org.ID, OrgUID: org.UID, User: token.User, UserName: "dana", Token: token.ID, TokenUID: token.UID, Role: api.Member}
	quiet := slog.New(slog.DiscardHandler)
	clock := func() time.Time { return w.clock }
	rules := ledger.New(quiet, s.db, clock, api.DefaultLimits, nil, nil)
	s.handler, err = rest.New(quiet, rules, s, s.db, nil, nil, leak.New(quiet, s.db, rules, clock, nil, nil), nil, figures.New(quiet, s.db, clock), rest.DefaultConfig())
	s.begin()
	return s, err
}

// Authenticate takes everybody for dana: rights are not what is tried here.
func (s *server) Authenticate(context.Context, auth.Credentials) (auth.Caller, error) {
	return s.who, nil
}

func (s *server) Refused(auth.Refusal) {}

func (s *server) begin() {
	s.lives++
	s.db.SetEpoch(api.Epoch(fmt.Sprintf("life-%d", s.lives)))
}

func (s *server) ref() store.RepoRef { return store.RepoRef{Org: s.who.Org, Slug: repo} }

func (s *server) head() store.Head {
	head, err := s.db.Head(context.Background(), s.ref())
	if err != nil {
		panic(err)
	}
	return head
}

// live is what stands at the server.
func (s *server) live() map[api.Key]string {
	view, err := s.db.View(context.Background(), s.ref(), 0)
	if err != nil {
		panic(err)
	}
	all := map[api.Key]string{}
	for _, row := range view.Rows {
		if !row.Deleted {
			all[row.Key] = s.body(row.Checksum)
		}
	}
	return all
}

func (s *server) body(sum api.Checksum) (text string) {
	err := s.db.Bodies(context.Background(), s.who.Org, []api.Checksum{sum}, func(_ api.Checksum, content []byte) error {
		text = string(content)
		return nil
	})
	if err != nil {
		panic(err)
	}
	return text
}

// past is the whole history, oldest first.
func (s *server) past() []store.Past {
	past, err := s.db.History(context.Background(), s.ref(), "", 0, 1<<20)
	if err != nil {
		panic(err)
	}
	for i, j := 0, len(past)-1; i < j; i, j = i+1, j-1 {
		past[i], past[j] = past[j], past[i]
	}
	return past
}

// letter is a request as it travels: it may arrive twice, or much later.
type letter struct {
	from, method, url string
	header            http.Header
	body              []byte
}

func (s *server) deliver(l letter) *http.Response {
	req := httptest.NewRequest(l.method, l.url, bytes.NewReader(l.body))
	req.Header = l.header.Clone()
	before, version := s.db.Snapshot(), s.head().Version
	rec := httptest.NewRecorder()
	s.handler.ServeHTTP(rec, req)
	if s.head().Version != version {
		s.puts++
		if s.w.fault == faultAckLost && s.w.chance(0.05) {
			s.db.Restore(before)
		}
	}
	return rec.Result()
}

// wire is one client's way to the server.
type wire struct{ m *machine }

var errReset = errors.New("connection reset by peer")

// RoundTrip carries a request, with the faults that the seed wants.
func (t wire) RoundTrip(req *http.Request) (*http.Response, error) {
	t.m.step()
	w := t.m.w
	l := letter{from: t.m.name, method: req.Method, url: req.URL.String(), header: req.Header.Clone()}
	if req.Body != nil {
		var err error
		if l.body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	l = w.onTheWay(l)
	resp, err := t.carry(l)
	if err == nil && l.method == http.MethodPut {
		w.logf("%s: PUT %s: %d, version %d", t.m.name, show(string(l.body)), resp.StatusCode, w.server.head().Version)
	}
	t.m.step()
	return resp, err
}

func (t wire) carry(l letter) (*http.Response, error) {
	w := t.m.w
	put := l.method == http.MethodPut
	switch {
	case w.chance(0.04): // never arrives, or after the client has given up
		if put && w.chance(0.5) {
			w.late = append(w.late, l)
		}
		w.logf("%s: %s lost", t.m.name, l.method)
		return nil, errReset
	case w.chance(0.02):
		return &http.Response{StatusCode: http.StatusBadGateway, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil))}, nil
	}
	resp := w.server.deliver(l)
	switch {
	case put && w.chance(0.05):
		w.logf("%s: PUT doubled", t.m.name)
		if again := w.server.deliver(l); w.chance(0.5) {
			resp = again
		}
	case put && w.chance(0.03):
		w.late = append(w.late, l)
	}
	if w.chance(0.05) {
		w.logf("%s: reply to %s lost (%d)", t.m.name, l.method, resp.StatusCode)
		return nil, errReset
	}
	return resp, nil
}
