package storetest

import (
	"fmt"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// public leaves out of a head what only Commit reads.
func public(head store.Head) string {
	head.Set, head.AuditHead = nil, [32]byte{}
	return fmt.Sprintf("%+v", head)
}

func testHead(t *testing.T, w *world) {
	if head := w.head(t); public(head) != public(store.Head{}) {
		t.Fatalf("head of a repo without memory: %s", public(head))
	}
	made := w.commit(t, write("a.md", "one"), write("b.md", "three"))
	head := w.head(t)
	want := store.Head{ID: made.ID, Version: 1, Checksum: setChecksum(1), Entries: 2, Bytes: 8, LastModified: at(1)}
	if made.ID == 0 || public(head) != public(want) {
		t.Errorf("Head:\n%s, want\n%s", public(head), public(want))
	}
	w.commit(t, remove("a.md"))
	if head = w.head(t); head.Version != 2 || head.Entries != 1 || head.Bytes != 5 || head.ID != made.ID {
		t.Errorf("head after a deletion: %s", public(head))
	}
}

func testView(t *testing.T, w *world) {
	if view := w.view(t, 0); public(view.Head) != public(store.Head{}) || len(view.Rows) != 0 {
		t.Fatalf("view of a repo without memory: %+v", view)
	}
	// Upper case before lower case, and a slash before letters: byte order.
	w.commit(t, write("b.md", "b"), write("a/z.md", "z"), write("MEMORY.md", "index"), write("ä.md", "ä"), write("a-1.md", "1"))
	w.commit(t, write("b.md", "b2"), remove("a-1.md"))
	view := w.view(t, 0)
	want := show([]store.Row{
		row("MEMORY.md", 1, "index"), tombstone("a-1.md", 2, "1"), row("a/z.md", 1, "z"), row("b.md", 2, "b2"), row("ä.md", 1, "ä"),
	})
	if got := show(view.Rows); got != want {
		t.Errorf("View:\n%swant\n%s", got, want)
	}
	if public(view.Head) != public(w.head(t)) {
		t.Errorf("the view's head:\n%s, want\n%s", public(view.Head), public(w.head(t)))
	}
}

func testViewSince(t *testing.T, w *world) {
	w.commit(t, write("a.md", "a1"), write("b.md", "b1"), write("c.md", "c1"))
	w.commit(t, write("b.md", "b2"))
	w.commit(t, remove("c.md"))
	w.commit(t, write("b.md", "b4"), write("d.md", "d4"))
	for _, test := range []struct {
		since api.Version
		want  []store.Row
	}{
		{0, []store.Row{row("a.md", 1, "a1"), row("b.md", 4, "b4"), tombstone("c.md", 3, "c1"), row("d.md", 4, "d4")}},
		{1, []store.Row{row("b.md", 4, "b4"), tombstone("c.md", 3, "c1"), row("d.md", 4, "d4")}},
		{3, []store.Row{row("b.md", 4, "b4"), row("d.md", 4, "d4")}},
		{4, nil},
		{9, nil},
	} {
		view := w.view(t, test.since)
		if got, want := show(view.Rows), show(test.want); got != want {
			t.Errorf("View since %d:\n%swant\n%s", test.since, got, want)
		}
		if view.Head.Version != 4 {
			t.Errorf("View since %d has the head of version %d", test.since, view.Head.Version)
		}
	}
}

// testViewFarBehind asks over a distance at which a store may well choose
// another way to answer.
func testViewFarBehind(t *testing.T, w *world) {
	const versions = 300
	w.commit(t, write("old.md", "old"))
	for v := api.Version(2); v <= versions; v++ {
		w.commit(t, write("new.md", fmt.Sprint(v)))
	}
	want := show([]store.Row{row("new.md", versions, fmt.Sprint(versions))})
	for _, since := range []api.Version{1, 43, 44, 45, versions - 1} {
		if got := show(w.view(t, since).Rows); got != want {
			t.Errorf("View since %d:\n%swant\n%s", since, got, want)
		}
	}
}
