// Package standby answers reads of what has changed from a replica of the database,
// where that is certain to be no older than what the caller has seen.
//
// A [Store] is the primary, for everything but one question: a [Store.View] of what
// changed after a version. That one the replica is asked first, and its answer counts
// where it is newer than the version asked from, and not older than what this server
// has read, written or heard of in that repo; version and rows are of one snapshot. That nothing has changed
// is for the primary to say, so who comes because of an event is not told there is
// nothing. Whoever names no version, every write, every question of rights, and the
// contents themselves (which may have been withdrawn since) are the primary's.
//
// A replica that does not answer, or not in time, is left alone for a while, and the
// primary is asked; one of another epoch is never believed. It keeps nothing but the
// newest versions that it knows of, of so many repos.
package standby

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	// patience is how long the replica may take; the primary is asked then.
	patience = 2 * time.Second
	// awayTime is for how long a replica that failed is left alone.
	awayTime = 5 * time.Second
	// mostKnown is of how many repos the newest versions are known, twice.
	mostKnown = 8192
)

// Replica is what a replica is asked.
type Replica interface {
	Epoch(ctx context.Context) (api.Epoch, error)
	View(ctx context.Context, ref store.RepoRef, since api.Version) (store.View, error)
}

// Store is a primary with a replica beside it.
type Store struct {
	store.Store // the primary

	log     *slog.Logger
	replica Replica
	now     func() time.Time

	known    versions
	away     atomic.Int64 // until when the replica is left alone, in Unix nanoseconds
	answered atomic.Int64
	passed   atomic.Int64

	mu   sync.Mutex
	orgs map[string]store.OrgID // by their public id
}

// New puts a replica beside a primary. It asks neither.
func New(log *slog.Logger, primary store.Store, replica Replica, now func() time.Time) *Store {
	return &Store{Store: primary, log: log, replica: replica, now: now, orgs: map[string]store.OrgID{}}
}

// Head is the primary's, and what is read there is known from then on.
func (s *Store) Head(ctx context.Context, ref store.RepoRef) (store.Head, error) {
	head, err := s.Store.Head(ctx, ref)
	if err == nil {
		s.known.note(placeOf(ref), head.Version)
	}
	return head, err
}

// Commit is the primary's, and what it made is known from then on.
func (s *Store) Commit(ctx context.Context, ref store.RepoRef, touched []api.Key, decide store.Decide) (store.Head, error) {
	head, err := s.Store.Commit(ctx, ref, touched, decide)
	if err == nil {
		s.known.note(placeOf(ref), head.Version)
	}
	return head, err
}

// Heard notes what another server said that it made.
func (s *Store) Heard(ctx context.Context, a store.Announcement) {
	if org, ok := s.organization(ctx, a.OrgUID); ok {
		s.known.note(place{org, a.Slug}, a.Version)
	}
}

// organization finds an organization's row. They are few and stay.
func (s *Store) organization(ctx context.Context, uid string) (store.OrgID, bool) {
	s.mu.Lock()
	id, ok := s.orgs[uid]
	s.mu.Unlock()
	if ok {
		return id, true
	}
	all, err := s.Organizations(ctx)
	if err != nil {
		return 0, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, org := range all {
		s.orgs[org.UID] = org.ID
	}
	id, ok = s.orgs[uid]
	return id, ok
}

// View is the replica's where that will do, and else the primary's.
func (s *Store) View(ctx context.Context, ref store.RepoRef, since api.Version) (store.View, error) {
	if since > 0 && s.now().UnixNano() >= s.away.Load() {
		if view, ok := s.ask(ctx, ref, since); ok {
			s.answered.Add(1)
			return view, nil
		}
	}
	if since > 0 {
		s.passed.Add(1)
	}
	view, err := s.Store.View(ctx, ref, since)
	if err == nil {
		s.known.note(placeOf(ref), view.Head.Version)
	}
	return view, err
}

// ask asks the replica. What must be there is settled before, so that what comes
// meanwhile asks for no more.
func (s *Store) ask(ctx context.Context, ref store.RepoRef, since api.Version) (store.View, bool) {
	least := max(since+1, s.known.of(placeOf(ref)))
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	view, err := s.view(wait, ref, since)
	if err != nil {
		if ctx.Err() == nil {
			s.away.Store(s.now().Add(awayTime).UnixNano())
			s.log.WarnContext(ctx, "the replica of the database does not answer; the primary is asked", "error", err)
		}
		return store.View{}, false
	}
	return view, view.Head.Version >= least
}

func (s *Store) view(ctx context.Context, ref store.RepoRef, since api.Version) (store.View, error) {
	own, err := s.Epoch(ctx)
	if err != nil {
		return store.View{}, err
	}
	epoch, err := s.replica.Epoch(ctx)
	if err != nil || epoch != own {
		return store.View{}, err
	}
	return s.replica.View(ctx, ref, since)
}

// Counts says how many views of what changed the replica answered, and for how many the
// primary was asked.
func (s *Store) Counts() (replica, primary int64) { return s.answered.Load(), s.passed.Load() }

// place is a repo, whoever sees it.
type place struct {
	org  store.OrgID
	slug api.RepoSlug
}

func placeOf(ref store.RepoRef) place { return place{ref.Org, ref.Slug} }

// versions are the newest ones known. When the younger half is full the older one is
// forgotten; of what is forgotten the replica's word counts where it is news.
type versions struct {
	mu         sync.Mutex
	young, old map[place]api.Version
}

func (v *versions) note(at place, version api.Version) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if version <= max(v.young[at], v.old[at]) {
		return
	}
	if v.young == nil || len(v.young) >= mostKnown {
		v.young, v.old = make(map[place]api.Version), v.young
	}
	v.young[at] = version
}

func (v *versions) of(at place) api.Version {
	v.mu.Lock()
	defer v.mu.Unlock()
	return max(v.young[at], v.old[at])
}
