package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// ears run one side of an Exchange until the test ends.
type ears struct {
	heard  chan store.Announcement
	missed chan struct{}
}

func exchange(t *testing.T, db *DB) ears {
	t.Helper()
	e := ears{make(chan store.Announcement, 10*mostQueued), make(chan struct{}, 100)}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		db.Exchange(ctx, func(a store.Announcement) { e.heard <- a }, func(context.Context) { e.missed <- struct{}{} })
	})
	t.Cleanup(func() { stop(); running.Wait(); _ = db.Close() })
	return e
}

func within[T any](t *testing.T, what string, c <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-c:
	case <-time.After(30 * time.Second):
		t.Fatal(what + " within 30 s: nothing")
	}
	return got
}

func announcement(repo string, v api.Version) store.Announcement {
	return store.Announcement{OrgUID: "org_1", Slug: api.RepoSlug(repo), Version: v, Checksum: api.ChecksumOfString(repo)}
}

// Word reaches every server on the database, and after the loss of the session
// the listener says that it may have missed some, and hears on.
func TestServersTellEachOther(t *testing.T) {
	dsn := pgtest.DSN(t)
	one, two := open(t, dsn), open(t, dsn)
	first, second := exchange(t, one), exchange(t, two)
	within(t, "the first look", first.missed)
	within(t, "the first look", second.missed)
	for v := api.Version(1); v <= 3; v++ {
		want := announcement("acme/widgets", v)
		one.Announce(want)
		for _, e := range []ears{first, second} {
			if got := within(t, "an announcement", e.heard); got != want {
				t.Fatalf("heard %v, want %v", got, want)
			}
		}
		if n := pgtest.EndSessions(t, dsn, listenerName); n != 2 {
			t.Fatalf("%d servers listen, want 2", n)
		}
		within(t, "a look after the loss", first.missed)
		within(t, "a look after the loss", second.missed)
	}
}

// Of the changes of one repo the newest is sent, and of too many repos only that
// there are some.
func TestQueueIsBounded(t *testing.T) {
	q := newQueue()
	for _, v := range []api.Version{1, 3, 2} {
		q.add(announcement("acme/widgets", v))
	}
	want := `{"o":"org_1","r":"acme/widgets","v":3,"c":"` + string(api.ChecksumOfString("acme/widgets")) + `"}`
	if said := q.take(); !slices.Equal(said, []string{want}) {
		t.Errorf("said %q, want %s", said, want)
	}
	for i := range 3 * mostQueued {
		q.add(announcement(fmt.Sprintf("acme/repo-%d", i), 1))
	}
	if said := q.take(); !slices.Equal(said, []string{lookText}) {
		t.Errorf("of too many %d are said", len(said))
	}
	if said := q.take(); said != nil {
		t.Errorf("said twice: %q", said)
	}
}

// What did not get out is not lost: the others are told to look.
func TestAFailedNotificationBecomesALook(t *testing.T) {
	dsn := pgtest.DSN(t)
	one, two := open(t, dsn), open(t, dsn)
	defer func() { _ = one.Close() }()
	e := exchange(t, two)
	within(t, "the first look", e.missed)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	one.Announce(announcement("acme/widgets", 1))
	if err := one.notify(ended); err == nil {
		t.Fatal("notified without a connection")
	}
	if err := one.notify(t.Context()); err != nil {
		t.Fatal(err)
	}
	within(t, "a look", e.missed)
}

// A pooler in transaction mode takes the session away. The listener notices, and
// looks again and again instead.
func TestAPoolerCarriesNoWord(t *testing.T) {
	db := open(t, pgtest.Bouncer(t)+"&default_query_exec_mode=cache_describe")
	e := exchange(t, db)
	within(t, "the first look", e.missed)
	within(t, "the second look", e.missed)
}
