package watch

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// world is a tree and an event source that do what a test says. It stands in for the
// disk and for fsnotify in a synctest bubble.
type world struct {
	mu         sync.Mutex
	dirs       map[string]int // and which directory it is, as an inode
	watched    map[string]bool
	refuseAdd  error // what Add answers
	refuseOpen error // what opening the source answers
	openings   int
	adds       int
	closed     int

	source *fakeSource
}

type fakeSource struct {
	*world
	events chan fsnotify.Event
	errors chan error
}

func (w *world) open() (source, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.openings++
	if w.refuseOpen != nil {
		return nil, w.refuseOpen
	}
	w.watched = map[string]bool{}
	w.source = &fakeSource{world: w, events: make(chan fsnotify.Event), errors: make(chan error)}
	return w.source, nil
}

func (s *fakeSource) Add(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adds++
	if s.refuseAdd != nil {
		return s.refuseAdd
	}
	s.watched[dir] = true
	return nil
}

func (s *fakeSource) Remove(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watched, dir)
	return nil
}

func (s *fakeSource) List() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.watched))
}

func (s *fakeSource) Events() <-chan fsnotify.Event { return s.events }
func (s *fakeSource) Errors() <-chan error          { return s.errors }

func (s *fakeSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	s.watched = nil
	return nil
}

func (w *world) walk(root string, visit func(string) error) error {
	w.mu.Lock()
	all := slices.Sorted(maps.Keys(w.dirs))
	w.mu.Unlock()
	for _, dir := range all {
		if dir == root || strings.HasPrefix(dir, root+"/") {
			if err := visit(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) isDir(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.dirs[path]
	return ok
}

func (w *world) identify(path string) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, ok := w.dirs[path]
	if !ok {
		return nil, fmt.Errorf("stat %s: %w", path, fs.ErrNotExist)
	}
	return id, nil
}

func (w *world) same(a, b any) bool { return a == b }

// set changes the world under its lock.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// stage is a running watcher in a bubble, with what it said.
type stage struct {
	*testing.T
	*world
	watcher *Watcher
	batches chan Batch
	log     *strings.Builder
	cancel  context.CancelFunc
}

const root = "/memory"

// inBubble runs a watcher over a world in a synctest bubble. Nothing has been taken
// from its batches yet.
func inBubble(t *testing.T, opts Options, prepare func(*world), do func(s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{dirs: map[string]int{root: 1, root + "/notes": 2}}
		if prepare != nil {
			prepare(w)
		}
		s := &stage{T: t, world: w, batches: make(chan Batch), log: &strings.Builder{}}
		s.watcher = newWatcher(slog.New(slog.NewTextHandler(s.log, nil)), root, opts, w, w.open)
		ctx, cancel := context.WithCancel(t.Context())
		s.cancel = cancel
		done := make(chan error, 1)
		go func() { done <- s.watcher.Run(ctx, s.batches) }()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}()
		do(s)
	})
}

// next waits for a batch and gives it with the time that passed.
func (s *stage) next() (Batch, time.Duration) {
	s.Helper()
	from := time.Now()
	select {
	case b := <-s.batches:
		return b, time.Since(from)
	case <-time.After(24 * time.Hour):
		s.Fatal("no batch in a day")
		return Batch{}, 0
	}
}

// started takes the first batch.
func (s *stage) started() {
	s.Helper()
	if b, after := s.next(); !b.Rescan || b.Why != "start" || after != 0 {
		s.Fatalf("the first batch is %+v after %v", b, after)
	}
}

// count takes batches for a while and says how many asked for everything, and how many not.
func (s *stage) count(d time.Duration) (rescans, others int) {
	end := time.After(d)
	for {
		select {
		case b := <-s.batches:
			if b.Rescan {
				rescans++
			} else {
				others++
			}
		case <-end:
			return rescans, others
		}
	}
}

func (s *stage) event(op fsnotify.Op, name string) {
	s.world.mu.Lock()
	source := s.source
	s.world.mu.Unlock()
	source.events <- fsnotify.Event{Name: path.Join(root, name), Op: op}
}

func (s *stage) fail(err error) { s.source.errors <- err }

func (s *stage) logged(times int, text string) {
	s.Helper()
	synctest.Wait()
	if got := strings.Count(s.log.String(), text); got != times {
		s.Errorf("%q was logged %d times, want %d:\n%s", text, got, times, s.log)
	}
}
