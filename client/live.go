package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/state"
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
// loop. It never gives up: without a stream the loop polls. A token that was
// refused is not shown again.
func (s *Session) listen(ctx context.Context, signals chan<- signal) {
	lastID, pause, refused := "", firstStreamPause, ""
	for ctx.Err() == nil {
		token := s.cfg.Remote.Token()
		if token == "" || token == refused {
			rest(ctx, s.cfg.Poll)
			continue
		}
		stream, err := s.remote.Listen(ctx, s.cfg.Repo, lastID)
		if err == nil {
			pause = firstStreamPause
			lastID, err = hear(ctx, stream, signals)
		}
		wait := rand.N(pause)
		pause = min(2*pause, longestStreamPause)
		switch {
		case troubleOf(err) == state.SignIn:
			refused = token
			continue
		case noStreamsHere(err):
			wait = strangerPause
		}
		rest(ctx, wait)
	}
}

// hear passes on what an open stream says until it ends, and gives the id that the
// next one continues from.
func hear(ctx context.Context, stream *remote.Stream, signals chan<- signal) (lastID string, err error) {
	say := func(sig signal) error {
		select {
		case signals <- sig:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err = say(signal{live: true})
	for err == nil {
		var change api.Change
		if change, err = stream.Next(); err == nil {
			err = say(signal{live: true, change: change})
		}
	}
	_ = stream.Close()
	if ended := say(signal{}); ended != nil {
		err = ended
	}
	return stream.LastID(), err
}

func rest(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

func noStreamsHere(err error) bool {
	var stranger *remote.Stranger
	return errors.As(err, &stranger) || api.CodeOf(err) == api.NotFound
}
