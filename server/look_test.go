package server

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/events"
)

// lines takes what a stream is told.
type lines struct{ told []string }

func (l *lines) Send(frame []byte) bool {
	if _, data, ok := strings.Cut(string(frame), "data: "); ok {
		l.told = append(l.told, strings.TrimSpace(data))
	}
	return true
}

func (l *lines) Close() {}

// Who listens to all repos is told, after word of changes was lost between servers, what
// was changed since they began to listen, and each version once.
func TestWhoListensToAllCatchesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFollowed(t) // its commits are told to no stream
		s := &Server{log: slog.New(slog.DiscardHandler), store: f.db, events: events.New(time.Hour)}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.events.Run(ctx); close(ended) }()
		f.write("acme/before", "a", 1)
		time.Sleep(time.Hour)
		told, hidden := &lines{}, api.RepoSlug("acme/hidden")
		if _, ok := s.events.Join(ctx, events.Stream{Organization: "org_1", Sees: func(repo api.RepoSlug) bool { return repo != hidden }, Sink: told}); !ok {
			t.Fatal("not joined")
		}
		for _, repo := range []api.RepoSlug{"acme/one", "acme/two", hidden} {
			f.write(repo, "a", 1)
		}
		s.events.Publish(events.Event{Organization: "org_1", Repo: "acme/two", Version: 1}) // the one word that came
		synctest.Wait()
		s.look(ctx)
		s.look(ctx)
		synctest.Wait()
		slices.Sort(told.told)
		if want := []string{`{"repo":"acme/one","version":1}`, `{"repo":"acme/two","version":1}`}; !slices.Equal(told.told, want) {
			t.Errorf("told %q, want %q", told.told, want)
		}
		end()
		<-ended
	})
}
