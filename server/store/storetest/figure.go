package storetest

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// testFigures: what is noted twice is added, by repo and hour; what is old goes.
func testFigures(t *testing.T, w *world) {
	w.commit(t, write("a.md", "a"))
	hour := time.Date(2001, 1, 1, 9, 0, 0, 0, time.UTC) // before anything that other worlds note
	one := store.Figure{Org: w.org.ID, Slug: w.ref.Slug, Hour: hour, Counts: store.Counts{
		Versions: 1, Created: 2, Changed: 3, Deleted: 4, Conflicts: 5, Refused: 6, Held: 7, Bytes: 8,
	}}
	none := store.Figure{Org: w.org.ID, Slug: "acme/none", Hour: hour.Add(time.Hour), Counts: store.Counts{Refused: 1}}
	for range 2 {
		if err := w.store.NoteFigures(t.Context(), []store.Figure{none, one}); err != nil {
			t.Fatalf("NoteFigures: %v", err)
		}
	}
	one.Add(one.Counts)
	none.Add(none.Counts)
	none.Slug = ""
	figures := func(from time.Time) []store.Figure {
		t.Helper()
		all, err := w.store.Figures(t.Context(), w.org.ID, from)
		if err != nil {
			t.Fatalf("Figures: %v", err)
		}
		return all
	}
	if got, want := figures(hour), []store.Figure{one, none}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := figures(hour.Add(time.Hour)); len(got) != 1 {
		t.Errorf("from an hour later: %+v", got)
	}
	if err := w.store.DropFigures(t.Context(), hour.Add(time.Hour)); err != nil {
		t.Fatalf("DropFigures: %v", err)
	}
	if got := figures(hour); len(got) != 1 || got[0].Slug != "" {
		t.Errorf("after the old ones went: %+v", got)
	}
	if bytes, err := w.store.Storage(t.Context(), w.org.ID); err != nil || bytes != 1 {
		t.Errorf("Storage: %d, %v", bytes, err)
	}
}

// testClients: the newest word of each counts; of too many of one user the last stay.
func testClients(t *testing.T, w *world) {
	long := time.Date(2001, 1, 1, 9, 0, 0, 0, time.UTC)
	say := func(uid string, at time.Time, word string) {
		t.Helper()
		c := store.Client{Org: w.org.ID, User: w.token.User, UID: uid, Seen: at, Document: []byte(word)}
		if err := w.store.NoteClients(t.Context(), []store.Client{c}); err != nil {
			t.Fatalf("NoteClients: %v", err)
		}
	}
	clients := func(user store.UserID) []store.Client {
		t.Helper()
		all, err := w.store.Clients(t.Context(), w.org.ID, user)
		if err != nil {
			t.Fatalf("Clients: %v", err)
		}
		return all
	}
	say("a", long.Add(2*time.Second), `{"n":2}`)
	say("a", long.Add(time.Second), `{"n":1}`)
	want := []store.Client{{Org: w.org.ID, User: w.token.User, UID: "a", Seen: long.Add(2 * time.Second), Document: []byte(`{"n":2}`), UserName: "dana"}}
	if got := clients(0); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := clients(w.token.User + 1000); len(got) != 0 {
		t.Errorf("of somebody else: %+v", got)
	}
	for i := range store.MostDirectories {
		say(fmt.Sprintf("b%03d", i), long.Add(time.Hour), "{}")
	}
	if got := clients(w.token.User); len(got) != store.MostDirectories || got[0].UID != "b000" {
		t.Errorf("%d are kept, the first is %s", len(got), got[0].UID)
	}
	if err := w.store.DropClients(t.Context(), long.Add(2*time.Hour)); err != nil || len(clients(0)) != 0 {
		t.Errorf("DropClients: %v, %d stay", err, len(clients(0)))
	}
}

// testReads: what is noted twice is added, of one repo and one key.
func testReads(t *testing.T, w *world) {
	repo := w.commit(t, write("a.md", "a"), write("b.md", "b")).ID
	for range 2 {
		if err := w.store.NoteReads(t.Context(), []store.Reads{{Repo: repo, Key: "b.md", Count: 1}, {Repo: repo, Key: "a.md", Count: 3}}); err != nil {
			t.Fatalf("NoteReads: %v", err)
		}
	}
	for _, c := range []struct {
		repo store.RepoID
		keys []api.Key
		want map[api.Key]int64
	}{
		{repo, []api.Key{"a.md", "never.md"}, map[api.Key]int64{"a.md": 6}},
		{repo, []api.Key{"a.md", "b.md"}, map[api.Key]int64{"a.md": 6, "b.md": 2}},
		{repo, nil, map[api.Key]int64{}},
		{repo + 1_000_000, []api.Key{"a.md"}, map[api.Key]int64{}},
	} {
		if got, err := w.store.Reads(t.Context(), c.repo, c.keys); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("Reads of %v: %v, %v; want %v", c.keys, got, err, c.want)
		}
	}
}
