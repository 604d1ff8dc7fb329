package watch

import (
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// scratch is what the client passes as Ignore.
func scratch(name string) bool {
	return strings.HasSuffix(name, "~") || strings.HasSuffix(name, ".tmp") || name == "4913"
}

// TestEditorsSave is BR-08: three saves 100 ms apart in each editor's way are one batch, a
// quiet delay after the last; temporary names alone are none.
func TestEditorsSave(t *testing.T) {
	type step struct {
		op   fsnotify.Op
		name string
	}
	const create, write, remove, rename, chmod = fsnotify.Create, fsnotify.Write, fsnotify.Remove, fsnotify.Rename, fsnotify.Chmod
	styles := map[string][]step{
		"backup, then a new file": {
			{create, "4913"},
			{chmod, "4913"},
			{remove, "4913"},
			{rename, "topic.md"},
			{create, "topic.md~"},
			{create, "topic.md"},
			{write, "topic.md"},
			{write, "topic.md"},
			{chmod, "topic.md"},
			{remove, "topic.md~"},
		},
		"a new file, renamed over": {{create, "topic.md.tmp"}, {write, "topic.md.tmp"}, {rename, "topic.md.tmp"}, {create, "topic.md"}},
		"unlink and create":        {{remove, "topic.md"}, {create, "topic.md"}, {write, "topic.md"}},
		"in place":                 {{write, "topic.md"}, {write, "topic.md"}},
	}
	for name, steps := range styles {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{Quiet: DefaultQuiet, Ignore: scratch}, nil, func(s *stage) {
				s.started()
				for range 3 {
					s.event(create, ".topic.md.swp")
					for _, step := range steps {
						s.event(step.op, step.name)
					}
					time.Sleep(100 * time.Millisecond)
				}
				if b, after := s.next(); b.Rescan || after != DefaultQuiet-100*time.Millisecond {
					s.Errorf("%+v after %v", b, after)
				}
				// An editor that only keeps its swap file up to date disturbs nobody.
				for _, name := range []string{".topic.md.swp", "topic.md~", "4913", ".git/index.lock", ".teammem/tmp/X"} {
					s.event(write, name)
				}
				s.event(chmod, "topic.md")
				if rescans, others := s.count(30 * time.Second); rescans+others != 0 {
					s.Errorf("%d and %d batches for nothing", rescans, others)
				}
			})
		})
	}
}

func TestCeiling(t *testing.T) {
	inBubble(t, Options{Quiet: 2 * time.Second, Ceiling: 10 * time.Second}, nil, func(s *stage) {
		s.started()
		go func() {
			for range 25 {
				s.event(fsnotify.Write, "topic.md")
				time.Sleep(time.Second)
			}
		}()
		for _, want := range []time.Duration{10, 10, 6} {
			if b, after := s.next(); b.Rescan || after.Round(time.Second) != want*time.Second {
				s.Errorf("%+v after %v, want %d s", b, after, want)
			}
		}
	})
}

func TestNoQuietDelay(t *testing.T) {
	inBubble(t, Options{}, nil, func(s *stage) {
		s.started()
		s.event(fsnotify.Write, "topic.md")
		if b, after := s.next(); b.Rescan || after != 0 {
			s.Errorf("%+v after %v", b, after)
		}
	})
}

// TestSlowReader: what a reader did not take becomes one batch, and a look at everything is
// not forgotten over it.
func TestSlowReader(t *testing.T) {
	inBubble(t, Options{Quiet: time.Second}, nil, func(s *stage) {
		synctest.Wait()
		for range 5 {
			s.event(fsnotify.Write, "topic.md")
			time.Sleep(3 * time.Second)
		}
		if b, after := s.next(); !b.Rescan || b.Why != "start" || after != 0 {
			s.Errorf("%+v after %v", b, after)
		}
		if rescans, others := s.count(10 * time.Second); rescans+others != 0 {
			s.Errorf("%d and %d more batches", rescans, others)
		}
	})
}

// TestOverflow is BR-10: 11 of 30 events come, and then the system says that it lost some.
func TestOverflow(t *testing.T) {
	inBubble(t, Options{Quiet: 2 * time.Second}, nil, func(s *stage) {
		s.started()
		for range 11 {
			s.event(fsnotify.Create, "topic.md")
		}
		// A directory was among the lost.
		s.world.set(func() { s.world.dirs[root+"/lost"] = 3 })
		s.fail(fsnotify.ErrEventOverflow)
		s.fail(fsnotify.ErrEventOverflow)
		if b, after := s.next(); !b.Rescan || b.Why != "overflow" || after != 2*time.Second {
			s.Errorf("%+v after %v", b, after)
		}
		s.logged(1, "lost file events")
		if h := s.watcher.Health(); h.Overflows != 2 || h.Mode != Inotify || h.Dirs != 3 || h.Rescanned.IsZero() {
			s.Errorf("health %+v", h)
		}
	})
}

// TestWatchLimit is BR-11 (a): the system refuses to watch. The cause is named, and is not
// the disk; changes are looked for by the clock; watching is tried again, ever more
// seldom; and when it works, that is said.
func TestWatchLimit(t *testing.T) {
	causes := map[string]struct {
		refuse func(w *world, err error)
		err    error
		says   string
	}{
		"watches":   {func(w *world, err error) { w.refuseAdd = err }, syscall.ENOSPC, "max_user_watches"},
		"instances": {func(w *world, err error) { w.refuseOpen = err }, syscall.EMFILE, "max_user_instances"},
	}
	for name, c := range causes {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(w *world) { c.refuse(w, c.err) }, func(s *stage) {
				s.started()
				if h := s.watcher.Health(); h.Mode != Polling || !strings.Contains(h.Why, c.says) || strings.Contains(h.Why, "space") {
					s.Errorf("health %+v", h)
				}
				if rescans, others := s.count(10 * time.Minute); rescans < 110 || rescans > 121 || others != 0 {
					s.Errorf("looked %d and %d times in ten minutes, want every %v", rescans, others, PollInterval)
				}
				s.world.set(func() {
					// At 0, 5, 15, 35, 75, 155 and 315 seconds.
					if tries := max(s.world.adds, s.world.openings); tries != 7 {
						s.Errorf("tried %d times in ten minutes, want 7", tries)
					}
					c.refuse(s.world, nil)
				})
				s.logged(1, "not to be had")
				s.count(5*time.Minute + 10*time.Second)
				s.logged(1, "work again")
				if h := s.watcher.Health(); h.Mode != Inotify || h.Why != "" || h.Dirs != 2 {
					s.Errorf("health %+v", h)
				}
				s.event(fsnotify.Write, "topic.md")
				if b, _ := s.next(); b.Rescan {
					s.Errorf("an event gave %+v", b)
				}
			})
		})
	}
}

// TestSilentWatcher is BR-11 (b): all looks well, but no event ever comes.
func TestSilentWatcher(t *testing.T) {
	inBubble(t, Options{Quiet: 2 * time.Second, Rescan: time.Minute}, nil, func(s *stage) {
		s.started()
		if rescans, others := s.count(time.Hour + time.Second); rescans != 60 || others != 0 {
			s.Errorf("%d and %d batches in an hour", rescans, others)
		}
	})
}

// TestTickWaitsForTheEditor: a look at everything in the middle of a save could see half of
// it.
func TestTickWaitsForTheEditor(t *testing.T) {
	inBubble(t, Options{Quiet: 2 * time.Second, Rescan: time.Minute}, nil, func(s *stage) {
		s.started()
		time.Sleep(time.Minute - time.Second)
		s.event(fsnotify.Write, "topic.md")
		if b, after := s.next(); !b.Rescan || b.Why != "tick" || after != 2*time.Second {
			s.Errorf("%+v after %v", b, after)
		}
	})
}

func TestNewAndMovedDirectories(t *testing.T) {
	inBubble(t, Options{Quiet: time.Second}, nil, func(s *stage) {
		s.started()
		// mkdir -p a/b: the system tells of a alone, b came before the watch did.
		s.world.set(func() { s.world.dirs[root+"/a"], s.world.dirs[root+"/a/b"] = 3, 4 })
		s.event(fsnotify.Create, "a")
		if b, _ := s.next(); !b.Rescan || s.watcher.Health().Dirs != 4 {
			s.Errorf("%+v, %+v", b, s.watcher.Health())
		}
		s.world.set(func() {
			delete(s.world.dirs, root+"/a")
			delete(s.world.dirs, root+"/a/b")
			s.world.dirs[root+"/z"], s.world.dirs[root+"/z/b"] = 3, 4
		})
		s.event(fsnotify.Rename, "a")
		s.event(fsnotify.Create, "z")
		s.next()
		synctest.Wait()
		want := "/memory /memory/notes /memory/z /memory/z/b"
		if got := strings.Join(s.world.source.List(), " "); got != want {
			s.Errorf("watched %s, want %s", got, want)
		}
		// One that the system gave up by itself, and one it never told of, are found on the tick.
		s.world.set(func() {
			delete(s.world.watched, root+"/notes")
			s.world.dirs[root+"/y"] = 5
		})
		s.count(61 * time.Second)
		if got := strings.Join(s.world.source.List(), " "); got != "/memory /memory/notes /memory/y /memory/z /memory/z/b" {
			s.Errorf("watched %s", got)
		}
	})
}

// TestRootGoesAndComes: the root vanishes, comes back, and is replaced without a word.
func TestRootGoesAndComes(t *testing.T) {
	inBubble(t, Options{Quiet: time.Second}, nil, func(s *stage) {
		s.started()
		s.world.set(func() { clear(s.world.dirs) })
		s.event(fsnotify.Rename, "")
		if b, after := s.next(); !b.Rescan || after != time.Second {
			s.Errorf("gone: %+v after %v", b, after)
		}
		if h := s.watcher.Health(); h.Mode != Polling || h.Dirs != 0 {
			s.Errorf("health %+v", h)
		}
		s.count(time.Hour)
		s.logged(1, "not to be had")

		s.world.set(func() { s.world.dirs[root] = 1 })
		s.count(PollInterval + time.Second)
		if h := s.watcher.Health(); h.Mode != Inotify || h.Dirs != 1 {
			s.Errorf("health %+v", h)
		}

		s.count(time.Second)
		closed := s.world.closed
		s.world.set(func() { s.world.dirs[root] = 2 })
		if b, after := s.next(); !b.Rescan || after > DefaultRescan {
			s.Errorf("replaced: %+v after %v", b, after)
		}
		if s.world.closed != closed+1 || s.watcher.Health().Dirs != 1 {
			s.Errorf("the old directory is still watched: %+v", s.watcher.Health())
		}
	})
}

func TestRootThatNeverWas(t *testing.T) {
	inBubble(t, Options{}, func(w *world) { clear(w.dirs) }, func(s *stage) {
		s.started()
		s.world.set(func() { s.world.dirs[root] = 1 })
		s.count(PollInterval + time.Second)
		if h := s.watcher.Health(); h.Mode != Inotify {
			s.Errorf("health %+v", h)
		}
	})
}

// TestSourceEnds: the system's events end as if somebody had closed them.
func TestSourceEnds(t *testing.T) {
	inBubble(t, Options{}, nil, func(s *stage) {
		s.started()
		close(s.world.source.events)
		if b, _ := s.next(); !b.Rescan {
			s.Errorf("%+v", b)
		}
		s.count(firstRetry + time.Second)
		if h := s.watcher.Health(); h.Mode != Inotify || s.world.openings != 2 {
			s.Errorf("health %+v, opened %d times", h, s.world.openings)
		}
	})
}

// TestAtRest: nothing but the tick wakes the watcher.
func TestAtRest(t *testing.T) {
	inBubble(t, Options{Quiet: 2 * time.Second, Rescan: time.Hour}, nil, func(s *stage) {
		s.started()
		synctest.Wait()
		from := s.watcher.health.Load()
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		// Every turn of the loop publishes its health anew.
		if s.watcher.health.Load() != from {
			s.Error("the loop turned while nothing happened")
		}
	})
}
