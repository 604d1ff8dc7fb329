package storetest

import (
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// wantState compares what decide is shown for the touched keys.
func (w *world) wantState(t *testing.T, touched []api.Key, want ...store.Row) {
	t.Helper()
	got := rowsOf(w.state(t, touched...))
	if show(got) != show(want) {
		t.Errorf("touching %q, decide is shown\n%swant\n%s", touched, show(got), show(want))
	}
}

func testStateOfTouched(t *testing.T, w *world) {
	w.commit(t, write("a.md", "a"), write("b.md", "b"), write("c.md", "c"), write("dir/d.md", "d"))
	w.commit(t, remove("b.md"), write("c.md", "c2"))
	w.wantState(t, []api.Key{"a.md"}, row("a.md", 1, "a"))
	w.wantState(t, []api.Key{"b.md", "c.md", "new.md"}, tombstone("b.md", 2, "b"), row("c.md", 2, "c2"))
	w.wantState(t, []api.Key{"dir/d.md", "dir/e.md"}, row("dir/d.md", 1, "d"))
	w.wantState(t, nil)
}

// testStateOfTwins: a live twin is shown, a deleted one is not.
func testStateOfTwins(t *testing.T, w *world) {
	w.commit(t, write("Note.md", "n"), write("caf\u00e9.md", "c"), write("stra\u00dfe.md", "s"), write("gone.md", "g"))
	w.commit(t, remove("gone.md"))
	w.wantState(t, []api.Key{"NOTE.md"}, row("Note.md", 1, "n"))
	w.wantState(t, []api.Key{"cafe\u0301.md"}, row("caf\u00e9.md", 1, "c"))
	w.wantState(t, []api.Key{"STRASSE.md"}, row("stra\u00dfe.md", 1, "s"))
	w.wantState(t, []api.Key{"GONE.md"})
	w.wantState(t, []api.Key{"gone.md"}, tombstone("gone.md", 2, "g"))
}

// testStateOfDirectories: a live key above a touched one, and one below it.
func testStateOfDirectories(t *testing.T, w *world) {
	w.commit(t, write("a", "a"), write("B/c", "c"), write("x/y/z.md", "z"), write("dead", "d"), write("ghost/g.md", "g"),
		write("x.md", "x"), write("x0", "0"), write("100%/_.md", "p"))
	w.commit(t, remove("dead"), remove("ghost/g.md"))
	w.wantState(t, []api.Key{"a/new.md"}, row("a", 1, "a"))
	w.wantState(t, []api.Key{"A/deep/er.md"}, row("a", 1, "a"))
	w.wantState(t, []api.Key{"b/C/d.md"}, row("B/c", 1, "c"))
	w.wantState(t, []api.Key{"dead/new.md"})
	w.wantState(t, []api.Key{"x"}, row("x/y/z.md", 1, "z"))
	w.wantState(t, []api.Key{"X/Y"}, row("x/y/z.md", 1, "z"))
	w.wantState(t, []api.Key{"ghost"})
	w.wantState(t, []api.Key{"x/y"}, row("x/y/z.md", 1, "z"))
	// Nothing in a key is a pattern.
	w.wantState(t, []api.Key{"%", "_", "1%", "*", "?"})
	w.wantState(t, []api.Key{"100%"}, row("100%/_.md", 1, "p"))
}

func testTombstones(t *testing.T, w *world) {
	w.commit(t, write("a.md", "one"))
	w.commit(t, remove("a.md"))
	want := show([]store.Row{tombstone("a.md", 2, "one")})
	if got := show(w.view(t, 0).Rows); got != want {
		t.Errorf("after the deletion:\n%swant\n%s", got, want)
	}
	w.commit(t, write("a.md", "again"))
	want = show([]store.Row{row("a.md", 3, "again")})
	if got := show(w.view(t, 0).Rows); got != want {
		t.Errorf("after the revival:\n%swant\n%s", got, want)
	}
	if head := w.head(t); head.Entries != 1 || head.Bytes != 5 {
		t.Errorf("head after the revival: %s", public(head))
	}
	// What was deleted is still in the store, for a restore.
	err := w.store.Bodies(t.Context(), w.org.ID, []api.Checksum{api.ChecksumOfString("one")}, func(_ api.Checksum, content []byte) error {
		if string(content) != "one" {
			t.Errorf("the deleted content reads %q", content)
		}
		return nil
	})
	if err != nil {
		t.Errorf("Bodies of a deleted content: %v", err)
	}
}

// testRenameToTwin: one change may take the old spelling away and bring the new,
// in whichever order it names them.
func testRenameToTwin(t *testing.T, w *world) {
	w.commit(t, write("note.md", "n"))
	w.commit(t, write("Note.md", "n"), remove("note.md"))
	want := show([]store.Row{row("Note.md", 2, "n"), tombstone("note.md", 2, "n")})
	if got := show(w.view(t, 0).Rows); got != want {
		t.Errorf("after a rename:\n%swant\n%s", got, want)
	}
	w.commit(t, remove("Note.md"), write("NOTE.md", "n"))
	w.wantState(t, []api.Key{"note.md"}, row("NOTE.md", 3, "n"), tombstone("note.md", 2, "n"))
}

// testTwinRefused: whatever decide says, two live twins cannot stand.
func testTwinRefused(t *testing.T, w *world) {
	w.commit(t, write("note.md", "n"))
	if _, err := w.tryCommit(t.Context(), write("other.md", "o"), write("NOTE.md", "N")); err == nil {
		t.Error("two live twins stand")
	}
	want := show([]store.Row{row("note.md", 1, "n")})
	if got := show(w.view(t, 0).Rows); got != want {
		t.Errorf("after the refusal:\n%swant\n%s", got, want)
	}
	if head := w.head(t); head.Version != 1 {
		t.Errorf("version %d after the refusal", head.Version)
	}
}

// testStrangeKeys: the longest keys there can be, and those whose fold is three
// times as long.
func testStrangeKeys(t *testing.T, w *world) {
	segment := strings.Repeat("s", api.MaxSegmentBytes)
	long := segment + "/" + segment + "/" + segment + "/" + segment
	// Musical symbols that NFC takes apart: 4 bytes become 12.
	var notes strings.Builder
	for i := range 63 * 4 {
		if i > 0 && i%63 == 0 {
			notes.WriteByte('/')
		}
		notes.WriteRune(rune(0x1D160 + (i*i+i/7)%5))
	}
	keys := []api.Key{
		api.Key(long), api.Key(notes.String()), "it's \"quoted\".md", "back`tick $1 ? %s.md", "\u202eevil.md", "日本語/メモ.md", "a,b;{c}.md",
	}
	var edits []edit
	var want []store.Row
	for _, key := range keys {
		edits = append(edits, write(key, string(key)))
		want = append(want, row(key, 1, string(key)))
	}
	w.commit(t, edits...)
	state := store.State{Rows: map[api.Key]store.Row{}}
	for _, r := range want {
		state.Rows[r.Key] = r
	}
	if got, want := show(w.view(t, 0).Rows), show(rowsOf(state)); got != want {
		t.Errorf("View:\n%swant\n%s", got, want)
	}
	w.wantState(t, keys, rowsOf(state)...)
}
