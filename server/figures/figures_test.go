package figures

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/memory"
)

var noon = time.Date(2026, 11, 30, 12, 30, 0, 0, time.UTC)

// broken is a store that cannot be written to while it is set.
type broken struct {
	*memory.Store
	now bool
}

func (b *broken) NoteFigures(ctx context.Context, all []store.Figure) error {
	if b.now {
		return errors.New("no connection")
	}
	return b.Store.NoteFigures(ctx, all)
}

// What is counted is told at once, outlives its server, is not lost with a write that
// failed, and what two servers counted is added up.
func TestWhatHappenedIsKept(t *testing.T) {
	db := &broken{Store: memory.New()}
	org, err := db.CreateOrganization(t.Context(), store.Organization{UID: "org_1", Name: "acme", Created: noon})
	if err != nil {
		t.Fatal(err)
	}
	clock := noon
	server := func() *Desk { return New(slog.New(slog.DiscardHandler), db, func() time.Time { return clock }) }
	refused := ledger.Outcome{Org: org.ID, Repo: "acme/none", Counts: store.Counts{Refused: 1}}
	one, other := server(), server()
	one.Count(refused)
	other.Count(refused)
	total := func(d *Desk, name string) (total int64, last int64) {
		t.Helper()
		r, err := ParseRange(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.Stats(t.Context(), org.ID, nil, true, r)
		if err != nil {
			t.Fatal(err)
		}
		return s.Total.Refused, s.Points[len(s.Points)-1].Refused
	}
	if n, _ := total(one, "24h"); n != 1 {
		t.Errorf("before it is written %d are told", n)
	}
	db.now = true
	one.write(t.Context())
	db.now = false
	one.write(t.Context())
	other.write(t.Context())
	if n, last := total(server(), "24h"); n != 2 || last != 2 {
		t.Errorf("after a restart %d are told, %d of this hour", n, last)
	}
	clock = clock.Add(6 * 24 * time.Hour)
	late := server()
	late.Count(refused)
	if day, _ := total(late, "24h"); day != 1 {
		t.Errorf("of a day %d", day)
	}
	if week, last := total(late, "7d"); week != 3 || last != 1 {
		t.Errorf("of a week %d, the last %d", week, last)
	}
	clock = clock.Add(40 * 24 * time.Hour)
	late.prune(t.Context())
	if old, err := db.Figures(t.Context(), org.ID, time.Time{}); err != nil || len(old) != 0 {
		t.Errorf("old figures stay: %+v, %v", old, err)
	}
}
