package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
)

// recordWire is where what a client and a server of today say to each other is written,
// for those to come to be held against: done once a release.
var recordWire = flag.String("record-wire", "", "write what client and server say in testdata/wire/script.txtar to this file")

// spoken is one request and its answer, as they were.
type spoken struct {
	User    string            `json:"user"`
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Status  int               `json:"status"`
	Answer  map[string]string `json:"answer,omitempty"` // its headers
	Text    string            `json:"text,omitempty"`
}

// The headers that are part of what is said.
var (
	askedHeaders    = []string{"If-Match", "If-None-Match", "Content-Type", "Content-Encoding", api.HeaderClient}
	answeredHeaders = []string{"Etag", "Content-Type", "Retry-After", api.HeaderVersion}
)

func some(from http.Header, names []string) map[string]string {
	kept := map[string]string{}
	for _, name := range names {
		if value := from.Get(name); value != "" {
			kept[name] = value
		}
	}
	return kept
}

func (s spoken) live() bool { return strings.HasPrefix(s.URL, api.PathEvents) }

// wireUsers are those of the script, with the words they are known by at a server that is
// not one.
var wireUsers = []string{"dana", "lee"}

// TestRecordWire records, where that is asked for.
func TestRecordWire(t *testing.T) {
	if *recordWire == "" {
		return // what was recorded is what the other tests are about
	}
	box := servertest.Start(t)
	r := &wireRecorder{box: box, users: map[string]string{}}
	tokens := map[string]string{}
	for _, user := range wireUsers {
		tokens[user] = box.TokenOf("local", user, api.Member)
		r.users["Bearer "+tokens[user]] = user
	}
	front := httptest.NewServer(r)
	t.Cleanup(front.Close)
	t.Run("script", func(t *testing.T) { runWireScript(t, front.URL, tokens) })
	var out bytes.Buffer
	for _, s := range r.all {
		line, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	if err := os.WriteFile(*recordWire, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runWireScript runs the script against a server.
func runWireScript(t *testing.T, address string, tokens map[string]string) {
	testscript.Run(t, testscript.Params{
		Files: []string{"testdata/wire/script.txtar"},
		Setup: func(env *testscript.Env) error {
			for user, token := range tokens {
				if err := os.WriteFile(filepath.Join(env.WorkDir, user+".token"), []byte(token+"\n"), 0o600); err != nil {
					return err
				}
			}
			env.Setenv("TEAMMEM_SERVER", address)
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("TZ", "UTC")
			return os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o755)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": checkStatus, "await": await},
	})
}

// wireRecorder stands before a server and notes what is said, in the order of the answers.
type wireRecorder struct {
	box   *servertest.Server
	users map[string]string // by their Authorization

	mu  sync.Mutex
	all []*spoken
}

func (r *wireRecorder) ServeHTTP(w http.ResponseWriter, asked *http.Request) {
	body, _ := io.ReadAll(asked.Body)
	s := &spoken{
		User: r.users[asked.Header.Get("Authorization")], Method: asked.Method, URL: asked.URL.RequestURI(),
		Headers: some(asked.Header, askedHeaders), Body: string(body),
	}
	on, err := http.NewRequestWithContext(asked.Context(), asked.Method, r.box.URL+s.URL, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	on.Header = asked.Header.Clone()
	on.Header.Set("Accept-Encoding", "identity")
	client := r.box.Client()
	client.Timeout = 0
	answer, err := client.Do(on)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	var text bytes.Buffer
	for chunk := make([]byte, 4096); ; {
		n, err := answer.Body.Read(chunk)
		text.Write(chunk[:n])
		_, _ = w.Write(chunk[:n])
		_ = http.NewResponseController(w).Flush()
		if err != nil {
			break
		}
	}
	r.mu.Lock()
	s.Status, s.Answer, s.Text = answer.StatusCode, some(answer.Header, answeredHeaders), keys.ReplaceAllString(text.String(), `${1}`+strings.Repeat("0", 64))
	r.all = append(r.all, s)
	r.mu.Unlock()
}

// keys are those by which an organization's findings are told apart. They are secrets.
var keys = regexp.MustCompile(`("fingerprintKey":")[0-9a-f]{64}`)

// recordings reads all that was recorded, by the name of the release.
func recordings(t *testing.T) map[string][]spoken {
	t.Helper()
	paths, _ := filepath.Glob("testdata/wire/*.jsonl")
	if len(paths) == 0 {
		t.Fatal("nothing was recorded")
	}
	all := map[string][]spoken{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			var s spoken
			if err := json.Unmarshal(line, &s); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
			all[name] = append(all[name], s)
		}
	}
	return all
}

// TestOlderServers: a client of today does its work with the answers of each recorded
// server.
func TestOlderServers(t *testing.T) {
	for name, said := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			server := &parrot{said: said, used: make([]bool, len(said)), gone: make(chan struct{})}
			front := httptest.NewServer(server)
			t.Cleanup(func() { close(server.gone); front.Close() })
			runWireScript(t, front.URL, map[string]string{"dana": "tm_dana", "lee": "tm_lee"})
		})
	}
}

// parrot answers as a server did that was recorded.
type parrot struct {
	said []spoken
	gone chan struct{}

	mu   sync.Mutex
	used []bool
}

func (p *parrot) ServeHTTP(w http.ResponseWriter, asked *http.Request) {
	_, _ = io.Copy(io.Discard, asked.Body)
	s, ok := p.choose(asked)
	if !ok {
		// What a client of today asks beyond that the older server did not know.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"type":"not_found_error","message":"there is no such route"}}`)
		return
	}
	for name, value := range s.Answer {
		w.Header().Set(name, value)
	}
	w.WriteHeader(s.Status)
	_, _ = io.WriteString(w, s.Text)
	if s.live() {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-asked.Context().Done():
		case <-p.gone:
		}
	}
}

// choose finds the answer to the same question, rather one to the same precondition, and
// rather the next one than one that was given.
func (p *parrot) choose(asked *http.Request) (spoken, bool) {
	user := strings.TrimPrefix(asked.Header.Get("Authorization"), "Bearer tm_")
	p.mu.Lock()
	defer p.mu.Unlock()
	best, bestScore := -1, -1
	for i, s := range p.said {
		if s.User != user || s.Method != asked.Method || s.URL != asked.URL.RequestURI() {
			continue
		}
		score := 0
		if s.Headers["If-None-Match"] == asked.Header.Get("If-None-Match") {
			score += 4
		}
		if !p.used[i] {
			score += 2
		}
		// Of those that were given the last one counts, of the others the first.
		if score > bestScore || score == bestScore && p.used[i] {
			best, bestScore = i, score
		}
	}
	if best < 0 {
		return spoken{}, false
	}
	p.used[best] = true
	return p.said[best], true
}

// TestOlderClients: a server of today answers each recorded client what it was answered.
// There may be more in an answer than there was, and never less or something else.
func TestOlderClients(t *testing.T) {
	for name, said := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			box := servertest.Start(t)
			tokens := map[string]string{}
			for _, user := range wireUsers {
				tokens[user] = box.TokenOf("local", user, api.Member)
			}
			for i, s := range said {
				if s.live() {
					continue // a stream has no end; what it tells is what the next question is answered
				}
				got, text := askAgain(t, box, tokens[s.User], s)
				where := fmt.Sprintf("question %d, %s %s of %s", i+1, s.Method, s.URL, s.User)
				if got.StatusCode != s.Status {
					t.Fatalf("%s: answered %d, was %d: %s", where, got.StatusCode, s.Status, text)
				}
				for name, was := range s.Answer {
					if name == "Content-Type" || name == "Etag" || name == api.HeaderVersion {
						if is := got.Header.Get(name); is != was {
							t.Errorf("%s: the header %s is %q, was %q", where, name, is, was)
						}
					}
				}
				if s.Text != "" {
					sameJSON(t, where, s, text)
				}
			}
		})
	}
}

func askAgain(t *testing.T, box *servertest.Server, token string, s spoken) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), s.Method, box.URL+s.URL, strings.NewReader(s.Body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range s.Headers {
		r.Header.Set(name, value)
	}
	if s.User != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := box.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, text
}

// passing are fields whose value is of one server, database or moment.
var passing = []string{"organizationId", "epoch", "lastModified", "request_id", "at", "tokenId", "fingerprintKey"}

func sameJSON(t *testing.T, where string, s spoken, text []byte) {
	t.Helper()
	var was, is any
	if json.Unmarshal([]byte(s.Text), &was) != nil {
		if s.Text != string(text) {
			t.Errorf("%s: answered %q, was %q", where, text, s.Text)
		}
		return
	}
	if err := json.Unmarshal(text, &is); err != nil {
		t.Errorf("%s: the answer is no JSON: %s", where, text)
		return
	}
	// What a server says of itself may change, but not what it is made of.
	values := !strings.HasPrefix(s.URL, api.PathWellKnown)
	for _, difference := range less("", was, is, values) {
		t.Errorf("%s: %s", where, difference)
	}
}

// less lists what of was is not in is as it was.
func less(at string, was, is any, values bool) (all []string) {
	switch was := was.(type) {
	case map[string]any:
		now, ok := is.(map[string]any)
		if !ok {
			return []string{at + " is no object any more"}
		}
		for _, name := range slices.Sorted(maps.Keys(was)) {
			here := at + "/" + name
			if _, there := now[name]; !there {
				all = append(all, here+" is missing")
			} else {
				all = append(all, less(here, was[name], now[name], values && !slices.Contains(passing, name))...)
			}
		}
	case []any:
		now, ok := is.([]any)
		if !ok || values && len(now) != len(was) {
			return []string{at + " is another list"}
		}
		for i := range min(len(was), len(now)) {
			all = append(all, less(fmt.Sprintf("%s/%d", at, i), was[i], now[i], values)...)
		}
	default:
		if values && was != is || !values && fmt.Sprintf("%T", was) != fmt.Sprintf("%T", is) {
			return []string{fmt.Sprintf("%s is %v, was %v", at, is, was)}
		}
	}
	return all
}

// The comparison finds what is planted.
func TestLessFindsWhatIsMissing(t *testing.T) {
	was := map[string]any{"version": 1.0, "epoch": "a", "list": []any{"x"}}
	for _, c := range []struct {
		is   map[string]any
		want int
	}{
		{map[string]any{"version": 1.0, "epoch": "b", "list": []any{"x"}, "more": true}, 0},
		{map[string]any{"version": 2.0, "epoch": "a", "list": []any{"x"}}, 1},
		{map[string]any{"version": 1.0, "epoch": 7.0, "list": []any{"x"}}, 1},
		{map[string]any{"version": 1.0, "list": []any{}}, 2},
	} {
		if got := less("", was, c.is, true); len(got) != c.want {
			t.Errorf("%v: %q, want %d differences", c.is, got, c.want)
		}
	}
}
