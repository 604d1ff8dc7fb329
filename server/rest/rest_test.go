package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/events"
	"github.com/teammem/teammem/server/figures"
	"github.com/teammem/teammem/server/leak"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/reading"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/memory"
)

// box is a whole server on the store in memory, without a listener unless a test
// wants one.
type box struct {
	t       testing.TB
	store   *memory.Store
	leaks   *leak.Desk
	db      store.Store // what the handler uses; store, or a test's wrapper of it
	handler *Handler
	log     *lockedBuffer
	member  string
	viewer  string
	foreign string // a member of another organization
}

// newBox builds a box; change may alter the configuration, wrap the store.
func newBox(t testing.TB, change func(*Config), wrap func(store.Store) store.Store) *box {
	t.Helper()
	b := &box{t: t, store: memory.New(), log: &lockedBuffer{}}
	b.db = b.store
	if wrap != nil {
		b.db = wrap(b.store)
	}
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	log := slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	who := auth.New(log, b.db, time.Now, auth.Config{Failures: -1})
	t.Cleanup(who.Close)
	hub := events.New(time.Minute)
	listening, stop := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { hub.Run(listening) })
	t.Cleanup(func() { stop(); parts.Wait() })
	var err error
	rules := ledger.New(log, b.db, time.Now, cfg.Limits, oneScanner(), hub.Publish)
	numbers := figures.New(log, b.db, time.Now)
	rules.Count(numbers.Count)
	b.leaks = leak.New(log, b.db, rules, time.Now, nil, nil)
	parts.Go(func() { b.leaks.Run(listening) })
	b.handler, err = New(log, rules, who, b.db, hub, organization.New(b.db, time.Now, who.Forget), b.leaks, reading.New(rules), numbers, cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.member = b.token("acme", "dana", api.Member)
	b.viewer = b.token("acme", "robot", api.Viewer)
	b.foreign = b.token("other", "eve", api.Member)
	return b
}

// oneScanner has all rules; reading them takes a while.
var oneScanner = sync.OnceValue(func() *scan.Scanner {
	scanner, err := scan.New(scan.Options{})
	if err != nil {
		panic(err)
	}
	return scanner
})

func (b *box) token(org, user string, role api.Role) string {
	b.t.Helper()
	ctx := context.Background()
	o, err := b.store.Organization(ctx, org)
	if err != nil {
		if o, err = b.store.CreateOrganization(ctx, auth.NewOrganization(org, time.Now())); err != nil {
			b.t.Fatal(err)
		}
	}
	secret, token := auth.NewToken(o.ID, user, role, time.Now(), time.Time{})
	if _, err := b.store.CreateToken(ctx, token); err != nil {
		b.t.Fatal(err)
	}
	return secret
}

// exampleOf is a request of a route that is answered 200 on the repo of these
// tests, which holds a.md with the text "a".
func exampleOf(route api.Route) (target, body string) {
	target = route.Pattern + "?repo=acme/widgets"
	switch route.Operation {
	case "setMember":
		target, body = route.Pattern+"?name=lee", `{"role":"viewer"}`
	case "removeMember":
		target = route.Pattern + "?name=lee"
	case "setGroup":
		target, body = route.Pattern+"?name=staff", `{"role":"viewer"}`
	case "removeGroup":
		target = route.Pattern + "?name=staff"
	case "setGrant":
		target, body = route.Pattern+"?kind=everyone&pattern=none/*", `{"role":"none"}`
	case "removeGrant":
		target = route.Pattern + "?kind=everyone&pattern=none/*"
	case "createToken":
		body = `{"label":"an example"}`
	case "revokeToken":
		target = route.Pattern + "?id=tok_example"
	case "renameRepo":
		target, body = route.Pattern+"?repo=acme/old", `{"to":"acme/new"}`
	case "forgetRepoName":
		target = route.Pattern + "?repo=acme/old"
	case "changeOrganization":
		body = `{"maxRepos":100}`
	case "editEntry":
		body = `{"key":"edited.md","content":"a","baseChecksum":null}`
	case "reportClient":
		body = `{"id":"one","state":"running","started":"2026-11-30T12:00:00Z","at":1}`
	case "moveEntry":
		body = `{"key":"edited.md","to":"moved.md"}`
	case "getEntry", "getDiff", "getLinks", "getBlame":
		target += "&key=a.md"
	case "search":
		target += "&q=a"
	case "digest":
		target += "&since=2026-01-01"
	case "putTeamMemory":
		body = `{"entries":{"a.md":"a"}}`
	case "setPolicy":
		body = `{"verdicts":{"personal":"flag"}}`
	case "acceptFinding":
		body = `{"fingerprint":"0123456789abcdef","rule":"generic","reason":"a sample"}`
	case "forgetFinding":
		target += "&fingerprint=0123456789abcdef"
	case "restoreEntry":
		body = `{"key":"a.md","version":1}`
	case "redact":
		body = `{"repo":"acme/widgets","key":"a.md","reason":"an example","dryRun":true}`
	case "startScan":
		body = `{}`
	}
	return target, body
}

const repoPath = api.PathTeamMemory + "?repo=acme/widgets"

// request is one request of a test; headers come in pairs.
func (b *box) request(method, target, token, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body == "" {
		r.Body = http.NoBody
		r.ContentLength = 0
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func (b *box) do(method, target, token, body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, b.request(method, target, token, body, headers...))
	return w
}

// put writes entries on whatever stands, and fails the test when it cannot.
func (b *box) put(entries map[api.Key]string) *httptest.ResponseRecorder {
	b.t.Helper()
	body, err := json.Marshal(api.Push{Entries: entries})
	if err != nil {
		b.t.Fatal(err)
	}
	var ifMatch []string
	if tag := b.do(http.MethodHead, repoPath, b.member, "").Header().Get("ETag"); tag != "" {
		ifMatch = []string{"If-Match", tag}
	}
	w := b.do(http.MethodPut, repoPath, b.member, string(body), ifMatch...)
	if w.Code != http.StatusOK {
		b.t.Fatalf("PUT: %d %s", w.Code, w.Body)
	}
	return w
}

func decode[T any](t *testing.T, body io.Reader) (v T) {
	t.Helper()
	if err := json.NewDecoder(body).Decode(&v); err != nil {
		t.Fatalf("the answer is not the JSON wanted: %v", err)
	}
	return v
}

// wantError checks status, type and error_code of an answer.
func wantError(t *testing.T, w *httptest.ResponseRecorder, status int, code api.Code, errorCode string) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	body := decode[api.ErrorBody](t, bytes.NewReader(w.Body.Bytes()))
	if body.Error.Type != code || body.Error.Details.ErrorCode != errorCode {
		t.Errorf("error %s %s, want %s %s", body.Error.Type, body.Error.Details.ErrorCode, code, errorCode)
	}
	if body.Error.Message == "" {
		t.Error("the error has no message")
	}
	if id := w.Header().Get(api.HeaderRequestID); id == "" || body.Error.Details.RequestID != id {
		t.Errorf("request id %q in the body, %q in the header", body.Error.Details.RequestID, id)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestWhatIsPutIsGot(t *testing.T) {
	b := newBox(t, nil, nil)
	entries := map[api.Key]string{
		"MEMORY.md":       "- [a](a.md)\r\n",
		"a.md":            "\ufeffwith a \"quote\", a \\ and \u2028 and \x00 and é and 🙂\n",
		"dir/empty.md":    "",
		"with space €.md": "tab\there",
	}
	put := decode[api.PushResult](t, b.put(entries).Body)
	got := b.do(http.MethodGet, repoPath, b.member, "") // whose control character others are not served
	memory := decode[api.Memory](t, got.Body)
	if !maps.Equal(memory.Content.Entries, entries) {
		t.Errorf("got %q, want %q", memory.Content.Entries, entries)
	}
	for key, text := range entries {
		if sum := memory.Content.EntryChecksums[key]; sum != api.ChecksumOfString(text) {
			t.Errorf("checksum of %s is %s", key, sum)
		}
	}
	if memory.Version != 1 || put.Version != 1 || memory.Checksum != put.Checksum || memory.Epoch != put.Epoch || memory.Epoch == "" {
		t.Errorf("GET says %+v, PUT said %+v", memory, put)
	}
	if tag := got.Header().Get("ETag"); tag != put.Checksum.ETag() {
		t.Errorf("ETag %s, want %s", tag, put.Checksum.ETag())
	}
	if v := got.Header().Get(api.HeaderVersion); v != "1" {
		t.Errorf("%s is %q", api.HeaderVersion, v)
	}
}
