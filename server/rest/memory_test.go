package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

func TestQueries(t *testing.T) {
	b := newBox(t, nil, nil)
	b.put(map[api.Key]string{"a.md": "a"})
	tests := []struct {
		query     string
		status    int
		errorCode string
	}{
		{"repo=acme/widgets", 200, ""},
		{"repo=acme%2Fwidgets", 200, ""},
		{"repo=ACME/Widgets.git", 200, ""},
		{"repo=acme/widgets&beta=1", 200, ""},
		{"repo=acme/widgets&view=hashes", 200, ""},
		{"repo=acme/widgets&view=", 200, ""},
		{"repo=acme/widgets&since=0", 200, ""},
		{"repo=acme/widgets&since=99", 200, ""},
		{"repo=acme/nothing", 404, api.ErrorCodeNoMemory},
		{"repo=github.example/acme/deep/widgets", 404, api.ErrorCodeNoMemory},
		{"", 400, api.ErrorCodeBadRepo},
		{"repo=", 400, api.ErrorCodeBadRepo},
		{"repo=widgets", 400, api.ErrorCodeBadRepo},
		{"repo=acme/../widgets", 400, api.ErrorCodeBadRepo},
		{"repo=acme/widgets&repo=acme/widgets", 400, api.ErrorCodeBadRepo},
		{"repo=acme/widgets&repo=acme/other", 400, api.ErrorCodeBadRepo},
		{"repo=acme/widgets&view=full", 400, api.ErrorCodeBadQuery},
		{"repo=acme/widgets&view=hashes&view=hashes", 400, api.ErrorCodeBadQuery},
		{"repo=acme/widgets&since=-1", 400, api.ErrorCodeBadQuery},
		{"repo=acme/widgets&since=%2B1", 400, api.ErrorCodeBadQuery},
		{"repo=acme/widgets&since=1.0", 400, api.ErrorCodeBadQuery},
		{"repo=acme/widgets&since=one", 400, api.ErrorCodeBadQuery},
		{"repo=acme/widgets&since=9223372036854775808", 400, api.ErrorCodeBadQuery},
		{"repo=acme/widgets&since=1&since=1", 400, api.ErrorCodeBadQuery},
		{"repo=acme/widgets;view=hashes", 400, api.ErrorCodeBadQuery},
		{"repo=acme/widgets&x=%zz", 400, api.ErrorCodeBadQuery},
	}
	for _, test := range tests {
		t.Run(test.query, func(t *testing.T) {
			w := b.do(http.MethodGet, api.PathTeamMemory+"?"+test.query, b.member, "")
			if test.errorCode != "" {
				wantError(t, w, test.status, api.CodeOfStatus(test.status), test.errorCode)
			} else if w.Code != test.status {
				t.Errorf("status %d, want %d: %s", w.Code, test.status, w.Body)
			}
		})
	}
}

func TestViews(t *testing.T) {
	b := newBox(t, nil, nil)
	b.put(map[api.Key]string{"a.md": "a", "b.md": "b"})
	b.put(map[api.Key]string{"c.md": "c"})
	body := `{"deletions":["b.md"],"baseChecksums":{"b.md":"` + string(api.ChecksumOfString("b")) + `"}}`
	if w := b.do(http.MethodPut, repoPath, b.member, body); w.Code != http.StatusOK {
		t.Fatalf("delete: %d %s", w.Code, w.Body)
	}
	ask := func(extra string) api.Memory {
		t.Helper()
		w := b.do(http.MethodGet, repoPath+extra, b.viewer, "")
		if w.Code != http.StatusOK {
			t.Fatalf("GET %s: %d %s", extra, w.Code, w.Body)
		}
		return decode[api.Memory](t, w.Body)
	}
	gone := map[api.Key]api.Checksum{"b.md": api.ChecksumOfString("b")}

	full, hashes := ask(""), ask("&view=hashes")
	if want := (map[api.Key]string{"a.md": "a", "c.md": "c"}); !maps.Equal(full.Content.Entries, want) || !maps.Equal(full.Deleted, gone) || full.Partial {
		t.Errorf("full: %+v", full)
	}
	if hashes.Content.Entries != nil {
		t.Error("hashes carry contents")
	}
	for where, sums := range map[string]map[api.Key]api.Checksum{"top": hashes.EntryChecksums, "content": hashes.Content.EntryChecksums} {
		if !maps.Equal(sums, full.Content.EntryChecksums) {
			t.Errorf("hashes at %s: %v, full: %v", where, sums, full.Content.EntryChecksums)
		}
	}
	if hashes.Version != full.Version || hashes.Checksum != full.Checksum || hashes.Epoch != full.Epoch || !maps.Equal(hashes.Deleted, full.Deleted) {
		t.Errorf("hashes %+v and full %+v disagree", hashes, full)
	}

	delta := ask("&since=1")
	if want := (map[api.Key]string{"c.md": "c"}); !delta.Partial || !maps.Equal(delta.Content.Entries, want) || !maps.Equal(delta.Deleted, gone) {
		t.Errorf("since 1: %+v", delta)
	}
	if quiet := ask("&since=3"); !quiet.Partial || len(quiet.Content.Entries) != 0 || len(quiet.Deleted) != 0 || quiet.Checksum != full.Checksum {
		t.Errorf("since now: %+v", quiet)
	}
	if future := ask("&since=4"); future.Partial || len(future.Content.Entries) != 2 {
		t.Errorf("since the future: %+v", future)
	}
}

// An emptied repo still has all fields: a stock client takes a missing one for a
// broken answer.
func TestEmptiedRepoHasAllFields(t *testing.T) {
	b := newBox(t, nil, nil)
	b.put(map[api.Key]string{"a.md": "a"})
	body := `{"deletions":["a.md"],"baseChecksums":{"a.md":"` + string(api.ChecksumOfString("a")) + `"}}`
	if w := b.do(http.MethodPut, repoPath, b.member, body); w.Code != http.StatusOK {
		t.Fatalf("delete: %d %s", w.Code, w.Body)
	}
	answer := decode[map[string]any](t, b.do(http.MethodGet, repoPath, b.member, "").Body)
	for _, field := range []string{"organizationId", "repo", "version", "lastModified", "checksum", "content", "epoch", "deleted"} {
		if answer[field] == nil {
			t.Errorf("%s is missing", field)
		}
	}
	content := answer["content"].(map[string]any)
	for _, field := range []string{"entries", "entryChecksums"} {
		if object, ok := content[field].(map[string]any); !ok || len(object) != 0 {
			t.Errorf("content.%s is %v, want {}", field, content[field])
		}
	}
}

func TestNotModified(t *testing.T) {
	b := newBox(t, nil, nil)
	tag := b.put(map[api.Key]string{"a.md": strings.Repeat("a", 2000)}).Header().Get("ETag")
	bare := strings.Trim(tag, `"`)
	digits := strings.TrimPrefix(bare, "sha256:")
	tests := []struct {
		header string
		status int
	}{
		{tag, 304},
		{"W/" + tag, 304},
		{`"W/` + bare + `"`, 304},
		{bare, 304},
		{digits, 304},
		{`"` + bare + `-gzip"`, 304},
		{`"` + bare + `--gzip"`, 304},
		{`"` + bare + `;gzip"`, 304},
		{tag + `;gzip`, 304},
		{`"x", ` + tag, 304},
		{"*", 304},
		{`"another"`, 200},
		{`"sha256:` + strings.Repeat("0", 64) + `"`, 200},
		{"", 400},
		{"nonsense", 400},
		{`"unclosed`, 400},
		{"*, " + tag, 400},
	}
	for _, test := range tests {
		t.Run(test.header, func(t *testing.T) {
			w := b.do(http.MethodGet, repoPath, b.member, "", "If-None-Match", test.header, "Accept-Encoding", "gzip")
			if w.Code != test.status {
				t.Fatalf("status %d, want %d: %s", w.Code, test.status, w.Body)
			}
			if w.Code == http.StatusNotModified && (w.Body.Len() > 0 || w.Header().Get("ETag") != tag || w.Header().Get("Content-Encoding") != "") {
				t.Errorf("a 304 with body %q, header %v", w.Body, w.Header())
			}
		})
	}
	if w := b.do(http.MethodGet, api.PathTeamMemory+"?repo=acme/nothing", b.member, "", "If-None-Match", "*"); w.Code != http.StatusNotFound {
		t.Errorf("a repo without memory answers %d to If-None-Match: *", w.Code)
	}
}

// counting counts the reads of a store, but those of the epoch, which a store
// remembers.
type counting struct {
	store.Store
	reads atomic.Int64
}

func (c *counting) Head(ctx context.Context, ref store.RepoRef) (store.Head, error) {
	c.reads.Add(1)
	return c.Store.Head(ctx, ref)
}

func (c *counting) View(ctx context.Context, ref store.RepoRef, since api.Version) (store.View, error) {
	c.reads.Add(1)
	return c.Store.View(ctx, ref, since)
}

func (c *counting) TokenByHash(ctx context.Context, hash [32]byte) (store.Token, error) {
	c.reads.Add(1)
	return c.Store.TokenByHash(ctx, hash)
}

func TestABusyClientCostsOneRead(t *testing.T) {
	var reads *atomic.Int64
	b := newBox(t, nil, func(s store.Store) store.Store {
		c := &counting{Store: s}
		reads = &c.reads
		return c
	})
	tag := b.put(map[api.Key]string{"a.md": "a"}).Header().Get("ETag")
	for name, ask := range map[string][2]string{"304": {"", tag}, "hashes": {"&view=hashes", ""}} {
		t.Run(name, func(t *testing.T) {
			var headers []string
			if ask[1] != "" {
				headers = []string{"If-None-Match", ask[1]}
			}
			// What is remembered for half a second may run out between two calls
			// on a slow machine; it cannot do so many times in a row.
			for range 100 {
				before := reads.Load()
				b.do(http.MethodGet, repoPath+ask[0], b.member, "", headers...)
				if reads.Load()-before == 1 {
					return
				}
			}
			t.Error("every request costs more than one read")
		})
	}
}

// corrupting damages the bodies it is told to.
type corrupting struct {
	store.Store
	bad map[api.Checksum]bool
}

func (c *corrupting) Bodies(ctx context.Context, org store.OrgID, sums []api.Checksum, fn func(api.Checksum, []byte) error) error {
	return c.Store.Bodies(ctx, org, sums, func(sum api.Checksum, content []byte) error {
		if c.bad[sum] {
			return fmt.Errorf("body %s: %w", sum.Short(), store.ErrCorrupt)
		}
		return fn(sum, content)
	})
}

func TestADamagedBodyIsAnErrorNeverData(t *testing.T) {
	damage := &corrupting{bad: map[api.Checksum]bool{}}
	b := newBox(t, nil, func(s store.Store) store.Store {
		damage.Store = s
		return damage
	})
	b.put(map[api.Key]string{"a.md": "fine", "b.md": "to be damaged"})
	damage.bad[api.ChecksumOfString("to be damaged")] = true
	w := b.do(http.MethodGet, repoPath, b.member, "")
	wantError(t, w, http.StatusInternalServerError, api.Internal, api.ErrorCodeCorrupt)
	if w.Header().Get("ETag") != "" {
		t.Error("the error carries an ETag")
	}
	if w := b.do(http.MethodGet, repoPath+"&view=hashes", b.member, ""); w.Code != http.StatusOK {
		t.Errorf("hashes need no bodies, and answer %d", w.Code)
	}
}

// Beyond 4 MiB the header is out when the damage is found.
func TestADamagedLargeAnswerIsBrokenOff(t *testing.T) {
	damage := &corrupting{bad: map[api.Checksum]bool{}}
	b := newBox(t, func(c *Config) { c.Limits.EntryBytes = 1 << 20; c.Limits.BodyBytes = 2 << 20 }, func(s store.Store) store.Store {
		damage.Store = s
		return damage
	})
	all := map[api.Key]string{}
	for i := range 7 {
		key := api.Key(fmt.Sprintf("%d.md", i))
		all[key] = strings.Repeat(string(rune('a'+i)), 620_000)
		b.put(map[api.Key]string{key: all[key]})
	}
	for _, coding := range []string{"identity", "gzip"} {
		whole, err := b.overTheWire(coding)
		if err != nil {
			t.Fatal(err)
		}
		if got := decode[api.Memory](t, strings.NewReader(whole)); !maps.Equal(got.Content.Entries, all) {
			t.Errorf("%s: the large answer is not what was put", coding)
		}
	}
	damage.bad[api.ChecksumOfString(all["6.md"])] = true
	for _, coding := range []string{"identity", "gzip"} {
		if body, err := b.overTheWire(coding); err == nil {
			t.Errorf("%s: a damaged answer ended well, after %d bytes", coding, len(body))
		}
	}
}

func TestHEADAnswersAsGETWithoutABody(t *testing.T) {
	b := newBox(t, nil, nil)
	b.put(map[api.Key]string{"a.md": "a"})
	admin := b.token("acme", "root", api.Admin)
	for _, route := range api.Routes {
		if route.Method != http.MethodGet {
			continue
		}
		target, _ := exampleOf(route)
		get := b.do(http.MethodGet, target, admin, "")
		head := b.do(http.MethodHead, target, admin, "")
		want := http.StatusOK
		if strings.Contains(route.Pattern, "{id}") {
			want = http.StatusNotFound // there is no such one; what there is, its own tests show
		}
		if get.Code != want || head.Code != get.Code {
			t.Errorf("%s: GET %d, HEAD %d", route.Pattern, get.Code, head.Code)
		}
		for _, name := range []string{"ETag", "Content-Type", api.HeaderVersion, "Cache-Control", "Vary"} {
			if get.Header().Get(name) != head.Header().Get(name) {
				t.Errorf("%s: %s is %q with GET and %q with HEAD", route.Pattern, name, get.Header().Get(name), head.Header().Get(name))
			}
		}
	}
	if w := b.do(http.MethodHead, api.PathTeamMemory+"?repo=acme/none", b.member, ""); w.Code != http.StatusNotFound {
		t.Errorf("HEAD of a repo without memory: %d", w.Code)
	}
}

func TestPutWithAStaleTag(t *testing.T) {
	b := newBox(t, nil, nil)
	first := b.put(map[api.Key]string{"a.md": "1"}).Header().Get("ETag")
	b.put(map[api.Key]string{"a.md": "2"})
	w := b.do(http.MethodPut, repoPath, b.member, `{"entries":{"a.md":"3"}}`, "If-Match", first)
	wantError(t, w, http.StatusPreconditionFailed, api.Conflict, api.ErrorCodeConflict)
	details := decode[api.ErrorBody](t, w.Body).Error.Details
	if details.Version == nil || *details.Version != 2 || details.Checksum == "" {
		t.Errorf("the 412 says %+v", details)
	}
	w = b.do(http.MethodPut, repoPath, b.member, `{"entries":{"a.md":"3"}}`)
	wantError(t, w, http.StatusPreconditionFailed, api.Conflict, api.ErrorCodeConflict)
	w = b.do(http.MethodPut, repoPath, b.member, `{"entries":{"a.md":"3"}}`, "If-Match", "")
	wantError(t, w, http.StatusBadRequest, api.InvalidRequest, api.ErrorCodeBadPrecond)
}

func TestPutSaysWhatIsWrongWithTheBody(t *testing.T) {
	b := newBox(t, nil, nil)
	tests := []struct {
		name, body, errorCode string
	}{
		{"empty", " ", api.ErrorCodeBadJSON},
		{"not JSON", "<html>", api.ErrorCodeBadJSON},
		{"cut short", `{"entries":{"a.md":"a`, api.ErrorCodeBadJSON},
		{"trailing garbage", `{"entries":{"a.md":"a"}} x`, api.ErrorCodeBadJSON},
		{"a name twice", `{"entries":{"a.md":"a","a.md":"b"}}`, api.ErrorCodeBadJSON},
		{"half a surrogate", `{"entries":{"a.md":"\ud800"}}`, api.ErrorCodeBadJSON},
		{"not UTF-8", "{\"entries\":{\"a.md\":\"\xff\"}}", api.ErrorCodeBadJSON},
		{"a number for a text", `{"entries":{"a.md":1}}`, api.ErrorCodeBadBody},
		{"a list", `[]`, api.ErrorCodeBadBody},
		{"nothing to push", `{}`, api.ErrorCodeBadBody},
		{"a bad key", `{"entries":{"../a.md":"a"}}`, api.ErrorCodeBadKey},
		{"twins", `{"entries":{"a.md":"a","A.md":"a"}}`, api.ErrorCodeKeyTwin},
		{"written and deleted", `{"entries":{"a.md":"a"},"deletions":["a.md"]}`, api.ErrorCodeKeyTwice},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := b.do(http.MethodPut, repoPath, b.member, test.body)
			wantError(t, w, http.StatusBadRequest, api.InvalidRequest, test.errorCode)
		})
	}
	if w := b.do(http.MethodGet, repoPath, b.member, ""); w.Code != http.StatusNotFound {
		t.Errorf("a refused PUT left a repo behind: %d", w.Code)
	}
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	b := newBox(t, nil, nil)
	w := b.do(http.MethodPut, repoPath, b.member, `{"later":{"x":[1]},"entries":{"a.md":"a"}}`, "anthropic-beta", "x", "Content-Type", "text/plain")
	if w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A client's name for itself reaches history as far as it can be shown.
func TestClientName(t *testing.T) {
	b := newBox(t, nil, nil)
	long := strings.Repeat("é", 150)
	for given, want := range map[string]string{
		"dana-mbp":            "dana-mbp",
		" spaces ":            "spaces",
		"esc\x1b[31m":         "esc[31m",
		"bidi\u202eend":       "bidiend",
		"not\xffutf8":         "notutf8",
		long:                  long[:200],
		"":                    "",
		url.QueryEscape("é/"): "%C3%A9%2F",
	} {
		if got := clientName(given); got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
	body, err := json.Marshal(api.Push{Entries: map[api.Key]string{"a.md": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	b.do(http.MethodPut, repoPath, b.member, string(body), api.HeaderClient, "dana-mbp")
	org, err := b.store.Organization(context.Background(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	past, err := b.store.History(context.Background(), store.RepoRef{Org: org.ID, Slug: "acme/widgets"}, "", 0, 1)
	if err != nil || len(past) != 1 || past[0].Client != "dana-mbp" || past[0].UserName != "dana" {
		t.Errorf("history is %+v, %v", past, err)
	}
}
