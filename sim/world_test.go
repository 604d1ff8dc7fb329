package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/syncer"
)

// world is one simulated team: everything in it is moved by one seed.
type world struct {
	rng      *rand.Rand
	clock    time.Time
	fault    fault
	faulty   bool // the world may misbehave
	server   *server
	machines []*machine
	late     []letter // requests that arrive after their sender has given up

	restores int      // of the server from a backup
	undone   []string // texts of histories that a restore has undone
	words    int
	dropped  map[string]bool  // words that a person took away knowingly
	meant    map[meaning]bool // texts that a person put under a key

	trace      []string
	violations []string
}

type meaning struct {
	key api.Key
	sum api.Checksum
}

func newWorld(seed uint64, f fault) (*world, error) {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 20261130)), clock: time.Unix(1_800_000_000, 0), fault: f, faulty: true,
		dropped: map[string]bool{}, meant: map[meaning]bool{},
	}
	var err error
	if w.server, err = newServer(w); err != nil {
		return nil, err
	}
	for n := range 2 + w.rng.IntN(3) {
		m, err := newMachine(w, n)
		if err != nil {
			return nil, err
		}
		w.machines = append(w.machines, m)
	}
	return w, nil
}

// chance is a fault's: none happens once the world behaves.
func (w *world) chance(p float64) bool { return w.faulty && w.rng.Float64() < p }

func (w *world) logf(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

// violation notes a broken promise. The first is the one to look at.
func (w *world) violation(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.violations = append(w.violations, text)
	w.logf("BROKEN: %s", text)
}

// show is a text on one line of the trace.
func show(text string) string { return strings.ReplaceAll(text, "\n", "|") }

// run is one schedule from beginning to end.
func run(seed uint64, f fault) *world {
	w, err := newWorld(seed, f)
	if err != nil {
		panic(err)
	}
	backups := w.rng.IntN(6) == 0
	for range 20 + w.rng.IntN(80) {
		w.clock = w.clock.Add(time.Duration(w.rng.IntN(4)*w.rng.IntN(1500)) * time.Millisecond)
		w.step(backups)
		if len(w.violations) > 0 {
			return w
		}
	}
	w.judge()
	return w
}

// step is one thing that happens.
func (w *world) step(backups bool) {
	m := w.machines[w.rng.IntN(len(w.machines))]
	switch n := w.rng.IntN(100); {
	case n < 40:
		_, _ = m.round([]syncer.Mode{syncer.Both, syncer.Both, syncer.Edits, syncer.News}[w.rng.IntN(4)])
	case n < 78:
		w.edit(m)
	case n < 82:
		if here := api.SortedKeys(m.disk.files); len(here) > 0 {
			w.removeByHand(m, here[w.rng.IntN(len(here))])
		}
	case n < 85:
		w.respell(m)
	case n < 88:
		w.rm(m)
	case n < 90:
		w.untrash(m)
	case n < 92:
		w.restore(m)
	case n < 95:
		w.arriveLate()
	case n < 96:
		m.start(false)
	case backups:
		w.backUpOrRestore()
	}
}

// arriveLate delivers a request that its sender has given up on.
func (w *world) arriveLate() {
	if len(w.late) == 0 {
		return
	}
	l := w.late[w.rng.IntN(len(w.late))]
	resp := w.server.deliver(l)
	w.logf("late PUT of %s: %d: %s", l.from, resp.StatusCode, show(string(l.body)))
}

func (w *world) backUpOrRestore() {
	s := w.server
	if len(s.backups) == 0 || w.rng.IntN(3) > 0 {
		s.backups = append(s.backups, s.db.Snapshot())
		w.logf("server: backup of version %d", s.head().Version)
		return
	}
	for _, change := range s.past() {
		w.undone = append(w.undone, s.body(change.Checksum))
	}
	s.db.Restore(s.backups[w.rng.IntN(len(s.backups))])
	s.begin()
	w.restores++
	w.logf("server: restored at version %d", s.head().Version)
}
