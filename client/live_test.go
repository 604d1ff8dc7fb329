package client_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/server/servertest"
)

// TestTwoDaemons: what one saves arrives at the other and the other way round, by
// live changes and by polling alone; what was pulled is never pushed back (BR-14).
func TestTwoDaemons(t *testing.T) {
	for name, c := range map[string]struct {
		stops func(*http.Request) bool
		poll  time.Duration
	}{
		// A poll that never comes shows that the stream alone tells.
		"live":             {nil, time.Hour},
		"without a stream": {func(r *http.Request) bool { return r.URL.Path == api.PathEvents }, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := servertest.Start(t)
			front := newGate(t, server, c.stops)
			a, b := newMachine(t, server, "dana", "acme/widgets").quick(), newMachine(t, server, "lee", "acme/widgets").quick()
			for _, m := range []*machine{a, b} {
				m.cfg.Remote.Server, m.cfg.Poll, m.cfg.Rescan = front.URL, c.poll, 300*time.Millisecond
			}
			a.write("t.md", "one")
			a.run()
			b.run()
			b.arrives("t.md", "one")
			if c.stops == nil {
				await(t, "both streams are open", func() bool { return front.count(http.MethodGet, api.PathEvents) == 2 })
			}
			b.write("t.md", "two")
			a.arrives("t.md", "two")
			a.write("new/file.md", "three")
			b.arrives("new/file.md", "three")

			// Rescans look at everything again and find nothing to send.
			gets := front.count(http.MethodGet, api.PathTeamMemory)
			if c.stops != nil {
				await(t, "polls go on", func() bool { return front.count(http.MethodGet, api.PathTeamMemory) > gets+4 })
			}
			b.write("last.md", "four")
			a.arrives("last.md", "four")
			if puts := front.puts(); puts != 4 {
				t.Errorf("%d PUTs for four edits", puts)
			}
			for _, m := range []*machine{a, b} {
				for _, kind := range []syncer.EventKind{syncer.EventConflict, syncer.EventMerged, syncer.EventFailed, syncer.EventOffline} {
					m.wantEvents(kind, 0)
				}
			}
		})
	}
}

// TestServerGone: edits made while the server is away wait, and go out when it is
// back at its address; the way is told once there and once back.
func TestServerGone(t *testing.T) {
	server := servertest.Start(t)
	a, b := newMachine(t, server, "dana", "acme/widgets").quick(), newMachine(t, server, "lee", "acme/widgets").quick()
	a.write("t.md", "one")
	a.run()
	b.run()
	b.arrives("t.md", "one")

	server.Close()
	a.write("t.md", "two")
	a.write("new.md", "made meanwhile")
	b.write("other.md", "by the other")
	for _, m := range []*machine{a, b} {
		await(t, "the server is missed", func() bool { return len(m.eventsOf(syncer.EventOffline)) > 0 })
	}
	server.Restart()
	b.arrives("t.md", "two")
	b.arrives("new.md", "made meanwhile")
	a.arrives("other.md", "by the other")
	for _, m := range []*machine{a, b} {
		m.wantEvents(syncer.EventOffline, 1)
		m.wantEvents(syncer.EventOnline, 1)
		m.wantEvents(syncer.EventConflict, 0)
	}
}

// TestProxyInTheWay: a sign-in page, or a 404 for everything, is a server that is
// away. Nothing is deleted, and it passes by itself (BR-17).
func TestProxyInTheWay(t *testing.T) {
	server := servertest.Start(t)
	front := newGate(t, server, nil)
	a := newMachine(t, server, "dana", "acme/widgets").quick()
	a.cfg.Remote.Server = front.URL
	a.write("t.md", "one")
	a.run()
	await(t, "it is pushed", func() bool { return front.puts() == 1 })
	front.closed.Store(true)
	a.write("t.md", "two")
	await(t, "it is told", func() bool { return len(a.eventsOf(syncer.EventOffline)) == 1 })
	if e := a.eventsOf(syncer.EventOffline)[0]; !strings.Contains(e.Text, "not a teammem server") {
		t.Errorf("told %q", e.Text)
	}
	front.closed.Store(false)
	b := newMachine(t, server, "lee", "acme/widgets").quick()
	b.run()
	b.arrives("t.md", "two")
	a.wantEvents(syncer.EventOnline, 1)
	a.wantEvents(syncer.EventSignIn, 0)
}

// TestStopFlushes: an edit of a moment ago goes out although its quiet time has not
// come, and stopping takes no longer than it may.
func TestStopFlushes(t *testing.T) {
	server := servertest.Start(t)
	a := newMachine(t, server, "dana", "acme/widgets").quick()
	a.cfg.Debounce, a.cfg.Ceiling = time.Hour, 2*time.Hour
	a.write("t.md", "one")
	stop := a.run()
	await(t, "the first round", func() bool { return len(a.eventsOf(syncer.EventPushed)) == 1 })
	a.write("t.md", "two")
	began := time.Now()
	stop()
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("stopping took %v", took)
	}
	b := newMachine(t, server, "lee", "acme/widgets")
	b.once()
	b.arrives("t.md", "two")

	// With a server that is gone it ends in time too, and the edit stays.
	stop = a.run()
	server.Close()
	a.write("t.md", "three")
	began = time.Now()
	stop()
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("stopping without a server took %v", took)
	}
	if got := a.read("t.md"); got != "three" {
		t.Errorf("the edit is %q", got)
	}
}
