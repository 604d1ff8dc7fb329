package mcp_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/mcp"
)

// box is a server over two directories, and an agent that speaks with it.
type box struct {
	t             *testing.T
	team, private string
	server        *mcp.Server
	agent         *sdk.ClientSession
	mu            sync.Mutex
	saved         []api.Key
}

// judge is one judge for all tests, by the defaults: reading its rules takes a while.
var judge = &oneAtATime{judge: guard.New(guard.ScanRules, guard.Defaults(), nil, time.Now)}

type oneAtATime struct {
	mu    sync.Mutex
	judge mcp.Judge
}

func (o *oneAtATime) Judge(key api.Key, content []byte) ([]guard.Judged, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.judge.Judge(key, content)
}

func newBox(t *testing.T, change ...func(*mcp.Options)) *box {
	t.Helper()
	private := t.TempDir()
	b := &box{t: t, private: private, team: filepath.Join(private, "team")}
	if err := os.Mkdir(b.team, 0o755); err != nil {
		t.Fatal(err)
	}
	opts := mcp.Options{
		Team: b.team, Private: private, Repo: "acme/widgets",
		History: func() (mcp.History, error) { return nil, errors.New("not logged in") },
		Ranked: func(_ context.Context, query string, limit int) ([]mcp.Match, error) {
			return []mcp.Match{{Key: "team/a.md", Score: 1, Reason: fmt.Sprint(query, " ", limit)}}, nil
		},
		Saved: func(key api.Key) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.saved = append(b.saved, key)
		},
	}
	for _, c := range change {
		c(&opts)
	}
	b.server = mcp.New(slog.New(slog.DiscardHandler), judge, time.Now, opts)
	here, there := sdk.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = b.server.Run(ctx, there) }()
	var err error
	b.agent, err = sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(ctx, here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.agent.Close(); cancel(); <-ended })
	return b
}

func (b *box) put(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.private, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) text(name string) string {
	text, err := os.ReadFile(filepath.Join(b.private, filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	return string(text)
}

// call calls a tool; failed is the text of an error.
func (b *box) call(tool string, arguments map[string]any, into any) (failed string) {
	b.t.Helper()
	result, err := b.agent.CallTool(b.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error()
	}
	text := result.Content[0].(*sdk.TextContent).Text
	if result.IsError {
		return text
	}
	if into != nil {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			b.t.Fatalf("%s: %v", text, err)
		}
	}
	return ""
}

type args = map[string]any

const topic = "---\nname: Testing\ndescription: how we test\ntype: feedback\n---\nUse Postgres.\n"

func TestListReadSearch(t *testing.T) {
	b := newBox(t)
	b.put("team/a.md", topic)
	b.put("team/MEMORY.md", "- [Testing](a.md) — how we test\n")
	b.put("user_role.md", "---\nname: Role\ntype: user\n---\nAn engineer.\n")
	var list struct {
		Memories []struct{ Key, Name, Description, Type, Scope string }
		Indexes  []string
		Total    int
	}
	if failed := b.call("memory_list", nil, &list); failed != "" || list.Total != 2 || len(list.Indexes) != 1 {
		t.Errorf("%s %+v", failed, list)
	}
	if failed := b.call("memory_list", args{"scope": "team", "type": "feedback"}, &list); failed != "" || list.Total != 1 || list.Memories[0].Key != "team/a.md" || list.Memories[0].Description != "how we test" {
		t.Errorf("%s %+v", failed, list)
	}
	var read struct{ Text, Version, Scope string }
	if failed := b.call("memory_read", args{"key": "team/a.md"}, &read); failed != "" || read.Text != topic || read.Version != string(api.ChecksumOfString(topic)) {
		t.Errorf("%s %+v", failed, read)
	}
	var found struct {
		Matches []struct {
			Key, Text, Reason, Description string
			Line                           int
		}
	}
	if failed := b.call("memory_search", args{"query": "POSTGRES", "mode": "literal"}, &found); failed != "" || len(found.Matches) != 1 || found.Matches[0].Line != 6 {
		t.Errorf("%s %+v", failed, found)
	}
	if failed := b.call("memory_search", args{"query": "why"}, &found); failed != "" || found.Matches[0].Reason != "why 5" || found.Matches[0].Description != "how we test" {
		t.Errorf("%s %+v", failed, found)
	}
	for _, c := range []struct {
		tool string
		args args
		says []string
	}{
		{"memory_read", args{"key": "team/none.md"}, []string{"no memory team/none.md", "memory_list"}},
		{"memory_read", args{"key": "../a.md"}, []string{"no key", "memory_list"}},
		{"memory_read", args{"key": "team/a.md", "offset": 900}, []string{"outside", "0"}},
		{"memory_list", args{"scope": "all"}, []string{"team or private"}},
		{"memory_list", args{"type": "note"}, []string{"feedback"}},
		{"memory_search", args{"query": " "}, []string{"empty"}},
		{"memory_search", args{"query": "x", "mode": "fuzzy"}, []string{"ranked or literal"}},
		{"memory_history", args{"key": "user_role.md"}, []string{"private", "memory_read"}},
		{"memory_history", args{"key": "team/a.md"}, []string{"not logged in", "client doctor"}},
		{"memory_write", args{"key": "team/a.md", "content": "x"}, []string{"version"}},
	} {
		failed := b.call(c.tool, c.args, nil)
		for _, said := range c.says {
			if !strings.Contains(failed, said) {
				t.Errorf("%s %v: %q does not say %q", c.tool, c.args, failed, said)
			}
		}
	}
}

func TestWrite(t *testing.T) {
	b := newBox(t)
	var out struct {
		Version string
		Changed bool
		Notes   []string
	}
	write := func(key, content, version string) string {
		out.Notes = nil
		return b.call("memory_write", args{"key": key, "content": content, "version": version}, &out)
	}
	if failed := write("team/a.md", topic, "new"); failed != "" || !out.Changed || b.text("team/a.md") != topic {
		t.Fatalf("%s %+v", failed, out)
	}
	if len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "- [Testing](a.md)") {
		t.Errorf("notes: %q", out.Notes)
	}
	first := out.Version
	if failed := write("team/a.md", topic+"More.\n", first); failed != "" || b.text("team/a.md") != topic+"More.\n" {
		t.Errorf("%s", failed)
	}
	// The version is old: nothing is written, and the answer holds the text.
	failed := write("team/a.md", "mine\n", first)
	if !strings.Contains(failed, "conflict") || !strings.Contains(failed, "More.") || !strings.Contains(failed, string(api.ChecksumOfString(topic+"More.\n"))) {
		t.Errorf("%q", failed)
	}
	if failed := write("team/a.md", "mine\n", "new"); !strings.Contains(failed, "exists already") {
		t.Errorf("%q", failed)
	}
	if failed := write("team/a.md", topic+"More.\n", first); failed != "" || out.Changed {
		t.Errorf("what stands there already: %q %+v", failed, out)
	}
	if failed := write("team/gone.md", "mine\n", first); !strings.Contains(failed, `"new"`) {
		t.Errorf("%q", failed)
	}
	if failed := write("team/a.md", "mine\n", "3"); !strings.Contains(failed, "memory_read") {
		t.Errorf("%q", failed)
	}
	secret := "gh" + "p_" + rand.Text() + rand.Text()[:10]
	for _, key := range []string{"team/s.md", "s.md"} {
		if failed := write(key, "one\ntoken "+secret+"\n", "new"); !strings.Contains(failed, "github-pat, line 2") || strings.Contains(failed, secret) || b.text(key) != "" {
			t.Errorf("%s: %q", key, failed)
		}
	}
	for _, key := range []string{"team/a.txt", "team/.teammem/marker.json", "team/../x.md", "/etc/x.md", "team/a.md/b.md", "", "team/"} {
		if failed := write(key, "x", "new"); failed == "" {
			t.Errorf("%q is written", key)
		}
	}
	if failed := write("private.md", topic, "new"); failed != "" || b.text("private.md") != topic {
		t.Errorf("%s", failed)
	}
	if want := []api.Key{"a.md", "a.md"}; fmt.Sprint(b.saved) != fmt.Sprint(want) {
		t.Errorf("to be synced: %q, want %q", b.saved, want)
	}
}

// Of many writers with one version one wins, and the others are told.
func TestOneWriterWins(t *testing.T) {
	b := newBox(t)
	b.put("team/a.md", topic)
	var writers sync.WaitGroup
	won := make(chan string, 16)
	for i := range cap(won) {
		writers.Go(func() {
			text := fmt.Sprint(topic, i, "\n")
			if b.call("memory_write", args{"key": "team/a.md", "content": text, "version": string(api.ChecksumOfString(topic))}, nil) == "" {
				won <- text
			}
		})
	}
	writers.Wait()
	close(won)
	if len(won) != 1 {
		t.Fatalf("%d writers won", len(won))
	}
	if text := <-won; b.text("team/a.md") != text {
		t.Error("the winner's text does not stand there")
	}
}

// A link is no memory, wherever it leads.
func TestLinksAreNotFollowed(t *testing.T) {
	b := newBox(t)
	outside := filepath.Join(t.TempDir(), "outside.md")
	if err := errors.Join(os.WriteFile(outside, []byte("secret"), 0o600), os.Symlink(outside, filepath.Join(b.team, "l.md"))); err != nil {
		t.Skipf("no links here: %v", err)
	}
	var read struct{ Text string }
	if failed := b.call("memory_read", args{"key": "team/l.md"}, &read); failed == "" {
		t.Errorf("read %q", read.Text)
	}
	if failed := b.call("memory_write", args{"key": "team/l.md", "content": "x", "version": "new"}, nil); failed == "" {
		t.Error("written through a link")
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "secret" {
		t.Errorf("%q %v", text, err)
	}
}

// A long answer is cut to half of what is allowed, and goes on where it says.
func TestLongAnswers(t *testing.T) {
	b := newBox(t, func(o *mcp.Options) { o.OutputTokens = 1000 })
	text := strings.Repeat("Eine Zeile mit Umlauten äöü und \"Zeichen\".\n", 200)
	b.put("team/long.md", text)
	got, offset := "", 0
	for range 20 {
		var read struct {
			Text string
			Next int `json:"next_offset"`
		}
		if failed := b.call("memory_read", args{"key": "team/long.md", "offset": offset}, &read); failed != "" {
			t.Fatal(failed)
		}
		if len(read.Text) > 4000 {
			t.Errorf("%d bytes at once", len(read.Text))
		}
		got, offset = got+read.Text, read.Next
		if offset == 0 {
			break
		}
	}
	if got != text {
		t.Errorf("%d bytes of %d were read", len(got), len(text))
	}
	for i := range 60 {
		b.put(fmt.Sprintf("team/m%02d.md", i), topic)
	}
	seen, offset := map[string]bool{}, 0
	for range 60 {
		var list struct {
			Memories []struct{ Key string }
			Next     int `json:"next_offset"`
		}
		if failed := b.call("memory_list", args{"offset": offset}, &list); failed != "" {
			t.Fatal(failed)
		}
		for _, m := range list.Memories {
			seen[m.Key] = true
		}
		if offset = list.Next; offset == 0 {
			break
		}
	}
	if len(seen) != 61 {
		t.Errorf("%d of 61 were listed", len(seen))
	}
}

func TestResources(t *testing.T) {
	b := newBox(t)
	b.put("team/MEMORY.md", "- [Testing](a.md)\n")
	b.put("team/a b.md", topic)
	b.put("role.md", topic)
	list, err := b.agent.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 3 {
		t.Fatalf("%v %+v", err, list)
	}
	for _, r := range list.Resources {
		read, err := b.agent.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: r.URI})
		if err != nil || read.Contents[0].Text != b.text(r.Name) {
			t.Errorf("%s: %v", r.URI, err)
		}
	}
	if err := os.Remove(filepath.Join(b.team, "a b.md")); err != nil {
		t.Fatal(err)
	}
	if list, err = b.agent.ListResources(t.Context(), nil); err != nil || len(list.Resources) != 2 {
		t.Errorf("what is gone is listed: %v %+v", err, list)
	}
	for _, uri := range []string{"memory://team/a%20b.md", "memory://private/team/MEMORY.md", "memory://other/a.md", "memory://team/../role.md", "file:///etc/passwd", "memory://team/"} {
		if read, err := b.agent.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s is read: %+v", uri, read.Contents[0])
		}
	}
}

// Over HTTP a page in a browser gets nothing, and a program needs the token.
func TestHandler(t *testing.T) {
	b := newBox(t, func(o *mcp.Options) { o.Private = "" })
	b.put("team/a.md", topic)
	b.put("role.md", topic)
	web := httptest.NewServer(b.server.Handler("the-token"))
	defer web.Close()
	for name, c := range map[string]struct {
		header map[string]string
		host   string
		want   int
	}{
		"no token":               {nil, "", http.StatusUnauthorized},
		"another token":          {map[string]string{"Authorization": "Bearer other"}, "", http.StatusUnauthorized},
		"another origin":         {map[string]string{"Authorization": "Bearer the-token", "Origin": "https://evil.example"}, "", http.StatusForbidden},
		"another site":           {map[string]string{"Authorization": "Bearer the-token", "Sec-Fetch-Site": "cross-site"}, "", http.StatusForbidden},
		"no origin at all":       {map[string]string{"Authorization": "Bearer the-token", "Origin": "null"}, "", http.StatusForbidden},
		"a name that leads here": {map[string]string{"Authorization": "Bearer the-token"}, "evil.example:80", http.StatusForbidden},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for key, value := range c.header {
			req.Header.Set(key, value)
		}
		resp, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, c.want)
		}
	}
	agent, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: web.URL, HTTPClient: &http.Client{Transport: bearer("the-token")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = agent.Close() }()
	b.agent = agent
	var list struct{ Total int }
	if failed := b.call("memory_list", nil, &list); failed != "" || list.Total != 1 {
		t.Errorf("%s, %d memories; the private one is not for others", failed, list.Total)
	}
	if failed := b.call("memory_read", args{"key": "role.md"}, nil); !strings.Contains(failed, "private") {
		t.Errorf("%q", failed)
	}
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// Whatever a model passes, the answer is an answer, and nothing is written outside.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{"key":"team/a.md"}`, `{"key":"team/a.md","content":"x","version":"new"}`, `{"query":"a","mode":"literal","limit":-1}`,
		`{"scope":"team","offset":-5,"limit":99999}`, `{"key":"../../x","at":-1}`, `null`, `[]`, `{"key":"a\u0000.md","version":"sha256:00"}`,
	} {
		f.Add(seed)
	}
	tools := []string{"memory_list", "memory_read", "memory_write", "memory_search", "memory_history"}
	f.Fuzz(func(t *testing.T, arguments string) {
		if !json.Valid([]byte(arguments)) {
			return
		}
		b := newBox(t)
		b.put("team/a.md", topic)
		for _, tool := range tools {
			result, err := b.agent.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
			if err == nil && len(result.Content) == 0 {
				t.Errorf("%s %s: nothing is answered", tool, arguments)
			}
		}
		entries, err := os.ReadDir(filepath.Dir(b.private))
		if err != nil || len(entries) != 1 {
			t.Errorf("%s: beside the directory stands %v (%v)", arguments, entries, err)
		}
	})
}
