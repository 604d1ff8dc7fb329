package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

func TestEveryRouteHasAHandler(t *testing.T) {
	h := &Handler{}
	for _, routes := range [][]api.Route{
		append(append([]api.Route{}, api.Routes...), api.Route{Method: "GET", Pattern: "/x", Operation: "unheardOf"}),
		api.Routes[1:],
	} {
		h.router = chi.NewRouter()
		h.compress = func(next http.Handler) http.HandlerFunc { return next.ServeHTTP }
		if err := h.mount(routes); err == nil {
			t.Error("routes and handlers that do not fit each other are mounted")
		}
	}
}

func TestErrorsWithoutARouteAreJSONToo(t *testing.T) {
	b := newBox(t, nil, nil)
	tests := []struct {
		method, path, allow string
		status              int
	}{
		{"GET", "/", "", 404},
		{"GET", "/api/claude_code/team_memory/", "", 404},
		{"GET", "//api/claude_code/team_memory", "", 404},
		{"BREW", "/nowhere", "", 404},
		{"OPTIONS", "*", "", 404},
		{"POST", api.PathTeamMemory, "GET, HEAD, PUT", 405},
		{"DELETE", api.PathTeamMemory, "GET, HEAD, PUT", 405},
		{"BREW", api.PathTeamMemory, "GET, HEAD, PUT", 405},
		{"PUT", api.PathWhoAmI, "GET, HEAD", 405},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			w := b.do(test.method, test.path, "", "")
			code, errorCode := api.NotFound, api.ErrorCodeNoRoute
			if test.status == http.StatusMethodNotAllowed {
				code, errorCode = api.InvalidRequest, api.ErrorCodeMethod
			}
			wantError(t, w, test.status, code, errorCode)
			if got := w.Header().Get("Allow"); got != test.allow {
				t.Errorf("Allow is %q, want %q", got, test.allow)
			}
		})
	}
}

// odd is a ledger that does what a test tells it to.
type odd struct {
	Ledger
	head func(ctx context.Context) (store.Head, error)
}

func (o odd) Head(ctx context.Context, _ ledger.Caller, _ api.RepoSlug) (store.Head, error) {
	return o.head(ctx)
}

func (b *box) askHead(head func(ctx context.Context) (store.Head, error)) func() (status int, retryAfter, body string) {
	b.handler.ledger = odd{b.handler.ledger, head}
	return func() (int, string, string) {
		w := b.do(http.MethodGet, repoPath, b.member, "", "If-None-Match", "*")
		return w.Code, w.Header().Get("Retry-After"), w.Body.String()
	}
}

// What will pass is a 503 that says when to come back; what will not tells
// nothing of its cause.
func TestFaults(t *testing.T) {
	tests := []struct {
		name   string
		fault  func(context.Context) (store.Head, error)
		status int
		logged string
	}{
		{"busy", func(context.Context) (store.Head, error) { return store.Head{}, fmt.Errorf("x: %w", store.ErrBusy) }, 503, "busy"},
		{"too long", func(ctx context.Context) (store.Head, error) { <-ctx.Done(); return store.Head{}, ctx.Err() }, 503, "deadline"},
		{"unknown", func(context.Context) (store.Head, error) { return store.Head{}, errors.New("hidden cause") }, 500, "hidden cause"},
		{"panic", func(context.Context) (store.Head, error) { panic(errors.New("hidden panic")) }, 500, "hidden panic"},
		{"panic with a text", func(context.Context) (store.Head, error) { panic("may be a memory") }, 500, "panic with a string"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBox(t, func(c *Config) { c.Request = 50 * time.Millisecond }, nil)
			status, retryAfter, body := b.askHead(test.fault)()
			if status != test.status || (status == 503) != (retryAfter != "") {
				t.Errorf("status %d, Retry-After %q", status, retryAfter)
			}
			if strings.Contains(body, "hidden") || !strings.Contains(body, `"request_id"`) {
				t.Errorf("the caller is told %s", body)
			}
			if log := b.log.String(); !strings.Contains(log, test.logged) || strings.Contains(log, "may be a memory") {
				t.Errorf("the log says %s", log)
			}
		})
	}
}

func TestMoreRequestsThanAllowedAreShed(t *testing.T) {
	b := newBox(t, func(c *Config) { c.InFlight = 2 }, nil)
	inside, leave := make(chan struct{}), make(chan struct{})
	ask := b.askHead(func(context.Context) (store.Head, error) {
		inside <- struct{}{}
		<-leave
		return store.Head{}, store.ErrBusy
	})
	done := make(chan struct{})
	for range 2 {
		go func() { ask(); done <- struct{}{} }()
		<-inside
	}
	w := b.do(http.MethodGet, repoPath, b.member, "")
	wantError(t, w, http.StatusServiceUnavailable, api.Overloaded, api.ErrorCodeBusy)
	if w.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	for _, probe := range []string{api.PathHealth, api.PathReady} {
		if w := b.do(http.MethodGet, probe, "", ""); w.Code != http.StatusOK {
			t.Errorf("%s is shed: %d", probe, w.Code)
		}
	}
	close(leave)
	<-done
	<-done
	if w := b.do(http.MethodGet, api.PathWhoAmI, b.member, ""); w.Code != http.StatusOK {
		t.Errorf("places are not given back: %d", w.Code)
	}
}

// Bodies share a budget. One that does not get its part in time is a 503; the
// part is given back whatever becomes of the call.
func TestMemoryOfBodiesIsBounded(t *testing.T) {
	b := newBox(t, func(c *Config) { c.Memory = 1 << 20; c.Request = 100 * time.Millisecond }, nil)
	if !b.handler.memory.TryAcquire(1 << 20) {
		t.Fatal("the budget is not what was configured")
	}
	put := func() int { return b.do(http.MethodPut, repoPath, b.member, `{"entries":{"a.md":"a"}}`).Code }
	if status := put(); status != http.StatusServiceUnavailable {
		t.Errorf("status %d without memory", status)
	}
	b.handler.memory.Release(1 << 20)
	for range 3 {
		if status := put(); status != http.StatusOK {
			t.Errorf("status %d with memory", status)
		}
		b.do(http.MethodPut, repoPath, b.member, "not JSON")
		b.do(http.MethodPut, repoPath, b.member, "not gzip", "Content-Encoding", "gzip")
	}
	if !b.handler.memory.TryAcquire(1 << 20) {
		t.Error("memory is not given back")
	}
}

// One who holds as much as one caller may, with bodies that never end, is told to come
// back; everybody else is served, and so is that one when the bodies are over.
func TestOneCallerLeavesRoomForOthers(t *testing.T) {
	b := newBox(t, func(c *Config) { c.Memory = 16 << 20; c.Request = 200 * time.Millisecond }, nil)
	who, err := b.handler.auth.Authenticate(t.Context(), auth.Credentials{Authorization: "Bearer " + b.member})
	if err != nil {
		t.Fatal(err)
	}
	mine, leave, err := b.handler.shares.enter(who.User)
	if err != nil {
		t.Fatal(err)
	}
	release, err := mine.acquire(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	put := func(token, key string) *httptest.ResponseRecorder {
		return b.do(http.MethodPut, repoPath, token, `{"entries":{"`+key+`":"a"}}`)
	}
	w := put(b.member, "a.md")
	wantError(t, w, http.StatusServiceUnavailable, api.Overloaded, api.ErrorCodeBusy)
	if !strings.Contains(w.Body.String(), "of yours") && !strings.Contains(w.Body.String(), "your bodies") {
		t.Errorf("it does not say whose: %s", w.Body)
	}
	if w := put(b.foreign, "b.md"); w.Code != http.StatusOK {
		t.Errorf("another is answered %d: %s", w.Code, w.Body)
	}
	release()
	if w := put(b.member, "a.md"); w.Code != http.StatusOK {
		t.Errorf("with memory given back: %d: %s", w.Code, w.Body)
	}
	var inside []func()
	for range b.handler.shares.calls - 1 {
		_, out, err := b.handler.shares.enter(who.User)
		if err != nil {
			t.Fatal(err)
		}
		inside = append(inside, out)
	}
	wantError(t, b.do(http.MethodGet, repoPath, b.member, ""), http.StatusServiceUnavailable, api.Overloaded, api.ErrorCodeBusy)
	if w := b.do(http.MethodGet, repoPath, b.foreign, ""); w.Code != http.StatusOK {
		t.Errorf("another is answered %d: %s", w.Code, w.Body)
	}
	for _, out := range append(inside, leave) {
		out()
	}
	if w := b.do(http.MethodGet, repoPath, b.member, ""); w.Code != http.StatusOK {
		t.Errorf("places are not given back: %d", w.Code)
	}
	if n := len(b.handler.shares.held); n != 0 {
		t.Errorf("%d callers are remembered who have nothing under way", n)
	}
}

func TestReadiness(t *testing.T) {
	b := newBox(t, nil, nil)
	if w := b.do(http.MethodGet, api.PathReady, "", ""); w.Code != http.StatusOK {
		t.Errorf("ready: %d %s", w.Code, w.Body)
	}
	b.handler.Drain()
	wantError(t, b.do(http.MethodGet, api.PathReady, "", ""), http.StatusServiceUnavailable, api.Overloaded, api.ErrorCodeBusy)
	if w := b.do(http.MethodGet, api.PathHealth, "", ""); w.Code != http.StatusOK {
		t.Errorf("a draining server is alive: %d", w.Code)
	}
}

func TestRequestIDs(t *testing.T) {
	b := newBox(t, nil, nil)
	ours := regexp.MustCompile(`^[a-z0-9]{10}-[0-9a-z]+$`)
	seen := map[string]bool{}
	for given, kept := range map[string]bool{
		"":                          false,
		"abc-123_4.5":               true,
		"with space":                false,
		"line\nbreak":               false,
		"<script>":                  false,
		strings.Repeat("a", 64):     true,
		strings.Repeat("a", 65):     false,
		"é":                         false,
		"\x1b[31mred":               false,
		`{"json":"quote"}`:          false,
		"550e8400-e29b-41d4-a716-4": true,
	} {
		id := b.do(http.MethodGet, api.PathHealth, "", "", api.HeaderRequestID, given).Header().Get(api.HeaderRequestID)
		if kept != (id == given) || !kept && !ours.MatchString(id) || seen[id] {
			t.Errorf("given %q, the id is %q", given, id)
		}
		seen[id] = true
	}
}

func TestTheLogHasOneLineARequestAndNoSecret(t *testing.T) {
	b := newBox(t, nil, nil)
	b.do(http.MethodPut, repoPath+"&secret=querysecret", b.member, `{"entries":{"a.md":"bodysecret"}}`, "X-Other", "headersecret", api.HeaderClient, "dana-mbp")
	b.do(http.MethodPut, repoPath, b.member, `{"entries":{"../keysecret":"bodysecret"}}`)
	b.do(http.MethodGet, "/pathsecret", "tm_tokensecret", "")
	b.do(http.MethodGet, repoPath, "tm_tokensecret", "")
	log := b.log.String()
	if lines := strings.Count(log, "\n"); lines != 4 {
		t.Errorf("%d lines:\n%s", lines, log)
	}
	for _, secret := range []string{"querysecret", "bodysecret", "headersecret", "keysecret", "pathsecret", "tokensecret", b.member} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %s:\n%s", secret, log)
		}
	}
	for _, wanted := range []string{
		`"method":"PUT"`, `"operation":"putTeamMemory"`, `"status":200`, `"repo":"acme/widgets"`, `"organization":"acme"`,
		`"user":"dana"`, `"client":"dana-mbp"`, `"request_id"`, `"duration"`, `"bytes"`, `"error":"team_memory_bad_key"`, `"operation":"none"`,
	} {
		if !strings.Contains(log, wanted) {
			t.Errorf("the log lacks %s:\n%s", wanted, log)
		}
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	b := newBox(t, nil, nil)
	for _, target := range []string{api.PathHealth, api.PathWellKnown, api.PathOpenAPI, repoPath, "/nowhere"} {
		header := b.do(http.MethodGet, target, b.member, "").Header()
		if header.Get("Cache-Control") != "no-store" || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v", target, header)
		}
	}
}
