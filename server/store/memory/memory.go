// Package memory is the storage contract in memory, for tests and simulations: an
// honest small implementation, not a mock. It keeps everything the contract names
// and passes the same suite as the databases; a server on it works until the
// process ends.
//
// All it keeps is one immutable value behind a mutex. A change makes the next
// value out of persistent trees that share what did not change, so that a
// [Store.Snapshot] costs nothing, is never touched by what happens later, and can
// be put back by [Store.Restore]: a simulated crash, or a restored backup.
package memory

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// Store is the contract in memory. Build one with [New].
type Store struct {
	mu  sync.Mutex
	now state // the newest state; guarded by mu
}

var _ store.Store = (*Store)(nil)

// state is everything a store holds. It is a value: whoever has a copy has all of
// it, whatever is written afterwards.
type state struct {
	epoch         api.Epoch
	lastID        int64 // of any kind of row
	organizations tree[string, store.Organization]
	members       tree[userRef, store.Member]
	names         tree[nameRef, string]
	tokens        tree[string, store.Token] // by hash
	policies      tree[policyRef, store.Policy]
	repos         tree[store.RepoRef, repo]
	bodies        tree[bodyRef, *store.Body]
	rights        tree[store.OrgID, rights]
	orgTrail      tree[orgPlace, audit.Record]
	checkpoints   tree[store.RepoID, api.Version]
	signOn        signOn
	leaks         leaks
	index         index
	figures       figures
}

// rights is what an organization has one of: values that are never changed, only
// replaced.
type rights struct {
	grants  []store.Grant
	aliases map[api.RepoSlug]store.RepoID
	head    store.AuditPlace
	anchors map[store.RepoID]store.AuditPlace
}

type orgPlace struct {
	org store.OrgID
	seq int64
}

// repo is one repo with its history.
type repo struct {
	head  store.Head
	rows  tree[rowRef, store.Row]
	past  tree[api.Version, []store.Past] // newest version last
	trail tree[int64, audit.Record]
	found tree[foundRef, []store.Finding]
	posed tree[string, store.Proposal] // by public id
	gone  tree[api.Checksum, api.Version]

	forgotten api.Version
}

type nameRef struct {
	org  store.OrgID
	user store.UserID
}

type userRef struct {
	org  store.OrgID
	name string
}

// rowRef puts twins beside each other, and what lies in a directory behind it.
type rowRef struct {
	fold string
	key  api.Key
}

type policyRef struct {
	org     store.OrgID
	version api.Version
}

// foundRef is a key as one version stored it.
type foundRef struct {
	key     api.Key
	version api.Version
}

type bodyRef struct {
	org store.OrgID
	sum api.Checksum
}

func compareBodies(a, b bodyRef) int {
	return cmp.Or(cmp.Compare(a.org, b.org), cmp.Compare(a.sum, b.sum))
}

// New makes an empty store with an epoch of its own.
func New() *Store {
	return &Store{now: state{
		epoch:         api.Epoch(rand.Text()),
		organizations: newTree[string, store.Organization](strings.Compare),
		members: newTree[userRef, store.Member](func(a, b userRef) int {
			return cmp.Or(cmp.Compare(a.org, b.org), strings.Compare(a.name, b.name))
		}),
		names: newTree[nameRef, string](func(a, b nameRef) int {
			return cmp.Or(cmp.Compare(a.org, b.org), cmp.Compare(a.user, b.user))
		}),
		tokens: newTree[string, store.Token](strings.Compare),
		policies: newTree[policyRef, store.Policy](func(a, b policyRef) int {
			return cmp.Or(cmp.Compare(a.org, b.org), cmp.Compare(a.version, b.version))
		}),
		repos: newTree[store.RepoRef, repo](func(a, b store.RepoRef) int {
			return cmp.Or(cmp.Compare(a.Org, b.Org), cmp.Compare(a.Slug, b.Slug))
		}),
		bodies:  newTree[bodyRef, *store.Body](compareBodies),
		leaks:   newLeaks(),
		index:   newIndex(),
		figures: newFigures(),
		signOn:  newSignOn(),
		rights:  newTree[store.OrgID, rights](cmp.Compare),
		orgTrail: newTree[orgPlace, audit.Record](func(a, b orgPlace) int {
			return cmp.Or(cmp.Compare(a.org, b.org), cmp.Compare(a.seq, b.seq))
		}),
		checkpoints: newTree[store.RepoID, api.Version](cmp.Compare),
	}}
}

func newRepo() repo {
	return repo{
		rows: newTree[rowRef, store.Row](func(a, b rowRef) int {
			return cmp.Or(strings.Compare(a.fold, b.fold), cmp.Compare(a.key, b.key))
		}),
		past:  newTree[api.Version, []store.Past](cmp.Compare),
		trail: newTree[int64, audit.Record](cmp.Compare),
		posed: newTree[string, store.Proposal](strings.Compare),
		gone:  newTree[api.Checksum, api.Version](cmp.Compare),
		found: newTree[foundRef, []store.Finding](func(a, b foundRef) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.version, b.version))
		}),
	}
}

// Snapshot is a store's whole state at one instant. It never changes.
type Snapshot struct{ state state }

// Snapshot takes the state as it is.
func (s *Store) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Snapshot{s.now}
}

// Restore puts a state back, the epoch with it, as if nothing after it had ever
// been written. See [Store.SetEpoch] for what a backup's restore does besides.
func (s *Store) Restore(snapshot Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = snapshot.state
}

// SetEpoch begins another life of the store.
func (s *Store) SetEpoch(epoch api.Epoch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.epoch = epoch
}

// Ping always answers, unless nobody waits any more.
func (s *Store) Ping(ctx context.Context) error { return ctx.Err() }

// Epoch gives the epoch of this life of the store.
func (s *Store) Epoch(ctx context.Context) (api.Epoch, error) {
	now, err := s.read(ctx)
	return now.epoch, err
}

// Close does nothing: there is nothing to free.
func (s *Store) Close() error { return nil }

// read gives the newest state, or the reason why nobody waits for it.
func (s *Store) read(ctx context.Context) (state, error) {
	if err := ctx.Err(); err != nil {
		return state{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, nil
}

// write lets change work on a copy of the newest state, which becomes the newest
// unless change fails.
func (s *Store) write(ctx context.Context, change func(next *state) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.now
	if err := change(&next); err != nil {
		return err
	}
	s.now = next
	return nil
}

// kept is a time as the contract keeps it.
func kept(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

func (s *state) nextID() int64 {
	s.lastID++
	return s.lastID
}
