package server

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

const (
	// followQuiet is how long nothing is committed before the index follows, and
	// followCeiling how long it waits at most where something always is.
	followQuiet   = 300 * time.Millisecond
	followCeiling = 3 * time.Second
	// followStep is how many texts are added at once on a store with one writer: what a
	// PUT may have to wait for. followShared is how many where others write meanwhile.
	followStep   = 16
	followShared = 64
	// followBusy is how many times as long as a step the store is left alone after it
	// while others write: a fiftieth of the time is the index's then.
	followBusy = 49
	// followRetry is the pause after an error.
	followRetry = 10 * time.Second
)

// follower brings the index for search up to date behind what is committed, so that
// nobody who searches has to wait for it, and at the start what is behind: all of it
// after a restore. It is one goroutine; between two steps it leaves the store alone for as
// long as the step took, and while others write much longer. What it does not get to, or another server does at the
// same time, a search makes up for.
type follower struct {
	log   *slog.Logger
	list  func(context.Context) ([]store.Organization, error)
	index func(ctx context.Context, caller ledger.Caller, most int) (complete bool, err error)
	step  int
	wake  chan struct{}

	mu     sync.Mutex
	all    bool                // every organization may be behind
	behind map[string]struct{} // by UID
}

func newFollower(log *slog.Logger, s store.Store, rules *ledger.Ledger) *follower {
	step := followStep
	if _, shared := s.(store.Announcer); shared {
		step = followShared
	}
	return &follower{
		log: log, list: s.Organizations, step: step,
		index: func(ctx context.Context, caller ledger.Caller, most int) (bool, error) {
			return rules.Index(ctx, caller, nil, most)
		},
		wake: make(chan struct{}, 1), all: true, behind: map[string]struct{}{},
	}
}

// changed notes that something was committed. It never waits.
func (f *follower) changed(orgUID string) {
	f.mu.Lock()
	f.behind[orgUID] = struct{}{}
	f.mu.Unlock()
	f.poke()
}

func (f *follower) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run follows until ctx ends.
func (f *follower) run(ctx context.Context) {
	f.poke()
	for f.settled(ctx) {
		all, behind := f.take()
		if err := f.follow(ctx, all, behind); err != nil && ctx.Err() == nil {
			f.log.WarnContext(ctx, "what was written is added to the index for search later", "error", err)
			f.putBack(all, behind)
			f.poke()
			pause(ctx, followRetry)
		}
	}
}

// settled waits until something is committed and it is quiet again. It is false when
// ctx has ended.
func (f *follower) settled(ctx context.Context) bool {
	select {
	case <-f.wake:
	case <-ctx.Done():
		return false
	}
	quiet, ceiling := time.NewTimer(followQuiet), time.NewTimer(followCeiling)
	defer quiet.Stop()
	defer ceiling.Stop()
	for {
		select {
		case <-f.wake:
			quiet.Reset(followQuiet)
		case <-quiet.C:
			return true
		case <-ceiling.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

func (f *follower) take() (all bool, behind map[string]struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, behind = f.all, f.behind
	f.all, f.behind = false, map[string]struct{}{}
	return all, behind
}

func (f *follower) putBack(all bool, behind map[string]struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = f.all || all
	maps.Copy(f.behind, behind)
}

// follow adds what some organizations, or all, lack.
func (f *follower) follow(ctx context.Context, all bool, behind map[string]struct{}) error {
	orgs, err := f.list(ctx)
	if err != nil {
		return err
	}
	for _, org := range orgs {
		if _, named := behind[org.UID]; !named && !all {
			continue
		}
		for complete := false; !complete; {
			began := time.Now()
			if complete, err = f.index(ctx, ledger.Caller{Org: org.ID, OrgUID: org.UID}, f.step); err != nil {
				return err
			}
			rest := time.Since(began)
			if len(f.wake) > 0 {
				rest *= followBusy // people write: the index can wait for a quieter moment
			}
			pause(ctx, rest)
		}
	}
	return nil
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
