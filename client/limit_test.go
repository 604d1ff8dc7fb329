package client_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/server/servertest"
)

// limited makes a server, and sets limits of its organization "local" as an admin does.
func limited(t *testing.T) (server *servertest.Server, set func(change string)) {
	server = servertest.Start(t)
	admin := server.TokenOf("local", "root", api.Admin)
	return server, func(change string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, server.URL+api.PathOrganization, strings.NewReader(change))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+admin)
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d", change, resp.StatusCode)
		}
	}
}

// A writes-a-minute limit is waited for as long as the server says: told once, nothing is
// asked meanwhile, and then everything goes out.
func TestTooManyWrites(t *testing.T) {
	server, set := limited(t)
	set(`{"writesPerMinute":1}`)
	front := newGate(t, server, nil)
	a := newMachine(t, server, "dana", "acme/widgets").quick()
	a.cfg.Remote.Server = front.URL
	var looked atomic.Int32
	var ahead atomic.Int64 // of the clock
	a.now = func() time.Time {
		looked.Add(1)
		return time.Now().Add(time.Duration(ahead.Load()))
	}
	a.write("t.md", "one")
	a.run()
	await(t, "the first write", func() bool { return front.puts() == 1 })
	a.write("t.md", "two")
	await(t, "it is told", func() bool { return len(a.eventsOf(syncer.EventOffline)) == 1 })
	puts, gets := front.puts(), front.count(http.MethodGet, api.PathTeamMemory)
	for i := range 3 {
		rounds := looked.Load()
		a.write("t.md", "edit "+string(rune('a'+i)))
		await(t, "the edit is seen", func() bool { return looked.Load() > rounds })
	}
	if front.puts() != puts || front.count(http.MethodGet, api.PathTeamMemory) != gets {
		t.Error("the server was asked before the time that it had named")
	}
	set(`{"writesPerMinute":0}`)
	ahead.Store(int64(2 * time.Minute))
	a.write("t.md", "last")
	b := newMachine(t, server, "lee", "acme/widgets").quick()
	b.run()
	b.arrives("t.md", "last")
	a.wantEvents(syncer.EventOffline, 1)
}

// A repo that is one too many is held here, told once, and made as soon as there is room,
// without a hand on anything.
func TestTooManyRepos(t *testing.T) {
	server, set := limited(t)
	first := newMachine(t, server, "dana", "acme/first")
	first.write("a.md", "a")
	first.once()
	set(`{"maxRepos":1}`)
	// Without a stream it polls: what is waited for here is its next try.
	front := newGate(t, server, func(r *http.Request) bool { return r.URL.Path == api.PathEvents })
	a := newMachine(t, server, "dana", "acme/second").quick()
	a.cfg.Remote.Server = front.URL
	var ahead atomic.Int64
	a.now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	for _, key := range []string{"a.md", "b.md", "c.md"} {
		a.write(key, key)
	}
	a.run()
	await(t, "it is told", func() bool { return len(a.eventsOf(syncer.EventRefused)) == 1 })
	if keys := a.eventsOf(syncer.EventRefused)[0].Keys; len(keys) != 3 {
		t.Errorf("told of %v", keys)
	}
	set(`{"maxRepos":2}`)
	await(t, "all of it is there", func() bool {
		ahead.Add(int64(time.Second)) // the first try may come before the server goes by the new limit
		sent := 0
		for _, e := range a.eventsOf(syncer.EventPushed) {
			sent += len(e.Keys)
		}
		return sent == 3
	})
	a.wantEvents(syncer.EventRefused, 1)
	if puts := front.puts(); puts > 4 {
		t.Errorf("%d pushes", puts)
	}
}

// A token is spoken of once when a week is left, over rounds and starts, and left in
// peace before; a new one ends that.
func TestATokenThatEndsIsToldOnce(t *testing.T) {
	server := servertest.Start(t)
	token := func(left time.Duration) string {
		return server.TokenUntil("local", "dana", api.Member, time.Now().Add(left))
	}
	a := newMachine(t, server, "dana", "acme/widgets")
	as := func(secret string) { a.cfg.Remote.Token = func() string { return secret } }
	pulse := func() state.Pulse {
		store, err := state.Open(a.cfg.StateDir)
		if err != nil {
			t.Fatal(err)
		}
		return store.LastPulse()
	}
	as(token(8 * 24 * time.Hour))
	a.write("a.md", "a")
	a.once()
	if a.wantEvents(syncer.EventEnding, 0); !pulse().TokenEnds.IsZero() {
		t.Error("spoken of eight days before its end")
	}
	as(token(6 * 24 * time.Hour))
	for range 3 {
		a.once()
	}
	a.wantEvents(syncer.EventEnding, 1)
	if left := time.Until(pulse().TokenEnds); left < 5*24*time.Hour || left > 6*24*time.Hour {
		t.Errorf("status would say %s", left)
	}
	as(token(90 * 24 * time.Hour))
	a.once()
	if a.wantEvents(syncer.EventEnding, 1); !pulse().TokenEnds.IsZero() {
		t.Error("the old token's end still stands")
	}
	as(token(time.Hour))
	a.once()
	a.wantEvents(syncer.EventEnding, 2)
}
