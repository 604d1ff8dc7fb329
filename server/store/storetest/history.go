package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// tell writes history so that it can be compared and read.
func tell(all []store.Past) string {
	var b strings.Builder
	for _, p := range all {
		fmt.Fprintf(&b, "v%d %s %s", p.Version, p.Key, p.Checksum.Short())
		if p.Previous != "" {
			fmt.Fprintf(&b, " was %s", p.Previous.Short())
		}
		if p.Deleted {
			b.WriteString(" deleted")
		} else {
			fmt.Fprintf(&b, " %d bytes %s", p.Size, api.NewTime(p.Modified))
		}
		fmt.Fprintf(&b, " by %s from %s at %s\n", p.UserName, p.Client, api.NewTime(p.At))
	}
	return b.String()
}

// past is one line of history as it should be.
func (w *world) past(version api.Version, key api.Key, content, previous string) store.Past {
	p := store.Past{Version: version, At: at(version), UserName: "dana", Client: w.author.Client}
	p.Key, p.Checksum, p.Size, p.Modified = key, api.ChecksumOfString(content), len(content), modifiedAt(version)
	if previous != "" {
		p.Previous = api.ChecksumOfString(previous)
	}
	return p
}

func (w *world) pastDeletion(version api.Version, key api.Key, content string) store.Past {
	p := w.past(version, key, content, content)
	p.Deleted = true
	return p
}

func testHistory(t *testing.T, w *world) {
	if past := w.history(t, "", 0, 10); len(past) != 0 {
		t.Fatalf("history of a repo without memory: %s", tell(past))
	}
	w.commit(t, write("a.md", "a1"), write("b.md", "b1"))
	w.commit(t, write("a.md", "a2"))
	w.commit(t, remove("a.md"))
	w.commit(t, write("a.md", "a4"))
	for _, test := range []struct {
		key    api.Key
		before api.Version
		limit  int
		want   []store.Past
	}{
		{"a.md", 0, 10, []store.Past{
			w.past(4, "a.md", "a4", ""), w.pastDeletion(3, "a.md", "a2"), w.past(2, "a.md", "a2", "a1"), w.past(1, "a.md", "a1", ""),
		}},
		{"a.md", 4, 2, []store.Past{w.pastDeletion(3, "a.md", "a2"), w.past(2, "a.md", "a2", "a1")}},
		{"b.md", 0, 10, []store.Past{w.past(1, "b.md", "b1", "")}},
		{"b.md", 1, 10, nil},
		{"none.md", 0, 10, nil},
		{"", 3, 10, []store.Past{w.past(2, "a.md", "a2", "a1"), w.past(1, "a.md", "a1", ""), w.past(1, "b.md", "b1", "")}},
	} {
		got, want := tell(w.history(t, test.key, test.before, test.limit)), tell(test.want)
		if got != want {
			t.Errorf("History of %q before %d, at most %d:\n%swant\n%s", test.key, test.before, test.limit, got, want)
		}
	}
}

// testHistoryPages reads everything page by page: nothing is missed and nothing
// comes twice, though versions are of different sizes.
func testHistoryPages(t *testing.T, w *world) {
	total := 0
	for v := range 11 {
		var edits []edit
		for i := range v%4 + 1 {
			edits = append(edits, write(api.Key(fmt.Sprintf("%d.md", i)), fmt.Sprint(v, i)))
		}
		w.commit(t, edits...)
		total += len(edits)
	}
	whole := w.history(t, "", 0, 100)
	if len(whole) != total {
		t.Fatalf("history has %d changes, want %d", len(whole), total)
	}
	for limit := 1; limit <= 12; limit++ {
		var pages []store.Past
		var before api.Version
		for {
			page := w.history(t, "", before, limit)
			if len(page) == 0 {
				break
			}
			pages = append(pages, page...)
			before = page[len(page)-1].Version
		}
		if tell(pages) != tell(whole) {
			t.Errorf("pages of %d versions read\n%swant\n%s", limit, tell(pages), tell(whole))
		}
	}
}

func testAudit(t *testing.T, w *world) {
	for v := range 5 {
		w.commit(t, write("a.md", fmt.Sprint(v)), write("ünicode \"quoted\".md", fmt.Sprint(v)))
	}
	records := func(after int64, limit int) []audit.Record {
		t.Helper()
		all, err := w.store.Audit(t.Context(), w.ref, after, limit)
		if err != nil {
			t.Fatalf("Audit: %v", err)
		}
		return all
	}
	all := records(0, 100)
	if len(all) != 5 {
		t.Fatalf("%d audit records, want 5", len(all))
	}
	var previous [32]byte
	for i, r := range all {
		if !r.Verify(previous) {
			t.Errorf("record %d does not come back as it was chained: %+v", i+1, r)
		}
		if r.Seq != int64(i+1) || !r.At.Equal(at(api.Version(i+1))) || r.Action != "push" || r.TokenUID != w.token.UID {
			t.Errorf("record %d: %+v", i+1, r)
		}
		previous = r.Hash
	}
	if page := records(2, 2); len(page) != 2 || page[0].Seq != 3 || page[1].Seq != 4 {
		t.Errorf("Audit after 2, at most 2: %+v", page)
	}
	if state := w.state(t); state.Head.AuditHead != previous {
		t.Error("the head does not name the newest record")
	}
}

// testTenancy: another organization's repo of the same name is another repo, and
// its contents do not exist here, though their checksums are known.
func testTenancy(t *testing.T, w *world) {
	other := newWorld(t, w.store)
	w.commit(t, write("a.md", "ours"))
	if head := other.head(t); public(head) != public(store.Head{}) {
		t.Errorf("the other organization sees a head: %s", public(head))
	}
	if rows := other.view(t, 0).Rows; len(rows) != 0 {
		t.Errorf("the other organization sees rows:\n%s", show(rows))
	}
	if past := other.history(t, "", 0, 10); len(past) != 0 {
		t.Errorf("the other organization sees history:\n%s", tell(past))
	}
	if records, err := w.store.Audit(t.Context(), other.ref, 0, 10); err != nil || len(records) != 0 {
		t.Errorf("the other organization sees audit records: %+v, %v", records, err)
	}
	err := w.store.Bodies(t.Context(), other.org.ID, []api.Checksum{api.ChecksumOfString("ours")}, func(api.Checksum, []byte) error {
		t.Error("the other organization reads the content")
		return nil
	})
	if err == nil {
		t.Error("the other organization is told that the content exists")
	}
	if tokens, err := w.store.Tokens(t.Context(), other.org.ID); err != nil || len(tokens) != 1 || tokens[0].UID != other.token.UID {
		t.Errorf("the other organization's tokens: %+v, %v", tokens, err)
	}
	other.wantState(t, []api.Key{"a.md", "A.md", "a.md/b"})
	other.commit(t, write("a.md", "theirs"))
	want := show([]store.Row{row("a.md", 1, "ours")})
	if got := show(w.view(t, 0).Rows); got != want {
		t.Errorf("after the other organization's commit:\n%swant\n%s", got, want)
	}
}

// testAuthors: each live entry has one line, of the change that made it what it is.
func testAuthors(t *testing.T, w *world) {
	authors := func() (told string) {
		t.Helper()
		all, err := w.store.Authors(t.Context(), w.ref)
		if err != nil {
			t.Fatalf("Authors: %v", err)
		}
		for _, a := range all {
			told += fmt.Sprintf("%s@%d by %s from %s at %s\n", a.Key, a.Version, a.UserName, a.Client, api.NewTime(a.At))
		}
		return told
	}
	if told := authors(); told != "" {
		t.Fatalf("authors of a repo without memory: %s", told)
	}
	w.commit(t, write("b.md", "b1"), write("a.md", "a1"), write("gone.md", "g1"))
	w.commit(t, write("a.md", "a2"), remove("gone.md"))
	line := func(key api.Key, v api.Version) string {
		return fmt.Sprintf("%s@%d by dana from %s at %s\n", key, v, w.author.Client, api.NewTime(at(v)))
	}
	if got, want := authors(), line("a.md", 2)+line("b.md", 1); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
