package auth

import (
	"context"
	"log/slog"
	"time"

	"github.com/teammem/teammem/server/store"
)

const (
	// noteEvery is how exact a token's last use is kept.
	noteEvery = time.Minute
	// waitingNotes is how many uses may wait for the store. Beyond it they are
	// dropped: the next request of the token notes it again.
	waitingNotes = 256
	// noteTimeout bounds one write, and with it how long Close may take.
	noteTimeout = 2 * time.Second
)

// usage writes down when tokens were used. One goroutine owns the writing; close
// waits for it. A use noted while or after it closes is dropped.
type usage struct {
	log    *slog.Logger
	tokens Tokens
	notes  chan use
	quit   chan struct{}
	done   chan struct{}
}

type use struct {
	token store.TokenID
	at    time.Time
}

func startUsage(log *slog.Logger, tokens Tokens) *usage {
	u := &usage{
		log:    log,
		tokens: tokens,
		notes:  make(chan use, waitingNotes),
		quit:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	go u.run()
	return u
}

func (u *usage) note(token store.TokenID, at time.Time) {
	select {
	case u.notes <- use{token, at}:
	default:
	}
}

func (u *usage) close() {
	close(u.quit)
	<-u.done
}

func (u *usage) run() {
	defer close(u.done)
	for {
		select {
		case n := <-u.notes:
			u.write(n)
		case <-u.quit:
			u.writeWaiting()
			return
		}
	}
}

// writeWaiting writes what is noted already.
func (u *usage) writeWaiting() {
	deadline := time.Now().Add(noteTimeout)
	for time.Now().Before(deadline) {
		select {
		case n := <-u.notes:
			u.write(n)
		default:
			return
		}
	}
}

func (u *usage) write(n use) {
	ctx, cancel := context.WithTimeout(context.Background(), noteTimeout)
	defer cancel()
	if err := u.tokens.TouchToken(ctx, n.token, n.at); err != nil {
		u.log.Warn("the last use of a token was not noted", "token_row", int64(n.token), "error", err)
	}
}
