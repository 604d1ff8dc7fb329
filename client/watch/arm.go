package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

// watch brings the watches in line with the tree as it is now: it opens a source where
// there is none, watches what is not watched, and gives up what is no longer there.
// It is called at the start, on every tick, and whenever events may be missing.
func (l *loop) watch() {
	l.settle(l.arm())
}

// arm does the work of watch and says what is missing.
func (l *loop) arm() error {
	self, err := l.tree.identify(l.root)
	if err != nil {
		l.self = nil
		l.drop()
		return fmt.Errorf("the directory cannot be watched: %w", err)
	}
	if l.self == nil || !l.tree.same(l.self, self) {
		// The old watches follow the old directory.
		l.drop()
		l.self = self
	}
	if l.source == nil {
		if l.source, err = l.open(); err != nil {
			l.source = nil
			return explain(err)
		}
	}
	return l.addMissing()
}

// addMissing watches the directories that are not watched, and gives up watches of what
// is no longer there.
func (l *loop) addMissing() error {
	stale := map[string]bool{}
	for _, dir := range l.source.List() {
		stale[dir] = true
	}
	err := l.tree.walk(l.root, func(dir string) error {
		if stale[dir] {
			delete(stale, dir)
			return nil
		}
		return l.addOne(dir)
	})
	if err != nil {
		return err
	}
	for dir := range stale {
		_ = l.source.Remove(dir) // The system may have given it up by itself.
	}
	l.dirs = len(l.source.List())
	return nil
}

func (l *loop) addOne(dir string) error {
	err := l.source.Add(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		// It went meanwhile, or nobody can read it: then it cannot be synced either.
		return nil
	}
	return explain(err)
}

// add watches a new directory and all below it.
func (l *loop) add(path string) {
	err := l.tree.walk(path, l.addOne)
	l.dirs = len(l.source.List())
	if err != nil {
		l.settle(err)
	}
}

// forget gives up the watches at and below a path, and reports whether there were any.
func (l *loop) forget(path string) (some bool) {
	for _, dir := range l.source.List() {
		if dir == path || strings.HasPrefix(dir, path+string(filepath.Separator)) {
			_ = l.source.Remove(dir) // The system may have given it up by itself.
			some = true
		}
	}
	if some {
		l.dirs = len(l.source.List())
	}
	return some
}

// settle takes the outcome of an attempt to watch: what is missing is said once, looked
// for by the clock, and tried again after a pause that doubles.
func (l *loop) settle(err error) {
	if err == nil {
		if l.said {
			l.log.Info("file events work again", "directory", l.root)
		}
		l.why, l.said, l.pause = "", false, 0
		l.retry.Stop()
		return
	}
	missing := l.why != ""
	l.why = err.Error()
	if !l.said {
		l.log.Warn("file events are not to be had; looking for changes by the clock instead",
			"directory", l.root, "every", l.interval(), "why", l.why)
		l.said = true
	}
	if !missing {
		l.tick.Reset(l.interval())
	}
	l.pause = min(max(2*l.pause, firstRetry), longestRetry)
	l.retry.Reset(l.pause)
}

// lost gives up a source that ended.
func (l *loop) lost(why string) {
	l.drop()
	l.settle(errors.New(why))
	l.touch(why)
}

func (l *loop) drop() {
	if l.source != nil {
		if err := l.source.Close(); err != nil {
			l.log.Debug("close file events", "error", err)
		}
		l.source = nil
	}
	l.dirs = 0
}

// sameRoot reports whether the path leads to the directory that is watched.
func (l *loop) sameRoot() bool {
	now, err := l.tree.identify(l.root)
	return err == nil && l.self != nil && l.tree.same(l.self, now)
}

func (l *loop) publish() {
	h := Health{
		Mode: Inotify, Why: l.why, Dirs: l.dirs, LastEvent: l.lastEvent,
		Overflows: l.overflows, Rescanned: l.rescanned,
	}
	if l.why != "" {
		h.Mode = Polling
	}
	l.health.Store(&h)
}

// explain says what the system's refusals mean. Two of them read as if the disk were
// full or files were open, and are limits on watches.
func explain(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return errors.New("the system's limit of watched directories is reached; raise the sysctl fs.inotify.max_user_watches")
	case errors.Is(err, syscall.EMFILE):
		return errors.New("the system's limit of watchers is reached; raise the sysctl fs.inotify.max_user_instances, or the limit of open files")
	}
	return fmt.Errorf("watch: %w", err)
}
