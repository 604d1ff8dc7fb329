package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
)

// The table of protocol 1.3 for a PUT that would change something. The repo is at
// version 7 and holds a.md and b.md; gone.md was deleted.
func TestPrecondition(t *testing.T) {
	now := api.ChecksumOfString("the set")
	a, b, old := api.ChecksumOfString("a"), api.ChecksumOfString("b"), api.ChecksumOfString("old")
	standing := map[api.Key]api.Checksum{"a.md": a, "b.md": b}
	type base = map[api.Key]*api.Checksum
	current, stale, anything := now.ETag(), old.ETag(), "*"

	for _, c := range []struct {
		name      string
		empty     bool // the repo has no memory
		ifMatch   string
		base      base
		pending   []api.Key
		conflicts []api.Key // of a 412; nil with refused false: applied
		refused   bool
	}{
		{name: "nothing named, no memory", empty: true, pending: []api.Key{"a.md"}},
		{name: "nothing named, memory", pending: []api.Key{"a.md"}, refused: true},
		{name: "nothing named, memory, a new key", pending: []api.Key{"new.md"}, refused: true},

		{name: "If-Match current", ifMatch: current, pending: []api.Key{"a.md", "new.md"}},
		{name: "If-Match current in a list", ifMatch: stale + ", W/" + current, pending: []api.Key{"a.md"}},
		{name: "If-Match *, memory", ifMatch: anything, pending: []api.Key{"a.md"}},
		{name: "If-Match *, no memory", empty: true, ifMatch: anything, pending: []api.Key{"a.md"}, refused: true},
		{name: "If-Match stale", ifMatch: stale, pending: []api.Key{"a.md"}, refused: true},
		{name: "If-Match of a stranger", ifMatch: `"x"`, pending: []api.Key{"a.md"}, refused: true},
		{name: "If-Match, no memory", empty: true, ifMatch: current, pending: []api.Key{"a.md"}, refused: true},

		{name: "every base holds", base: base{"a.md": &a, "new.md": nil}, pending: []api.Key{"a.md", "new.md"}},
		{name: "the base of a key not pending may be stale", base: base{"a.md": &old, "new.md": nil}, pending: []api.Key{"new.md"}},
		{name: "a base is stale", base: base{"a.md": &old, "b.md": &b}, pending: []api.Key{"a.md", "b.md"}, conflicts: []api.Key{"a.md"}, refused: true},
		{name: "two are stale", base: base{"a.md": &old, "b.md": &old}, pending: []api.Key{"a.md", "b.md"}, conflicts: []api.Key{"a.md", "b.md"}, refused: true},
		{name: "must not exist, and does", base: base{"a.md": nil}, pending: []api.Key{"a.md"}, conflicts: []api.Key{"a.md"}, refused: true},
		{name: "must exist, and does not", base: base{"gone.md": &old}, pending: []api.Key{"gone.md"}, conflicts: []api.Key{"gone.md"}, refused: true},
		{name: "restore", base: base{"gone.md": nil}, pending: []api.Key{"gone.md"}},
		{name: "bases, no memory", empty: true, base: base{"a.md": nil}, pending: []api.Key{"a.md"}},
		{name: "a base, no memory", empty: true, base: base{"a.md": &a}, pending: []api.Key{"a.md"}, conflicts: []api.Key{"a.md"}, refused: true},

		{name: "a key without a base", base: base{"a.md": &a}, pending: []api.Key{"a.md", "b.md"}, refused: true},
		{name: "a key without a base, no memory", empty: true, base: base{"a.md": nil}, pending: []api.Key{"a.md", "b.md"}, refused: true},
		{name: "a key without a base, If-Match beside it", ifMatch: current, base: base{"a.md": &a}, pending: []api.Key{"a.md", "b.md"}},
		{name: "both hold", ifMatch: current, base: base{"a.md": &a}, pending: []api.Key{"a.md"}},
		{name: "base holds, If-Match does not", ifMatch: stale, base: base{"a.md": &a}, pending: []api.Key{"a.md"}, refused: true},
		{name: "If-Match holds, base does not", ifMatch: current, base: base{"a.md": &old}, pending: []api.Key{"a.md"}, conflicts: []api.Key{"a.md"}, refused: true},
		{name: "If-Match * and a stale base", ifMatch: anything, base: base{"a.md": &old}, pending: []api.Key{"a.md"}, conflicts: []api.Key{"a.md"}, refused: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tags api.Tags
			if c.ifMatch != "" {
				var err error
				if tags, err = api.ParseTags([]string{c.ifMatch}); err != nil {
					t.Fatal(err)
				}
			}
			version, checksum, held := api.Version(7), now, standing
			if c.empty {
				version, checksum, held = 0, "", nil
			}
			push := api.Push{BaseChecksums: c.base}
			e := push.Precondition(tags).Holds(version, checksum, func(k api.Key) api.Checksum { return held[k] }, c.pending)
			if (e != nil) != c.refused {
				t.Fatalf("got %v, want a refusal: %v", e, c.refused)
			}
			if e == nil {
				return
			}
			checkConflict(t, e, version, checksum)
			var named []api.Key
			for _, conflict := range e.Details.Conflicts {
				named = append(named, conflict.Key)
				if got := held[conflict.Key]; (conflict.Checksum == nil) != (got == "") || conflict.Checksum != nil && *conflict.Checksum != got {
					t.Errorf("of %s it says %v, want %v", conflict.Key, conflict.Checksum, got)
				}
			}
			if !slices.Equal(named, c.conflicts) {
				t.Errorf("the conflicts are %v, want %v", named, c.conflicts)
			}
			if len(c.conflicts) == 1 && !strings.Contains(e.Message, string(c.conflicts[0])) {
				t.Errorf("the message does not name the key: %s", e.Message)
			}
		})
	}
}

// checkConflict: a 412 says where the repo stands, so that a plan can be made
// anew (protocol 2.1).
func checkConflict(t *testing.T, e *api.Error, version api.Version, checksum api.Checksum) {
	t.Helper()
	if e.HTTPStatus() != 412 || e.Details.ErrorCode != api.ErrorCodeConflict {
		t.Errorf("it is %d %s, want 412 %s", e.HTTPStatus(), e.Details.ErrorCode, api.ErrorCodeConflict)
	}
	if e.Details.Version == nil || *e.Details.Version != version || e.Details.Checksum != checksum || e.Details.Conflicts == nil {
		t.Errorf("it says %+v, want version %d, checksum %s and a list", e.Details, version, checksum)
	}
}

func TestSortedKeys(t *testing.T) {
	got := api.SortedKeys(map[api.Key]int{"b": 1, "a/b": 2, "a": 3, "A": 4, "é": 5})
	if want := []api.Key{"A", "a", "a/b", "b", "é"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
