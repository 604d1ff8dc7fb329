package proxy_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/proxy"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/server/servertest"
)

// between is a proxy before a real server, which remembers what reached that server.
type between struct {
	t     *testing.T
	box   *servertest.Server
	front *httptest.Server

	mu   sync.Mutex
	seen []http.Header
}

// RoundTrip passes a request on and keeps its header.
func (b *between) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	b.seen = append(b.seen, r.Header.Clone())
	b.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

func newBetween(t *testing.T) *between {
	t.Helper()
	b := &between{t: t, box: servertest.Start(t)}
	token := b.box.Token(api.Member)
	server, err := remote.New(remote.Options{Server: b.box.URL, Token: func() string { return token }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	handler, err := proxy.New(slog.New(slog.DiscardHandler), guard.New(guard.ScanRules, guard.Defaults(), server, time.Now), proxy.Options{
		Server: b.box.URL, Token: func() string { return token }, Client: "laptop", UserAgent: "teammem-client/test", Transport: b,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.front = httptest.NewServer(handler)
	t.Cleanup(b.front.Close)
	return b
}

const vendors = "vendor-token-that-must-stay-here"

func (b *between) do(method, path, body string, header ...string) (*http.Response, string) {
	b.t.Helper()
	r, err := http.NewRequest(method, b.front.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+vendors)
	r.Header.Set("Cookie", "session="+vendors)
	r.Header.Set("X-Vendor", vendors)
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer, string(text)
}

const memories = api.PathTeamMemory + "?repo=acme/widgets"

// TestAStockClient: what it asks arrives with our token and none of its own, and what
// the server answers comes back as it was.
func TestAStockClient(t *testing.T) {
	b := newBetween(t)
	if answer, text := b.do(http.MethodGet, memories, ""); answer.StatusCode != http.StatusNotFound || !strings.Contains(text, `"error"`) {
		t.Errorf("a repo without memory: %d %s", answer.StatusCode, text)
	}
	answer, text := b.do(http.MethodPut, memories, `{"entries":{"a.md":"one"}}`)
	if answer.StatusCode != http.StatusOK || !strings.Contains(text, `"version":1`) {
		t.Fatalf("a push: %d %s", answer.StatusCode, text)
	}
	answer, text = b.do(http.MethodGet, memories, "")
	tag := answer.Header.Get("ETag")
	if answer.StatusCode != http.StatusOK || tag == "" || strings.HasPrefix(tag, "W/") || !strings.Contains(text, `"a.md":"one"`) {
		t.Fatalf("a pull: %d %s %s", answer.StatusCode, tag, text)
	}
	if answer, _ := b.do(http.MethodGet, memories, "", "If-None-Match", tag); answer.StatusCode != http.StatusNotModified {
		t.Errorf("nothing new: %d", answer.StatusCode)
	}
	if answer, _ := b.do(http.MethodPut, memories, `{"entries":{"a.md":"two"}}`, "If-Match", `"sha256:`+strings.Repeat("0", 64)+`"`); answer.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("a state of long ago: %d", answer.StatusCode)
	}
	if answer, _ := b.do(http.MethodPut, memories, `{"entries":{"a.md":"two"}}`, "If-Match", tag); answer.StatusCode != http.StatusOK {
		t.Errorf("a push with its tag: %d", answer.StatusCode)
	}
	for _, header := range b.seen {
		for name, values := range header {
			if strings.Contains(strings.Join(values, " "), vendors) {
				t.Errorf("the server was sent %s: %q", name, values)
			}
		}
		if header.Get(api.HeaderClient) != "laptop" {
			t.Errorf("the client is called %q", header.Get(api.HeaderClient))
		}
	}
}

// TestNothingElsePasses: no other address, no page of the web, no secret, nothing that
// cannot be looked at.
func TestNothingElsePasses(t *testing.T) {
	b := newBetween(t)
	at, err := url.Parse(b.front.URL)
	if err != nil {
		t.Fatal(err)
	}
	key := "AK" + "IA" + "Q3EGTVLXWJ5MBZ7R" // made up, of an access key's form
	for _, c := range []struct {
		what, method, path, body string
		header                   []string
		want                     int
	}{
		{"another address", "GET", "/api/v1/tokens", "", nil, 404},
		{"a longer address", "GET", api.PathTeamMemory + "/x?repo=acme/widgets", "", nil, 404},
		{"an address that leads elsewhere", "GET", api.PathTeamMemory + "/../../v1/tokens", "", nil, 404},
		{"another method", "DELETE", memories, "", nil, 405},
		{"a page of the web", "GET", memories, "", []string{"Origin", "https://evil.example"}, 403},
		{"a link on one", "GET", memories, "", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a name that leads here", "GET", memories, "", []string{"Host", "evil.example:" + at.Port()}, 403},
		{"a secret", "PUT", memories, `{"entries":{"b.md":"aws_access_key_id = ` + key + `"}}`, nil, 422},
		{"what is packed", "PUT", memories, "packed", []string{"Content-Encoding", "gzip"}, 415},
		{"what is no push", "PUT", memories, `{"entries":`, nil, 400},
		{"a name twice", "PUT", memories, `{"entries":{"a.md":"x","a.md":"` + key + `"}}`, nil, 400},
		{"too much", "PUT", memories, `{"entries":{"a.md":"` + strings.Repeat("x", 4<<20) + `"}}`, nil, 413},
	} {
		answer, text := b.do(c.method, c.path, c.body, c.header...)
		if answer.StatusCode != c.want || !strings.Contains(text, `"error"`) || strings.Contains(text, key) {
			t.Errorf("%s: %d %s; want %d", c.what, answer.StatusCode, text, c.want)
		}
	}
	if len(b.seen) != 0 {
		t.Errorf("%d requests reached the server", len(b.seen))
	}
}

// TestTheServerIsAway: a stock client is told what makes it try again.
func TestTheServerIsAway(t *testing.T) {
	b := newBetween(t)
	b.box.Close()
	for method, body := range map[string]string{http.MethodGet: "", http.MethodPut: `{"entries":{"a.md":"x"}}`} {
		if answer, text := b.do(method, memories, body); answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || !strings.Contains(text, "overloaded_error") {
			t.Errorf("%s: %d %s", method, answer.StatusCode, text)
		}
	}
}
