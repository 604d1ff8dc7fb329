package rest

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/teammem/teammem/server/store"
)

// What one caller may hold: a quarter of the requests at once, and a sixteenth of the
// memory for bodies, which is four of the largest. Whoever has a token and sends bodies a
// byte at a time, or bombs, keeps the others from little then.
const (
	callsOfOne  = 4
	memoryOfOne = 16
	// leastCalls is how many one caller may have however few all have.
	leastCalls = 8
)

// shares is what each caller holds of what all share.
type shares struct {
	calls  int   // of one caller at once
	memory int64 // of one caller's bodies

	mu   sync.Mutex
	held map[store.UserID]*share
}

// share is one caller's, for as long as a call of theirs is under way.
type share struct {
	calls  int // guarded by shares.mu
	memory *semaphore.Weighted
}

func newShares(calls int, memory int64) *shares {
	return &shares{calls: max(leastCalls, calls/callsOfOne), memory: max(1, memory/memoryOfOne), held: map[store.UserID]*share{}}
}

// enter counts a call of a user, until it leaves.
func (s *shares) enter(user store.UserID) (mine *share, leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine = s.held[user]
	if mine == nil {
		mine = &share{memory: semaphore.NewWeighted(s.memory)}
		s.held[user] = mine
	}
	if mine.calls >= s.calls {
		return nil, nil, overloaded("as many requests of yours are under way as the server takes of one caller at once", errors.New("too many requests of one caller in flight"))
	}
	mine.calls++
	return mine, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if mine.calls--; mine.calls == 0 {
			delete(s.held, user)
		}
	}, nil
}

// acquire takes memory out of a caller's part; nil has no bound of its own.
func (s *share) acquire(ctx context.Context, n int64) (release func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	if err := s.memory.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { s.memory.Release(n) }, nil
}
