package storetest

import (
	"fmt"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const writers = 16

// testConcurrentCommits: writers of one repo, from its first commit on, take
// turns. Each sees everything that came before it, and no version is lost.
func testConcurrentCommits(t *testing.T, w *world) {
	const each = 6
	var group errgroup.Group
	start := make(chan struct{})
	for writer := range writers {
		group.Go(func() error {
			<-start
			for n := range each {
				edits := []edit{write(api.Key(fmt.Sprintf("%d/%d.md", writer, n)), fmt.Sprint(writer, n)), write("counter.md", "")}
				if err := w.count(t, edits); err != nil {
					return fmt.Errorf("writer %d, commit %d: %w", writer, n, err)
				}
			}
			return nil
		})
	}
	close(start)
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	const total = writers * each
	view := w.view(t, 0)
	if view.Head.Version != total || view.Head.Entries != total+1 || len(view.Rows) != total+1 {
		t.Errorf("after %d commits: version %d, %d entries, %d rows", total, view.Head.Version, view.Head.Entries, len(view.Rows))
	}
	past := w.history(t, "counter.md", 0, 2*total)
	if len(past) != total {
		t.Fatalf("the counter has %d changes, want %d", len(past), total)
	}
	for i, p := range past {
		if want := api.ChecksumOfString(fmt.Sprint(total - i)); p.Version != api.Version(total-i) || p.Checksum != want {
			t.Errorf("change %d of the counter is version %d with %s", total-i, p.Version, p.Checksum.Short())
		}
	}
}

// count commits edits of which the last is a counter, which is made from what
// decide is shown: a lost update would make two of one number.
func (w *world) count(t *testing.T, edits []edit) error {
	_, err := w.store.Commit(t.Context(), w.ref, keysOf(edits), func(state store.State) (*store.Change, error) { return w.counted(state, edits) })
	return err
}

// counted is what count asks.
func (w *world) counted(state store.State, edits []edit) (*store.Change, error) {
	if got, want := state.Rows["counter.md"].Version, state.Head.Version; got != want {
		return nil, fmt.Errorf("the counter stands at version %d and the head at %d", got, want)
	}
	edits[len(edits)-1].content = fmt.Sprint(state.Head.Version + 1)
	return w.change(state, edits), nil
}

// testConcurrentRepos: writers of different repos, with contents in common that
// nobody has stored before, do not get in each other's way.
func testConcurrentRepos(t *testing.T, w *world) {
	var group errgroup.Group
	for writer := range writers {
		group.Go(func() error {
			own := *w
			own.ref.Slug = api.RepoSlug(fmt.Sprintf("acme/repo-%d", writer))
			for n := range 5 {
				var edits []edit
				for i := range 5 {
					// Each names the same contents in an order of its own.
					edits = append(edits, write(api.Key(fmt.Sprintf("%d.md", i)), fmt.Sprint("shared ", n, (i*(writer+1))%5)))
				}
				if _, err := own.tryCommit(t.Context(), edits...); err != nil {
					return fmt.Errorf("writer %d: %w", writer, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// testViewIsOneInstant: every commit writes all keys, so a view whose rows are
// not all of the head's version has seen part of one.
func testViewIsOneInstant(t *testing.T, w *world) {
	const commits = 60
	keys := []api.Key{"a.md", "b.md", "c.md", "d/e.md"}
	var edits []edit
	for _, key := range keys {
		edits = append(edits, write(key, "first"))
	}
	w.commit(t, edits...)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for reader := range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					w.wantWhole(t, len(keys), api.Version(reader))
				}
			}
		})
	}
	for n := range commits {
		for i := range edits {
			edits[i].content = fmt.Sprint(n)
		}
		w.commit(t, edits...)
	}
	close(done)
	readers.Wait()
}

func (w *world) wantWhole(t *testing.T, keys int, since api.Version) {
	view, err := w.store.View(t.Context(), w.ref, since)
	if err != nil {
		t.Errorf("View: %v", err)
		return
	}
	if view.Head.Version <= since && len(view.Rows) == 0 {
		return
	}
	whole := len(view.Rows) == keys
	for _, row := range view.Rows {
		whole = whole && row.Version == view.Head.Version
	}
	if !whole {
		t.Errorf("a view of version %d since %d holds\n%s", view.Head.Version, since, show(view.Rows))
	}
}
