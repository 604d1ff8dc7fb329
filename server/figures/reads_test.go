package figures

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/memory"
)

// forgetful is a store in which reads cannot be noted while it is set.
type forgetful struct {
	*memory.Store
	now bool
}

func (f *forgetful) NoteReads(ctx context.Context, all []store.Reads) error {
	if f.now {
		return errors.New("no connection")
	}
	return f.Store.NoteReads(ctx, all)
}

// Reads are told at once, add up over servers, are not lost with a write that failed,
// and are written before a server ends.
func TestReadsAreKept(t *testing.T) {
	db := &forgetful{Store: memory.New()}
	server := func() *Desk { return New(slog.New(slog.DiscardHandler), db, func() time.Time { return noon }) }
	a, b := store.Row{Key: "a.md"}, store.Row{Key: "b.md"}
	want := func(d *Desk, of store.RepoID, count int64) {
		t.Helper()
		got, err := d.Reads(t.Context(), of, []api.Key{"a.md", "b.md"})
		if err != nil || got["a.md"] != count || got["b.md"] != 1 {
			t.Errorf("%v, %v; want %d of a.md and one of b.md", got, err, count)
		}
	}
	one, other := server(), server()
	one.Read(7, a, b)
	one.Read(7, a)
	want(one, 7, 2)
	db.now = true
	one.writeReads(t.Context())
	want(one, 7, 2)
	db.now = false
	one.writeReads(t.Context())
	one.writeReads(t.Context()) // not a second time
	want(one, 7, 2)
	other.Read(7, a)
	want(other, 7, 3)
	ended, end := context.WithCancel(t.Context())
	end()
	other.Run(ended)
	want(server(), 7, 3)
	if got, err := one.Reads(t.Context(), 8, []api.Key{"a.md"}); err != nil || len(got) != 0 {
		t.Errorf("of another repo: %v, %v", got, err)
	}
}

// What waits for one write is bounded.
func TestReadsAreBounded(t *testing.T) {
	d := New(slog.New(slog.DiscardHandler), memory.New(), func() time.Time { return noon })
	for i := range mostReads + 10 {
		d.Read(store.RepoID(i), store.Row{Key: "a.md"})
	}
	d.Read(0, store.Row{Key: "a.md"})
	d.countServed()
	if n := len(d.reads); n != mostReads || d.reads[read{0, "a.md"}] != 2 {
		t.Errorf("%d wait, and of the first %d", n, d.reads[read{0, "a.md"}])
	}
}

// A view that is served again and again counts each of its entries each time, beside a
// part of it and beside others.
func TestTheSameRowsAgain(t *testing.T) {
	d := New(slog.New(slog.DiscardHandler), memory.New(), func() time.Time { return noon })
	rows := []store.Row{{Key: "a.md"}, {Key: "b.md"}}
	for i := range 3 {
		d.Read(7, rows...)
		d.Read(7, rows[:1]...)
		d.Read(store.RepoID(100+i), store.Row{Key: "a.md"})
	}
	d.Read(7)
	got, err := d.Reads(t.Context(), 7, []api.Key{"a.md", "b.md"})
	if err != nil || got["a.md"] != 6 || got["b.md"] != 3 {
		t.Errorf("counted %v, %v", got, err)
	}
}
