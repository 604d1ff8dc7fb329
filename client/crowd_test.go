package client_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/server/servertest"
)

// crowd starts clients of one repo, all of them live.
func crowd(t *testing.T, server *servertest.Server, front *gate, repo api.RepoSlug, before func(*machine)) []*machine {
	t.Helper()
	all := make([]*machine, crowdSize)
	for i := range all {
		m := newMachine(t, server, fmt.Sprintf("user%d", i), repo).quick()
		m.cfg.Remote.Server, m.cfg.Remote.Tries = front.URL, 4
		// Live changes tell; the poll is for those that were missed.
		m.cfg.Poll = time.Second
		before(m)
		all[i] = m
	}
	for _, m := range all {
		m.run()
	}
	await(t, "all listen", func() bool { return front.count("GET", api.PathEvents) >= len(all) })
	return all
}

// TestManyFiles: fifty clients of one repo edit a file each at the same moment. All
// arrive everywhere, nobody is told of a conflict, and hardly a PUT is in vain.
func TestManyFiles(t *testing.T) {
	server := servertest.Start(t)
	front := newGate(t, server, nil)
	all := crowd(t, server, front, "acme/files", func(*machine) {})
	before, asked, began := front.puts(), front.count("GET", api.PathTeamMemory), time.Now()
	for i, m := range all {
		m.write(fmt.Sprintf("file%d.md", i), fmt.Sprintf("by %d", i))
	}
	for _, m := range all {
		for i := range all {
			m.arrives(fmt.Sprintf("file%d.md", i), fmt.Sprintf("by %d", i))
		}
	}
	took, puts := time.Since(began), front.puts()-before
	asked = front.count("GET", api.PathTeamMemory) - asked
	t.Logf("%d clients, %d PUTs, %d GETs, all equal after %v", len(all), puts, asked, took.Round(time.Millisecond))
	if 10*puts > 12*len(all) {
		t.Errorf("%d PUTs for %d edits", puts, len(all))
	}
	for _, m := range all {
		m.wantEvents(syncer.EventConflict, 0)
		m.wantEvents(syncer.EventMerged, 0)
		m.wantEvents(syncer.EventFailed, 0)
		m.wantEvents(syncer.EventOffline, 0)
	}
}

// TestManyIndexLines: fifty clients add a line each to the one index at the same
// moment. Every line is there at the end, in every copy, and nothing is kept.
func TestManyIndexLines(t *testing.T) {
	const head = "# Memory\n\n- [Start](start.md) — where to begin\n"
	server := servertest.Start(t)
	front := newGate(t, server, nil)
	first := newMachine(t, server, "dana", "acme/index")
	first.write("MEMORY.md", head)
	first.once()
	all := crowd(t, server, front, "acme/index", func(m *machine) {
		m.once()
		// All write before the first is pushed: one who overwrites what has just
		// arrived takes it away, and means it as far as anyone can tell.
		m.cfg.Debounce, m.cfg.Ceiling = time.Second, 10*time.Second
	})
	line := func(i int) string { return fmt.Sprintf("- [Topic %d](topic%d.md) — by user %d\n", i, i, i) }
	began := time.Now()
	for i, m := range all {
		m.write("MEMORY.md", head+line(i))
	}
	for _, m := range all {
		await(t, "every line is there", func() bool {
			text := m.read("MEMORY.md")
			for i := range all {
				if strings.Count(text, line(i)) != 1 {
					return false
				}
			}
			return text == all[0].read("MEMORY.md")
		})
	}
	t.Logf("%d clients, %d PUTs, all equal after %v, a second of which is the debounce", len(all), front.puts(), time.Since(began).Round(time.Millisecond))
	want := len(head)
	for i := range all {
		want += len(line(i))
	}
	for i, m := range all {
		m.wantEvents(syncer.EventConflict, 0)
		if text := m.read("MEMORY.md"); !strings.HasPrefix(text, head) || len(text) != want {
			t.Errorf("the index of %d is %q", i, text)
		}
	}
}
