package standby_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/postgres"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
	"github.com/teammem/teammem/server/store/standby"
)

// open opens a store on a database whose schema is there.
func open(t *testing.T, dsn string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), slog.New(slog.DiscardHandler), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestReadsFromAReplica: on a real replica, what is not older than what is known is its
// answer, and everything else the primary's.
func TestReadsFromAReplica(t *testing.T) {
	dsn := pgtest.DSN(t)
	if err := postgres.Migrate(t.Context(), slog.New(slog.DiscardHandler), dsn); err != nil {
		t.Fatal(err)
	}
	follower := pgtest.Replica(t)
	primary := open(t, dsn)
	replica, err := postgres.OpenReplica(t.Context(), slog.New(slog.DiscardHandler), follower.At(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = replica.Close() })
	now := time.Now()
	clock := func() time.Time { return now }
	db := standby.New(slog.New(slog.DiscardHandler), primary, replica, clock)
	other := standby.New(slog.New(slog.DiscardHandler), primary, replica, clock) // another server, which hears only what it is told
	org, err := db.CreateOrganization(t.Context(), store.Organization{UID: "org_1", Name: "acme", Created: now})
	if err != nil {
		t.Fatal(err)
	}
	ref := store.RepoRef{Org: org.ID, Slug: "acme/widgets"}
	rules := ledger.New(slog.New(slog.DiscardHandler), db, clock, api.DefaultLimits, nil, nil)
	put := func(text string) {
		t.Helper()
		push := api.Push{Entries: map[api.Key]string{"a.md": text}}
		tags := api.Tags{}
		if head, err := primary.Head(t.Context(), ref); err == nil && head.Version > 0 {
			tags, _ = api.ParseTags([]string{head.Checksum.ETag()})
		}
		if _, err := rules.Push(t.Context(), ledger.Caller{Org: org.ID, OrgUID: org.UID, Role: api.Member}, ref.Slug, push, tags); err != nil {
			t.Fatal(err)
		}
	}
	put("one")
	put("two")
	caughtUp(t, replica, ref, 2)

	// view asks a server what changed after a version, and reports who answered.
	view := func(who *standby.Store, since api.Version) (version api.Version, byReplica bool) {
		t.Helper()
		before, _ := who.Counts()
		got, err := who.View(t.Context(), ref, since)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := who.Counts()
		return got.Head.Version, after > before
	}
	want := func(what string, who *standby.Store, since, version api.Version, byReplica bool) {
		t.Helper()
		got, replied := view(who, since)
		if got != version || replied != byReplica {
			t.Errorf("%s: version %d, by the replica: %v; want %d, %v", what, got, replied, version, byReplica)
		}
	}
	want("what changed after 1", db, 1, 2, true)
	want("everything", db, 0, 2, false)
	want("that nothing changed", db, 2, 2, false)

	follower.Exec(t, "SELECT pg_wal_replay_pause()")
	put("three") // which the replica does not show
	want("a change of this server's own", db, 1, 3, false)
	want("from before what the replica has", other, 1, 2, true)
	want("from what the replica has", other, 2, 3, false)
	other.Heard(t.Context(), store.Announcement{OrgUID: org.UID, Slug: ref.Slug, Version: 3})
	want("a change that was heard of", other, 1, 3, false)
	follower.Exec(t, "SELECT pg_wal_replay_resume()")
	caughtUp(t, replica, ref, 3)
	want("when the replica has caught up", db, 1, 3, true)
	want("the same, of the other server", other, 1, 3, true)

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.View(gone, ref, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("who has gone is told %v", err)
	}
	want("after somebody went", db, 1, 3, true)

	_ = replica.Close()
	replaced := standby.New(slog.New(slog.DiscardHandler), primary, away{}, clock)
	want("while the replica is away", replaced, 1, 3, false)
}

// away is a replica that cannot be reached.
type away struct{}

func (away) Epoch(context.Context) (api.Epoch, error) { return "", store.ErrBusy }
func (away) View(context.Context, store.RepoRef, api.Version) (store.View, error) {
	panic("asked though it is away")
}

func caughtUp(t *testing.T, replica *postgres.DB, ref store.RepoRef, version api.Version) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(5 * time.Millisecond) {
		head, err := replica.Head(t.Context(), ref)
		if err == nil && head.Version >= version {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the replica does not get to version %d: %v", version, err)
		}
	}
}
