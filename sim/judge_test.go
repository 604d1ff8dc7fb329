package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/syncer"
)

// mostSweeps bounds how often every client may have to look until all are at rest.
const mostSweeps = 8

// judge lets the world behave, waits for rest, and holds what stands against the
// promises.
func (w *world) judge() {
	w.faulty = false
	w.logf("-- the faults stop")
	if !w.rest() {
		return
	}
	live := w.server.live()
	for _, m := range w.machines {
		w.judgeEqual(m, live)
	}
	w.judgeWords(live)
	w.judgeZombies()
}

// rest runs rounds until nothing moves, and one more sweep that must move nothing.
func (w *world) rest() bool {
	for range mostSweeps {
		if !w.sweep() {
			w.logf("-- at rest")
			if w.sweep() {
				w.violation("C5: after they had come to rest the clients wrote again")
				return false
			}
			return true
		}
		if len(w.violations) > 0 {
			return false
		}
	}
	w.violation("C5: the clients do not come to rest in %d rounds each", mostSweeps)
	return false
}

// sweep gives every client a round and reports whether anything moved.
func (w *world) sweep() (moved bool) {
	w.clock = w.clock.Add(10 * time.Second) // displaced files are watched that long
	for _, m := range w.machines {
		puts, kept := w.server.puts, len(m.memory.keep)
		report, err := m.round(syncer.Both)
		if err != nil {
			w.violation("C5: %s: a round fails though nothing is wrong: %v", m.name, err)
			return true
		}
		moved = moved || report.Changed || report.Pending || w.server.puts != puts || len(m.memory.keep) != kept
	}
	return moved
}

// judgeEqual: every client holds what the server holds, but for files whose names
// it cannot push and has named.
func (w *world) judgeEqual(m *machine, live map[api.Key]string) {
	for _, key := range api.SortedKeys(live) {
		switch _, f := m.disk.find(key); {
		case f == nil:
			w.violation("C5: %s lacks %s", m.name, key)
		case f.text != live[key]:
			w.violation("C5: %s has another text of %s: %s instead of %s", m.name, key, show(f.text), show(live[key]))
		}
	}
	here := map[string]bool{}
	for key := range live {
		here[m.disk.fold(key)] = true
	}
	for _, key := range api.SortedKeys(m.disk.files) {
		if !here[m.disk.fold(key)] && !m.held(key) {
			w.violation("C5: %s still has %s %s", m.name, key, m.knows(key))
		}
	}
}

// knows is what a client thinks of a key, for whoever looks into a fault.
func (m *machine) knows(key api.Key) string {
	a := m.syncer.Agreed()
	return fmt.Sprintf("(it knows %+v, tombstone %s, refused %+v)", a.Entries[key], a.Tombstones[key], a.Refused[key])
}

// judgeWords: every word that a person typed, and nobody who saw it took away, is
// somewhere; and, as long as no backup took the server back, it is current or in
// somebody's keep or trash, and not only in the history.
func (w *world) judgeWords(live map[api.Key]string) {
	found := map[string]bool{}
	see := func(text string) {
		for _, word := range wordsOf(text) {
			found[word] = true
		}
	}
	for _, text := range live {
		see(text)
	}
	for _, m := range w.machines {
		for _, f := range m.disk.files {
			see(f.text)
		}
		for _, piece := range slices.Concat(m.memory.keep, m.memory.trash) {
			see(piece.text)
		}
	}
	if w.restores > 1 {
		// An offer to a restored server may overwrite another one's, which is in
		// the history then, until the next restore.
		for _, text := range w.undone {
			see(text)
		}
	}
	if w.restores > 0 {
		for _, change := range w.server.past() {
			see(w.server.body(change.Checksum))
		}
	}
	for n := range w.words {
		word := wordNumber(n + 1)
		if !found[word] && !w.dropped[word] {
			w.violation("C1: nobody took %s away, and it is gone; %s", word, w.lastSeen(word))
		}
	}
}

// lastSeen helps whoever looks into a lost word.
func (w *world) lastSeen(word string) string {
	for _, line := range slices.Backward(w.trace) {
		if strings.Contains(line, word) && !strings.HasPrefix(line, "BROKEN") {
			return "last seen: " + line
		}
	}
	return "never seen"
}

// judgeZombies: a deleted text stands under its key again only because a person
// put it there.
func (w *world) judgeZombies() {
	if w.restores > 0 {
		return
	}
	gone := map[meaning]bool{}
	for _, change := range w.server.past() {
		is := meaning{change.Key, change.Checksum}
		if !change.Deleted && gone[is] && !w.meant[is] {
			w.violation("S13: %s came back with its deleted text in version %d", change.Key, change.Version)
		}
		if change.Deleted {
			gone[is] = true
		} else {
			maps.DeleteFunc(gone, func(other meaning, _ bool) bool { return other.key == change.Key })
		}
	}
}
