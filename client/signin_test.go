package client_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/server/servertest"
)

// revoke takes all tokens of a user back.
func revoke(t *testing.T, server *servertest.Server, user string) {
	t.Helper()
	org, err := server.Store().Organization(context.Background(), "local")
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := server.Store().Tokens(context.Background(), org.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		if token.UserName == user {
			if err := server.Store().RevokeToken(context.Background(), org.ID, token.UID, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTokenRevoked: a token that is taken back is told once and not shown to the
// server again and again; with a new one everything goes on.
func TestTokenRevoked(t *testing.T) {
	server := servertest.Start(t)
	front := newGate(t, server, nil)
	a := newMachine(t, server, "dana", "acme/widgets").quick()
	var token atomic.Value
	var looked atomic.Int32
	token.Store(a.cfg.Remote.Token())
	a.cfg.Remote.Token = func() string {
		looked.Add(1)
		return token.Load().(string)
	}
	a.cfg.Remote.Server = front.URL
	a.write("t.md", "one")
	a.run()
	await(t, "it is pushed", func() bool { return front.puts() == 1 })

	revoke(t, server, "dana")
	for len(a.eventsOf(syncer.EventSignIn)) == 0 {
		// The server may take a revoked token for a second.
		a.write("t.md", time.Now().String())
		pushed := len(a.eventsOf(syncer.EventPushed))
		await(t, "the edit is pushed or refused", func() bool {
			return len(a.eventsOf(syncer.EventPushed)) > pushed || len(a.eventsOf(syncer.EventSignIn)) > 0
		})
	}
	a.write("t.md", "two")
	asked := func() int {
		return front.puts() + front.count(http.MethodGet, api.PathTeamMemory) + front.count(http.MethodGet, api.PathEvents)
	}
	// One stream may still be cut, and be asked for once more.
	least, rounds := asked(), looked.Load()+40
	await(t, "many polls have come and gone", func() bool { return looked.Load() > rounds })
	if more := asked() - least; more > 1 {
		t.Errorf("asked %d times with a token that was refused", more)
	}
	a.wantEvents(syncer.EventSignIn, 1)

	token.Store(server.TokenOf("local", "dana", api.Member))
	b := newMachine(t, server, "lee", "acme/widgets").quick()
	b.run()
	b.arrives("t.md", "two")
	a.wantEvents(syncer.EventSignIn, 1)
}

// TestViewer: one who may not push is told once; the changes of the others go on
// arriving, and nothing of the viewer's is lost.
func TestViewer(t *testing.T) {
	server := servertest.Start(t)
	a, v := newMachine(t, server, "dana", "acme/widgets").quick(), newMachine(t, server, "vic", "acme/widgets").quick()
	var viewer atomic.Value
	viewer.Store(server.TokenOf("local", "eye", api.Viewer))
	v.cfg.Remote.Token = func() string { return viewer.Load().(string) }
	a.write("t.md", "one")
	a.write("u.md", "one")
	a.run()
	v.run()
	v.arrives("u.md", "one")
	v.write("t.md", "the viewer's words")
	await(t, "it is told", func() bool { return len(v.eventsOf(syncer.EventSignIn)) > 0 })
	for _, text := range []string{"two", "three"} {
		a.write("u.md", text)
		v.arrives("u.md", text)
	}
	if got := v.read("t.md"); got != "the viewer's words" {
		t.Errorf("the viewer's file holds %q", got)
	}
	v.wantEvents(syncer.EventSignIn, 1)
	store, err := state.Open(v.cfg.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	if pulse := store.LastPulse(); pulse.Trouble != state.Barred || time.Since(pulse.Good) > time.Minute {
		t.Errorf("status would say %+v", pulse)
	}

	// A better role ends it.
	viewer.Store(server.TokenOf("local", "vic", api.Member))
	a.arrives("t.md", "the viewer's words")
}

// TestPulse: what a running client says of its last good round does not lag like
// the agreement on disk.
func TestPulse(t *testing.T) {
	server := servertest.Start(t)
	a := newMachine(t, server, "dana", "acme/widgets").quick()
	front := newGate(t, server, func(r *http.Request) bool { return r.URL.Path == api.PathEvents })
	a.cfg.Remote.Server = front.URL
	a.write("t.md", "one")
	a.run()
	store, err := state.Open(a.cfg.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the first push", func() bool { return front.puts() == 1 })
	first := time.Now()
	await(t, "a later good round", func() bool { return store.LastPulse().Good.After(first.Add(300 * time.Millisecond)) })
	agreed, err := store.Load()
	if err != nil || agreed.Synced.After(first.Add(300*time.Millisecond)) {
		t.Errorf("the agreement was written for nothing: %v, %v", agreed.Synced, err)
	}
	server.Close()
	await(t, "the trouble", func() bool { return store.LastPulse().Trouble == state.Unreachable })
	if pulse := store.LastPulse(); pulse.Good.IsZero() || pulse.Text == "" || pulse.Hint == "" || pulse.Since.Before(pulse.Good) {
		t.Errorf("%+v", pulse)
	}
	server.Restart()
	await(t, "its end", func() bool { return store.LastPulse().Trouble == "" })
}
