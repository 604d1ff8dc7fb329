package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/teammem/teammem/api"
)

const (
	writers   = 4
	mostNotes = 16 << 10 // bytes of one entry
)

// writer puts one change after the other until something goes wrong: each a new
// note, and the count of its notes, in one PUT.
type writer struct {
	name string
	seed uint64

	mu       sync.Mutex    // held while it writes on
	tried    int           // PUTs sent
	acked    int           // PUTs acknowledged, the first ones of those sent
	versions []api.Version // that were acknowledged
}

func (w *writer) note(i int) api.Key { return api.Key(fmt.Sprintf("%s/note-%d.md", w.name, i)) }
func (w *writer) count() api.Key     { return api.Key(w.name + "/count.md") }

// text is what the i-th note holds.
func (w *writer) text(i int) string {
	r := rand.New(rand.NewPCG(w.seed, uint64(i)))
	return fmt.Sprintf("%s %d\n%s\n", w.name, i, strings.Repeat("word ", r.IntN(mostNotes/5)))
}

func (w *writer) run(ctx context.Context, to *wire, repo string) {
	for ctx.Err() == nil {
		i := w.tried + 1
		push := api.Push{
			Entries:       map[api.Key]string{w.note(i): w.text(i), w.count(): fmt.Sprint(i)},
			BaseChecksums: map[api.Key]*api.Checksum{w.note(i): nil, w.count(): nil},
		}
		if i > 1 {
			base := api.ChecksumOfString(fmt.Sprint(i - 1))
			push.BaseChecksums[w.count()] = &base
		}
		w.mu.Lock()
		w.tried = i
		w.mu.Unlock()
		result, refused, err := to.put(ctx, repo, push)
		if err != nil || refused != nil {
			return // in doubt, or what was in doubt was not there
		}
		w.mu.Lock()
		w.acked = i
		w.versions = append(w.versions, result.Version)
		w.mu.Unlock()
	}
}

// soFar is the writer as it is now, while it writes on.
func (w *writer) soFar() *writer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &writer{name: w.name, seed: w.seed, tried: w.tried, acked: w.acked, versions: slices.Clone(w.versions)}
}

// stint is what some writers did to one repo until they were interrupted.
type stint struct {
	repo    string
	writers []*writer
}

// begin lets writers write until end is called, which waits until each has noticed.
func begin(to *wire, repo string, seed uint64) (s *stint, end func()) {
	s = &stint{repo: repo}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for n := range writers {
		w := &writer{name: fmt.Sprintf("writer-%d", n), seed: seed + uint64(n)}
		s.writers = append(s.writers, w)
		running.Go(func() { w.run(ctx, to, repo) })
	}
	return s, func() {
		cancel()
		running.Wait()
	}
}

// interrupted lets writers write until stop has been called and each has noticed.
func interrupted(to *wire, repo string, seed uint64, stop func()) *stint {
	s, end := begin(to, repo, seed)
	stop()
	end()
	return s
}

// soFar is the stint as it is now.
func (s *stint) soFar() *stint {
	now := &stint{repo: s.repo}
	for _, w := range s.writers {
		now.writers = append(now.writers, w.soFar())
	}
	return now
}

// upTo is what must be there of an instant between then, when s was taken, and
// later: what was acknowledged before it, and perhaps what was sent by its end.
func (s *stint) upTo(later *stint) *stint {
	for i, w := range s.writers {
		w.tried = later.writers[i].tried
	}
	return s
}

func (s *stint) acked() (n int) {
	for _, w := range s.writers {
		n += w.acked
	}
	return n
}

// check holds what is there now against what was acknowledged.
func (s *stint) check(ctx context.Context, to *wire) error {
	m, err := to.memory(ctx, s.repo)
	if err != nil {
		return err
	}
	changes, known := 0, 0
	seen := map[api.Version]bool{}
	for _, w := range s.writers {
		there, err := w.check(m)
		if err != nil {
			return err
		}
		changes += there
		if there > 0 {
			known += there + 1 // its notes, and their count
		}
		for _, v := range w.versions {
			if seen[v] || v > m.Version {
				return fmt.Errorf("%s: version %d was acknowledged, twice or above the repo's %d", w.name, v, m.Version)
			}
			seen[v] = true
		}
	}
	if int(m.Version) != changes {
		return fmt.Errorf("version %d after %d changes", m.Version, changes)
	}
	if len(m.Content.Entries) != known {
		return fmt.Errorf("%d entries, and %d were written", len(m.Content.Entries), known)
	}
	return nil
}

// check gives how many of the writer's changes are there: all that were
// acknowledged, perhaps the one in doubt, each whole.
func (w *writer) check(m api.Memory) (there int, err error) {
	if text := m.Content.Entries[w.count()]; text != "" {
		if _, err := fmt.Sscan(text, &there); err != nil {
			return 0, fmt.Errorf("%s holds %q", w.count(), text)
		}
	}
	if there < w.acked || there > w.tried {
		return 0, fmt.Errorf("%s: %d changes are there, %d were acknowledged and %d sent", w.name, there, w.acked, w.tried)
	}
	for i := 1; i <= w.tried; i++ {
		text, found := m.Content.Entries[w.note(i)]
		if found != (i <= there) {
			return 0, fmt.Errorf("%s: the count says %d, note %d there: %t", w.name, there, i, found)
		}
		if found && text != w.text(i) {
			return 0, fmt.Errorf("%s is there with other bytes", w.note(i))
		}
		if found && m.Content.EntryChecksums[w.note(i)] != api.ChecksumOfString(text) {
			return 0, fmt.Errorf("%s is there with another checksum", w.note(i))
		}
	}
	return there, nil
}
