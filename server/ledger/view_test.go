package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

func TestView(t *testing.T) {
	b := newBox(t)
	for i, p := range []api.Push{
		{Entries: texts{"a": "1", "B": "1", "c": "1"}},          // 1
		{Entries: texts{"b": "1"}, Deletions: []api.Key{"B"}},   // 2: a rename
		{Entries: texts{"a": "2", "d/e": "1"}},                  // 3
		{Deletions: []api.Key{"c"}},                             // 4
		{Entries: texts{"f": "1"}},                              // 5
		{Entries: texts{"C": "1"}, Deletions: []api.Key{"d/e"}}, // 6: c comes back spelled anew
	} {
		head := b.push(t, p, map[bool]api.Tags{true: {}, false: anyState}[i == 0])
		if head.Version != api.Version(i+1) {
			t.Fatalf("push %d made version %d", i+1, head.Version)
		}
	}
	cases := []struct {
		since         api.Version
		partial       bool
		live, deleted []api.Key
	}{
		{-1, false, []api.Key{"C", "a", "b", "f"}, []api.Key{"d/e"}},
		{0, false, []api.Key{"C", "a", "b", "f"}, []api.Key{"d/e"}},
		{1, true, []api.Key{"C", "a", "b", "f"}, []api.Key{"d/e"}},
		{2, true, []api.Key{"C", "a", "f"}, []api.Key{"d/e"}},
		{3, true, []api.Key{"C", "f"}, []api.Key{"d/e"}},
		{5, true, []api.Key{"C"}, []api.Key{"d/e"}},
		{6, true, []api.Key{}, []api.Key{}},
		{7, false, []api.Key{"C", "a", "b", "f"}, []api.Key{"d/e"}},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint("since ", c.since), func(t *testing.T) {
			view := b.view(t, c.since)
			if view.Partial != c.partial || view.Head.Version != 6 {
				t.Errorf("partial: %v, version %d", view.Partial, view.Head.Version)
			}
			if live, deleted := keysOfRows(view.Live), keysOfRows(view.Deleted); !slices.Equal(live, c.live) || !slices.Equal(deleted, c.deleted) {
				t.Errorf("live %v, deleted %v; want %v and %v", live, deleted, c.live, c.deleted)
			}
		})
	}
}

// S9: the rows of a view have the checksum of its head, whoever writes meanwhile.
func TestViewsAgreeWithTheirHeads(t *testing.T) {
	b := newBox(t)
	b.push(t, api.Push{Entries: texts{"a": "0"}}, api.Tags{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			push := api.Push{Entries: texts{"a": fmt.Sprint(i), api.Key(fmt.Sprint("n", i%7)): fmt.Sprint(i)}}
			if _, err := b.Push(context.Background(), b.caller, repo, push, anyState); err != nil {
				t.Errorf("push: %v", err)
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		view := b.view(t, 0)
		if checksumOf(view.Live) != view.Head.Checksum {
			t.Fatalf("version %d holds rows of another", view.Head.Version)
		}
	}
}

// tampering changes what a store says.
type tampering struct {
	Store
	view   func(*store.View)
	forget bool // the last body
}

func (s *tampering) View(ctx context.Context, ref store.RepoRef, since api.Version) (store.View, error) {
	view, err := s.Store.View(ctx, ref, since)
	if s.view != nil {
		s.view(&view)
	}
	return view, err
}

func (s *tampering) Bodies(ctx context.Context, org store.OrgID, sums []api.Checksum, fn func(api.Checksum, []byte) error) error {
	if s.forget {
		sums = sums[:len(sums)-1]
	}
	return s.Store.Bodies(ctx, org, sums, fn)
}

// S6: rows that are not those of the head are never served.
func TestDamagedRowsAreAnAlarm(t *testing.T) {
	damages := map[string]func(*store.View){
		"a checksum changed": func(v *store.View) { v.Rows[0].Checksum = api.ChecksumOfString("other") },
		"a key changed":      func(v *store.View) { v.Rows[0].Key = "other" },
		"a row lost":         func(v *store.View) { v.Rows = v.Rows[1:] },
		"a row doubled":      func(v *store.View) { v.Rows = append(v.Rows, v.Rows[0]) },
		"a row undeleted":    func(v *store.View) { v.Rows[len(v.Rows)-1].Deleted = false },
		"the head changed":   func(v *store.View) { v.Head.Checksum = api.ChecksumOfString("other") },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.push(t, api.Push{Entries: texts{"a": "1", "b": "1", "c": "1"}}, api.Tags{})
			b.push(t, api.Push{Deletions: []api.Key{"c"}}, anyState)
			sound := b.Ledger.store
			b.Ledger.store = &tampering{Store: sound, view: damage}
			_, err := b.View(context.Background(), b.caller, repo, 0)
			if e, ok := api.AsError(err); !ok || e.Code != api.Internal || e.Details.ErrorCode != api.ErrorCodeCorrupt {
				t.Errorf("got %v", err)
			}
			if !strings.Contains(b.log.String(), "alarm="+api.ErrorCodeCorrupt) {
				t.Errorf("the log says %q", b.log.String())
			}
			b.Ledger.store = sound
			b.view(t, 0)
		})
	}
}

// What was found sound once is not worked out again for the same version, and is
// for the next.
func TestSoundnessIsRememberedByVersion(t *testing.T) {
	b := newBox(t)
	b.push(t, api.Push{Entries: texts{"a": "1"}}, api.Tags{})
	head := b.view(t, 0).Head
	if !b.sound.knows(head) {
		t.Error("a version that was served is not known to be sound")
	}
	b.push(t, api.Push{Entries: texts{"a": "2"}}, anyState)
	next, err := b.Head(context.Background(), b.caller, repo)
	if err != nil || b.sound.knows(next) {
		t.Errorf("a version that nobody read is known to be sound (%v)", err)
	}
	for id := range store.RepoID(3 * soundHalf) {
		b.sound.note(store.Head{ID: 1000 + id, Version: 1})
	}
	if b.sound.knows(head) || len(b.sound.young)+len(b.sound.old) > 2*soundHalf {
		t.Errorf("%d repos are remembered", len(b.sound.young)+len(b.sound.old))
	}
}

func TestBodies(t *testing.T) {
	b := newBox(t)
	b.push(t, api.Push{Entries: texts{"a": "1", "b": "2", "c": "3"}}, api.Tags{})
	rows := b.view(t, 0).Live
	t.Run("only those asked for", func(t *testing.T) {
		if got, want := b.texts(t, rows[1:]), (texts{"b": "2", "c": "3"}); !maps.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("what the reader says ends it", func(t *testing.T) {
		enough := errors.New("the connection is gone")
		calls := 0
		err := b.Bodies(context.Background(), b.caller, rows, func(store.Row, []byte) error { calls++; return enough })
		if err != enough || calls != 1 {
			t.Errorf("got %v after %d calls", err, calls)
		}
	})
	t.Run("one that is missing is an alarm", func(t *testing.T) {
		lost := append(slices.Clone(rows), store.Row{Key: "d", Checksum: api.ChecksumOfString("never stored")})
		var seen []api.Key
		err := b.Bodies(context.Background(), b.caller, lost, func(row store.Row, _ []byte) error {
			seen = append(seen, row.Key)
			return nil
		})
		if e, ok := api.AsError(err); !ok || e.Details.ErrorCode != api.ErrorCodeCorrupt || !strings.Contains(b.log.String(), "alarm=") {
			t.Errorf("got %v after %v, and the log says %q", err, seen, b.log.String())
		}
	})
	t.Run("a store that ends early is not believed", func(t *testing.T) {
		b.Ledger.store = &tampering{Store: b.store, forget: true}
		err := b.Bodies(context.Background(), b.caller, rows, func(store.Row, []byte) error { return nil })
		if api.CodeOf(err) != api.Internal {
			t.Errorf("got %v", err)
		}
	})
}
