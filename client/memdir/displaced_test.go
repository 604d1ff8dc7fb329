package memdir

import (
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
)

// FuzzRecord: what a name in old/ says is what was put into it, in a name that every file
// system takes, and a stranger's name is no record of ours or a harmless one.
func FuzzRecord(f *testing.F) {
	f.Add("a.md", "x")
	f.Add("Übung/100%.md", "0.0.0.0")
	f.Add(strings.Repeat("ordner/", 100)+"a.md", "key.X")
	f.Add("a+b c&d=e.md", "A.0.0.%zz")
	f.Fuzz(func(t *testing.T, key, stranger string) {
		want := newRecord(api.Key(key), api.ChecksumOf([]byte("new")), "")
		name, whole := want.name()
		if len(name) > maxName || strings.ContainsAny(name, "/\\:\x00<>\"|?*") {
			t.Errorf("the name %q", name)
		}
		got, ok := parseRecord(name)
		if !whole {
			want.key = ""
		}
		if !ok || got != want {
			t.Errorf("%q was read as %+v, want %+v", name, got, want)
		}
		if r, ok := parseRecord(stranger); ok && strings.Count(stranger, ".") < 3 {
			t.Errorf("%q was taken for %+v", stranger, r)
		}
	})
}
