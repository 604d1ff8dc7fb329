package client_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/server/servertest"
)

// TestSleep: the machine sleeps for a night. When it wakes the clock on the wall has
// jumped, no timer has come, and the stream is dead; what happened meanwhile is there
// as soon as the network is, long before the next poll, and what is edited then goes
// out. A clock that is put back again disturbs nothing either.
func TestSleep(t *testing.T) {
	server := servertest.Start(t)
	front := newGate(t, server, nil)
	var slept atomic.Int64
	a, b := newMachine(t, server, "dana", "acme/widgets").quick(), newMachine(t, server, "lee", "acme/widgets")
	a.now = func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }
	a.cfg.Remote.Server, a.cfg.Poll = front.URL, time.Hour
	a.write("t.md", "one")
	a.run()
	streams := func() int { return front.count(http.MethodGet, api.PathEvents) }
	await(t, "the stream is open", func() bool { return streams() == 1 })

	for i, jump := range []time.Duration{9 * time.Hour, -30 * time.Hour} {
		night := []string{"after a night", "after the clock was put back"}[i]
		front.gone.Store(true)
		front.cut()
		b.once()
		b.write("t.md", night)
		b.once()
		slept.Add(int64(jump))
		front.gone.Store(false)
		a.arrives("t.md", night)
		await(t, "the stream is open again", func() bool { return streams() == i+2 })
		a.write("mine.md", "by A, "+night)
		await(t, "the edit goes out", func() bool { b.once(); return b.read("mine.md") == "by A, "+night })
	}
	for _, kind := range []syncer.EventKind{syncer.EventConflict, syncer.EventHalted, syncer.EventFailed} {
		a.wantEvents(kind, 0)
	}
}
