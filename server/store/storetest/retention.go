package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// testVacuum: the oldest changes of each key go, up to the time and but for those to keep;
// what stands, and what changed since any version, stays as it was.
func testVacuum(t *testing.T, w *world) {
	ctx := t.Context()
	w.commit(t, write("a.md", "a1"), write("b.md", "b1"), write("c.md", "c1")) // 1
	w.commit(t, write("a.md", "a2"))                                           // 2
	w.commit(t, write("a.md", "a3"), write("d.md", "a1"))                      // 3
	w.commit(t, remove("c.md"))                                                // 4
	w.commit(t, write("a.md", "a5"))                                           // 5
	w.index(t, store.SearchPlace{}, store.SearchPlace{Version: 6}, doc("a.md", 2, "alpha"), doc("a.md", 5, "alpha"))
	var views []string
	for since := api.Version(0); since <= 5; since++ {
		views = append(views, fmt.Sprint(w.view(t, since)))
	}
	vacuum := func(cut store.Cut) store.Vacuumed {
		t.Helper()
		done, err := w.store.Vacuum(ctx, w.org.ID, cut)
		if err != nil {
			t.Fatalf("Vacuum %+v: %v", cut, err)
		}
		return done
	}
	forgotten := func(want api.Version) {
		t.Helper()
		if got, err := w.store.Forgotten(ctx, w.ref); err != nil || got != want {
			t.Errorf("Forgotten: %d, %v; want %d", got, err, want)
		}
	}
	if done := vacuum(store.Cut{}); done != (store.Vacuumed{}) {
		t.Errorf("a cut of nothing took %+v", done)
	}
	// Two of a.md stay, however old. a1 is d.md's text as well.
	cut := store.Cut{Before: at(5), Keep: 2, DryRun: true}
	would := vacuum(cut)
	if would.Changes != 2 || would.Contents != 1 || would.Bytes <= 0 {
		t.Errorf("a dry run would take %+v", would)
	}
	forgotten(0)
	if past := w.history(t, "a.md", 0, 10); len(past) != 4 {
		t.Errorf("a dry run took changes: %s", tell(past))
	}
	cut.DryRun = false
	if done := vacuum(cut); done != would {
		t.Errorf("%+v went, and %+v would", done, would)
	}
	forgotten(2)
	if got, want := tell(w.history(t, "a.md", 0, 10)), tell([]store.Past{w.past(5, "a.md", "a5", "a3"), w.past(3, "a.md", "a3", "a2")}); got != want {
		t.Errorf("of a.md there are\n%swant\n%s", got, want)
	}
	w.wantFound(t, "past versions", store.SearchQuery{Terms: []store.SearchTerm{{Words: []string{"alpha"}}}, Past: true}, "a.md@5")
	// Of what was deleted only the deletion stays.
	if done := vacuum(store.Cut{Deleted: at(5)}); done.Changes != 1 || done.Contents != 1 {
		t.Errorf("of deleted entries %+v went", done)
	}
	if got, want := tell(w.history(t, "c.md", 0, 10)), tell([]store.Past{w.pastDeletion(4, "c.md", "c1")}); got != want {
		t.Errorf("of c.md there are\n%swant\n%s", got, want)
	}
	for since, was := range views {
		if is := fmt.Sprint(w.view(t, api.Version(since))); is != was {
			t.Errorf("since %d the view is\n%s\nand was\n%s", since, is, was)
		}
	}
	w.wantTexts(t, "a1", "a3", "a5", "b1")
	if err := w.store.Bodies(ctx, w.org.ID, []api.Checksum{api.ChecksumOfString("c1")}, func(api.Checksum, []byte) error { return nil }); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("the text of c.md is there: %v", err)
	}
	// It can be written anew.
	w.commit(t, write("c.md", "c1"))
	w.wantTexts(t, "c1")
	// Another organization's stay.
	other := newWorld(t, w.store)
	other.commit(t, write("a.md", "a1"))
	other.commit(t, write("a.md", "a2"))
	vacuum(store.Cut{Before: at(100)})
	if past := other.history(t, "a.md", 0, 10); len(past) != 2 {
		t.Errorf("another organization's went: %s", tell(past))
	}
}

// wantTexts reads contents back.
func (w *world) wantTexts(t *testing.T, texts ...string) {
	t.Helper()
	var sums []api.Checksum
	for _, text := range texts {
		sums = append(sums, api.ChecksumOfString(text))
	}
	if err := w.store.Bodies(t.Context(), w.org.ID, sums, func(api.Checksum, []byte) error { return nil }); err != nil {
		t.Errorf("of %q: %v", texts, err)
	}
}

// testVacuumBesideWriters: whoever writes a text again that is about to go has it.
func testVacuumBesideWriters(t *testing.T, w *world) {
	const writers, rounds = 4, 25
	ctx, cancel := context.WithCancel(t.Context())
	var vacuums, writing sync.WaitGroup
	vacuums.Go(func() {
		for ctx.Err() == nil {
			_, err := w.store.Vacuum(ctx, w.org.ID, store.Cut{Before: time.Now().Add(24 * time.Hour)})
			if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrBusy) {
				t.Errorf("Vacuum: %v", err)
			}
		}
	})
	for n := range writers {
		writing.Go(func() {
			key := api.Key(fmt.Sprintf("%d.md", n))
			for round := range rounds {
				if _, err := w.tryCommit(t.Context(), write(key, fmt.Sprint("text ", round%3))); err != nil {
					t.Errorf("Commit: %v", err)
				}
			}
		})
	}
	writing.Wait()
	cancel()
	vacuums.Wait()
	if _, err := w.store.Vacuum(t.Context(), w.org.ID, store.Cut{Before: time.Now().Add(24 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	var sums []api.Checksum
	for _, row := range w.view(t, 0).Rows {
		sums = append(sums, row.Checksum)
		if past := w.history(t, row.Key, 0, 10); len(past) != 1 {
			t.Errorf("%s has %d changes: %s", row.Key, len(past), tell(past))
		}
	}
	if err := w.store.Bodies(t.Context(), w.org.ID, sums, func(api.Checksum, []byte) error { return nil }); err != nil || len(sums) != writers {
		t.Errorf("of %d entries: %v", len(sums), err)
	}
}
