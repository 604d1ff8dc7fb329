package recall

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// shelf is a directory of memories, written so long ago that what is read of them is
// believed.
func shelf(t *testing.T) (dir string, now time.Time) {
	t.Helper()
	dir = t.TempDir()
	notes, _ := fixture(t)
	for _, n := range notes {
		put(t, dir, n.Path, "---\nname: "+n.Name+"\ndescription: "+n.Description+"\n---\n"+n.Body)
	}
	return dir, time.Now().Add(time.Minute)
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func follow(t *testing.T, l *Library, now time.Time, want int) {
	t.Helper()
	changes, err := l.Refresh(t.Context(), now)
	if err != nil || changes != want {
		t.Fatalf("%d changes, %v; want %d", changes, err, want)
	}
}

// A changed file is read again, and no other; what is gone is forgotten.
func TestALibraryFollowsItsDirectory(t *testing.T) {
	dir, now := shelf(t)
	put(t, dir, "MEMORY.md", "- [Sourdough](s.md) — an index is no memory")
	put(t, dir, "notes.txt", "sourdough")
	put(t, dir, ".teammem/tmp/x.md", "sourdough")
	put(t, dir, "team/deep/bread.md", "sourdough starter")
	cache := filepath.Join(t.TempDir(), "state", "recall.index")
	l := Open(cache, Shelf{Dir: dir})
	follow(t, l, now, 27)
	find := func(l *Library, question string) string {
		if m := l.Search(Query{Text: question}); len(m) > 0 {
			return m[0].Path
		}
		return ""
	}
	if got := find(l, "sourdough"); got != "team/deep/bread.md" {
		t.Errorf("found %q", got)
	}
	if err := l.Save(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(cache); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v: the cache is for its owner", info.Mode(), err)
	}

	again := Open(cache, Shelf{Dir: dir})
	follow(t, again, now, 0)
	put(t, dir, "filler_css.md", "rye bread")
	if err := os.Remove(filepath.Join(dir, "team", "deep", "bread.md")); err != nil {
		t.Fatal(err)
	}
	follow(t, again, now, 2)
	if got := find(again, "sourdough"); got != "" {
		t.Errorf("found %q, which is gone", got)
	}
	if got := find(again, "rye bread"); got != "filler_css.md" {
		t.Errorf("found %q", got)
	}
	if got := find(again, "stylesheet colours"); got != "" {
		t.Errorf("found %q by what it held before", got)
	}
	follow(t, Open("", Shelf{Dir: filepath.Join(dir, "nothing")}), now, 0)
}

// What comes from the cache answers as what comes from the files.
func TestTheCacheIsTheIndex(t *testing.T) {
	dir, now := shelf(t)
	cache := filepath.Join(t.TempDir(), "recall.index")
	l := Open(cache, Shelf{Dir: dir, Prefix: "team/"})
	follow(t, l, now, 26)
	if err := l.Save(); err != nil {
		t.Fatal(err)
	}
	cached := Open(cache, Shelf{Dir: dir, Prefix: "team/"})
	follow(t, cached, now, 0)
	for _, question := range []string{"kubectl staging", "数据库备份", "release freeze", "nothing of the kind"} {
		want, got := l.Search(Query{Text: question}), cached.Search(Query{Text: question})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", question, got, want)
		}
	}
}

// A damaged cache is no cache: never a wrong answer, never a panic.
func TestADamagedCacheIsNone(t *testing.T) {
	dir, now := shelf(t)
	cache := filepath.Join(t.TempDir(), "recall.index")
	l := Open(cache, Shelf{Dir: dir})
	follow(t, l, now, 26)
	if err := l.Save(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(cache)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		damaged := append([]byte{}, whole...)
		at := rapid.IntRange(0, len(damaged)-1).Draw(r, "at")
		if rapid.Bool().Draw(r, "cut") {
			damaged = damaged[:at]
		} else {
			damaged[at] ^= rapid.Byte().Filter(func(b byte) bool { return b != 0 }).Draw(r, "bits")
		}
		if docs, _, err := decode(damaged); err == nil {
			r.Fatalf("%d documents were taken from it", len(docs))
		}
	})
	if err := os.WriteFile(cache, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	follow(t, Open(cache, Shelf{Dir: dir}), now, 26)
}

func FuzzDecode(f *testing.F) {
	l := &Library{Index: NewIndex()}
	l.Set(Note{Path: "a.md", Name: "a", Body: "some words, 数据库"})
	f.Add(l.encode())
	f.Add([]byte(cacheMagic))
	f.Fuzz(func(t *testing.T, content []byte) {
		r := reader{rest: content}
		for !r.bad && len(r.rest) > 0 {
			r.document()
		}
		_, _, _ = decode(content)
	})
}
