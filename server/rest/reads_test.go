package rest

import (
	"net/http"
	"testing"

	"github.com/teammem/teammem/api"
)

// An answer that holds a text counts as one reading of it; one that does not counts for
// nothing.
func TestReadsAreCounted(t *testing.T) {
	b := newBox(t, nil, nil)
	b.put(map[api.Key]string{"a.md": "a", "b.md": "b"})
	b.put(map[api.Key]string{"c.md": "c"})
	var entry api.Memory
	for _, path := range []string{
		repoPath, // all three
		repoPath + "&since=1",
		repoPath + "&since=2",
		repoPath + "&view=hashes",
		api.PathEntry + "?repo=acme/widgets&key=b.md",
		api.PathEntry + "?repo=acme/widgets&key=b.md&version=1",
		api.PathHistory + "?repo=acme/widgets",
	} {
		w := b.do(http.MethodGet, path, b.viewer, "")
		if w.Code != http.StatusOK {
			t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
		}
		if path == repoPath {
			entry = decode[api.Memory](t, w.Body)
		}
		b.do(http.MethodHead, path, b.viewer, "")
	}
	if w := b.do(http.MethodGet, repoPath, b.viewer, "", "If-None-Match", entry.Checksum.ETag()); w.Code != http.StatusNotModified {
		t.Fatalf("%d", w.Code)
	}
	want := map[api.Key]int64{"a.md": 1, "b.md": 3, "c.md": 2}
	list := decode[api.Catalogue](t, b.do(http.MethodGet, api.PathCatalogue+"?repo=acme/widgets", b.viewer, "").Body)
	for _, e := range list.Entries {
		if e.Reads != want[e.Key] {
			t.Errorf("%s was read %d times, want %d", e.Key, e.Reads, want[e.Key])
		}
	}
	links := decode[api.EntryLinks](t, b.do(http.MethodGet, api.PathLinks+"?repo=acme/widgets&key=b.md", b.viewer, "").Body)
	if len(list.Entries) != 3 || links.Reads != 3 {
		t.Errorf("%d entries; of b.md its links say %d", len(list.Entries), links.Reads)
	}
}
