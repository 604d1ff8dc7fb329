package figures

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/memory"
)

// slow is a store to which each way takes a while.
type slow struct{ *memory.Store }

func (s slow) NoteFigures(ctx context.Context, all []store.Figure) error {
	defer time.Sleep(time.Millisecond)
	time.Sleep(time.Millisecond)
	return s.Store.NoteFigures(ctx, all)
}

func (s slow) NoteReads(ctx context.Context, all []store.Reads) error {
	defer time.Sleep(time.Millisecond)
	time.Sleep(time.Millisecond)
	return s.Store.NoteReads(ctx, all)
}

// What is on its way into the store is told as well, and not twice.
func TestFiguresOnTheirWay(t *testing.T) {
	db := slow{memory.New()}
	org, err := db.CreateOrganization(t.Context(), store.Organization{UID: "org_1", Name: "acme", Created: noon})
	if err != nil {
		t.Fatal(err)
	}
	d := New(slog.New(slog.DiscardHandler), db, func() time.Time { return noon })
	ctx, end := context.WithCancel(t.Context())
	var writes sync.WaitGroup
	writes.Go(func() {
		for ctx.Err() == nil {
			d.write(t.Context())
			d.writeReads(t.Context())
		}
	})
	for n := int64(1); n <= 50; n++ {
		d.Count(ledger.Outcome{Org: org.ID, Repo: "acme/widgets", Counts: store.Counts{Versions: 1}})
		d.Read(7, store.Row{Key: "a.md"})
		stats, err := d.Stats(t.Context(), org.ID, nil, true, Ranges[0])
		reads, failed := d.Reads(t.Context(), 7, []api.Key{"a.md"})
		if err != nil || failed != nil || stats.Total.Versions != n || reads["a.md"] != n {
			t.Fatalf("after %d: %+v, %v; %v, %v", n, stats.Total, err, reads, failed)
		}
	}
	end()
	writes.Wait()
}
