package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// model is a repo in a few maps: what the store should say.
type model struct {
	rows    map[api.Key]store.Row
	past    []store.Past // newest last
	version api.Version
	entries int
	bytes   int64
}

// testModel runs random sequences of commits, refusals and reads against the
// store and the model side by side, each on a repo of its own.
func testModel(t *testing.T, w *world) {
	repos := 0
	rapid.Check(t, func(rt *rapid.T) {
		repos++
		own := *w
		own.ref.Slug = api.RepoSlug(fmt.Sprintf("acme/model-%d", repos))
		m := &model{rows: map[api.Key]store.Row{}}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0:
				m.compare(rt, &own)
			case 1:
				m.refuse(rt, &own)
			default:
				m.commit(rt, &own)
			}
		}
		m.compare(rt, &own)
	})
}

// modelKeys hold no twins and no directories of one another: what to do with
// those is the ledger's business.
var modelKeys = []api.Key{"MEMORY.md", "a.md", "b.md", "dir/c.md", "dir/d.md", "dir/sub/e.md", "ü.md", "Z.md"}

func (m *model) commit(rt *rapid.T, w *world) {
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom(modelKeys), 1, 4, rapid.ID).Draw(rt, "keys")
	var edits []edit
	for _, key := range keys {
		before := m.rows[key]
		live := before.Checksum != "" && !before.Deleted
		if live && rapid.Bool().Draw(rt, "delete") {
			edits = append(edits, remove(key))
		} else {
			edits = append(edits, write(key, rapid.SampledFrom([]string{"", "one", "two", "a longer text\n"}).Draw(rt, "content")))
		}
	}
	var shown store.State
	head, err := w.store.Commit(rt.Context(), w.ref, keys, func(state store.State) (*store.Change, error) {
		shown = state
		return w.change(state, edits), nil
	})
	if err != nil {
		rt.Fatalf("Commit: %v", err)
	}
	m.wantState(rt, keys, shown)
	m.apply(w, edits)
	m.wantHead(rt, head)
}

// wantState: no key has a twin or lies in another, so the touched rows are all.
func (m *model) wantState(rt *rapid.T, keys []api.Key, shown store.State) {
	want := store.State{Rows: map[api.Key]store.Row{}}
	for _, key := range keys {
		if row, ok := m.rows[key]; ok {
			want.Rows[key] = row
		}
	}
	if got, want := show(rowsOf(shown)), show(rowsOf(want)); got != want || shown.Head.Version != m.version {
		rt.Fatalf("decide is shown version %d with\n%swant %d with\n%s", shown.Head.Version, got, m.version, want)
	}
}

func (m *model) apply(w *world, edits []edit) {
	m.version++
	slices.SortFunc(edits, func(a, b edit) int { return -compareKeys(a.key, b.key) })
	for _, e := range edits {
		before := m.rows[e.key]
		past := store.Past{Version: m.version, At: at(m.version), UserName: "dana", Client: w.author.Client}
		past.Key, past.Checksum, past.Deleted = e.key, before.Checksum, e.deleted
		if before.Checksum != "" && !before.Deleted {
			past.Previous = before.Checksum
			m.entries--
			m.bytes -= int64(before.Size)
		}
		if !e.deleted {
			m.entries++
			m.bytes += int64(len(e.content))
			past.Checksum, past.Size, past.Modified = api.ChecksumOfString(e.content), len(e.content), modifiedAt(m.version)
		}
		m.past = append(m.past, past)
		m.rows[e.key] = store.Row{
			Key: e.key, Checksum: past.Checksum, Deleted: e.deleted, Size: past.Size, Modified: past.Modified, Version: m.version,
		}
	}
}

func compareKeys(a, b api.Key) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

var errRefused = errors.New("refused")

func (m *model) refuse(rt *rapid.T, w *world) {
	_, err := w.store.Commit(rt.Context(), w.ref, modelKeys, func(state store.State) (*store.Change, error) {
		if rapid.Bool().Draw(rt, "nil") {
			return nil, nil
		}
		return w.change(state, []edit{write("a.md", "never")}), errRefused
	})
	if err != nil && !errors.Is(err, errRefused) {
		rt.Fatalf("Commit that is refused: %v", err)
	}
}

func (m *model) wantHead(rt *rapid.T, head store.Head) {
	if head.Version != m.version || head.Entries != m.entries || head.Bytes != m.bytes {
		rt.Fatalf("head is version %d with %d entries of %d bytes, want %d with %d of %d",
			head.Version, head.Entries, head.Bytes, m.version, m.entries, m.bytes)
	}
}

// compare asks the store everything and the model the same.
func (m *model) compare(rt *rapid.T, w *world) {
	since := api.Version(rapid.Int64Range(0, int64(m.version)+1).Draw(rt, "since"))
	view, err := w.store.View(rt.Context(), w.ref, since)
	if err != nil {
		rt.Fatalf("View: %v", err)
	}
	m.wantHead(rt, view.Head)
	want := store.State{Rows: map[api.Key]store.Row{}}
	for key, row := range m.rows {
		if row.Version > since {
			want.Rows[key] = row
		}
	}
	if got, want := show(view.Rows), show(rowsOf(want)); got != want {
		rt.Fatalf("View since %d:\n%swant\n%s", since, got, want)
	}
	key := rapid.SampledFrom(append([]api.Key{""}, modelKeys...)).Draw(rt, "history of")
	before := api.Version(rapid.Int64Range(0, int64(m.version)+1).Draw(rt, "before"))
	limit := rapid.IntRange(1, 4).Draw(rt, "limit")
	past, err := w.store.History(rt.Context(), w.ref, key, before, limit)
	if err != nil {
		rt.Fatalf("History: %v", err)
	}
	if got, want := tell(past), tell(m.page(key, before, limit)); got != want {
		rt.Fatalf("History of %q before %d, %d versions:\n%swant\n%s", key, before, limit, got, want)
	}
}

// page is History of the model.
func (m *model) page(key api.Key, before api.Version, limit int) (page []store.Past) {
	versions := map[api.Version]bool{}
	for _, p := range slices.Backward(m.past) {
		if (key != "" && p.Key != key) || (before > 0 && p.Version >= before) {
			continue
		}
		if versions[p.Version] = true; len(versions) > limit {
			break
		}
		page = append(page, p)
	}
	return page
}
