package rest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// A view that is asked for again comes from memory, byte for byte, and is never older than
// what stands, nor another's.
func TestARenderedView(t *testing.T) {
	r := newReviewed(t, "")
	r.push(r.author, entriesBody(map[api.Key]string{"a.md": "old", "b.md": "b"}), 200)
	get := func(token, extra string) string {
		t.Helper()
		first := r.do(http.MethodGet, repoPath+extra, token, "")
		again := r.do(http.MethodGet, repoPath+extra, token, "")
		if first.Code != 200 || first.Body.String() != again.Body.String() || first.Header().Get("ETag") != again.Header().Get("ETag") {
			t.Fatalf("%d %s\nand again %d %s", first.Code, first.Body, again.Code, again.Body)
		}
		return again.Body.String()
	}
	if text := get(r.colleague, ""); !strings.Contains(text, `"old"`) || text != get(r.author, "") {
		t.Errorf("the whole: %s", text)
	}
	if text := get(r.colleague, "&view=hashes"); strings.Contains(text, `"old"`) {
		t.Errorf("the hashes: %s", text)
	}
	if n := len(r.handler.rendered.young); n != 2 {
		t.Errorf("%d views are remembered, want the whole and the hashes", n)
	}
	r.push(r.author, entriesBody(map[api.Key]string{"a.md": "new"}), 200, "If-Match", "*")
	if text := get(r.colleague, ""); !strings.Contains(text, `"new"`) {
		t.Errorf("after a push: %s", text)
	}
	// While something is proposed each sees their own.
	r.push(r.author, entriesBody(map[api.Key]string{"a.md": hidden("odd")}), 200, "If-Match", "*")
	if mine, theirs := get(r.author, ""), get(r.colleague, ""); mine == theirs || strings.Contains(theirs, "odd") {
		t.Errorf("with a proposal its author is served %s\nthe colleague %s", mine, theirs)
	}
	r.review(r.maintainer, r.open(r.maintainer)[0].ID, "reject", `{"reason":"no"}`, 200)
	if mine, theirs := get(r.author, ""), get(r.colleague, ""); mine != theirs || strings.Contains(mine, "odd") {
		t.Errorf("after the rejection its author is served %s\nthe colleague %s", mine, theirs)
	}
	if w := r.do(http.MethodGet, repoPath, r.foreign, ""); w.Code != http.StatusNotFound {
		t.Errorf("another organization is answered %d", w.Code)
	}
}

// What is remembered is bounded, and what is asked for stays.
func TestRenderedIsBounded(t *testing.T) {
	var r rendered
	wanted := renderedRef{repo: 1}
	r.put(wanted, renderedBody{body: []byte("wanted")})
	for i := range 100 {
		r.put(renderedRef{repo: store.RepoID(i + 2)}, renderedBody{body: make([]byte, 1<<20)})
		if _, ok := r.get(wanted); !ok {
			t.Fatalf("forgotten after %d others", i+1)
		}
	}
	held := 0
	for _, half := range []map[renderedRef]renderedBody{r.young, r.old} {
		for _, b := range half {
			held += len(b.body)
		}
	}
	if held > 2*renderedHalf {
		t.Errorf("%d bytes are held", held)
	}
}
