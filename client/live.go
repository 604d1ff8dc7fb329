package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/remote"
)

const (
	// livePoll is the time between two questions while a live stream is open: it
	// only makes up for a proxy that swallows events.
	livePoll = time.Minute
	// Pauses before a stream is opened again double from the first to the longest,
	// each drawn at random from nothing to its full length, so that the clients of
	// a server that restarts come back spread out, and all within a minute.
	firstStreamPause   = time.Second
	longestStreamPause = 30 * time.Second
	// strangerPause comes after an answer that says there are no live changes
	// here.
	strangerPause = 10 * time.Minute
)

// signal is what the live stream has to say to the loop.
type signal struct {
	live   bool // a stream is open
	change api.Change
}

// listen keeps a live stream open until ctx ends and sends what it hears to the
// loop. It never gives up: without a stream the loop polls.
func (s *Session) listen(ctx context.Context, signals chan<- signal) {
	say := func(sig signal) bool {
		select {
		case signals <- sig:
			return true
		case <-ctx.Done():
			return false
		}
	}
	lastID, pause := "", firstStreamPause
	for ctx.Err() == nil {
		stream, err := s.remote.Listen(ctx, s.cfg.Repo, lastID)
		if err == nil {
			pause = firstStreamPause
			if !say(signal{live: true}) {
				_ = stream.Close()
				return
			}
			for err == nil {
				var change api.Change
				if change, err = stream.Next(); err == nil && !say(signal{live: true, change: change}) {
					break
				}
			}
			lastID = stream.LastID()
			_ = stream.Close()
			if !say(signal{}) {
				return
			}
		}
		wait := rand.N(pause)
		if noStreamsHere(err) {
			wait = strangerPause
		}
		pause = min(2*pause, longestStreamPause)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

func noStreamsHere(err error) bool {
	var stranger *remote.Stranger
	return errors.As(err, &stranger) || api.CodeOf(err) == api.NotFound
}
