package watch

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// loop is what moves while [Watcher.Run] runs. One goroutine owns it.
type loop struct {
	*Watcher
	source source // nil: the system gave none
	self   any    // which root is watched; nil: there is none
	dirs   int    // directories watched

	pending *Batch    // ready, the reader has not taken it
	since   time.Time // of the first event not yet in a batch; zero: none
	rescan  string    // why the next batch asks for everything; "" = it does not

	quiet *time.Timer // the end of the quiet delay
	tick  *time.Timer // the next look at everything
	retry *time.Timer // the next attempt to watch; set while something is missing
	pause time.Duration

	why       string // what is missing; "" = nothing
	said      bool   // it was logged
	overflows int
	flooded   bool // an overflow was logged since the last quiet tick
	lastEvent time.Time
	rescanned time.Time
}

func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

func (l *loop) start() {
	l.watch()
	l.emit(true, "start")
	l.publish()
}

func (l *loop) close() {
	for _, a := range []*time.Timer{l.quiet, l.tick, l.retry} {
		a.Stop()
	}
	l.drop()
}

// next is the batch to send; the zero one is never sent.
func (l *loop) next() Batch {
	if l.pending == nil {
		return Batch{}
	}
	return *l.pending
}

func (l *loop) events() <-chan fsnotify.Event {
	if l.source == nil {
		return nil
	}
	return l.source.Events()
}

func (l *loop) errors() <-chan error {
	if l.source == nil {
		return nil
	}
	return l.source.Errors()
}

// onEvent takes one event of the system.
func (l *loop) onEvent(e fsnotify.Event, ok bool) {
	if !ok {
		l.lost("the system's events ended")
		return
	}
	gone := e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	switch name := filepath.Base(e.Name); {
	case e.Name == l.root:
		if !gone {
			return
		}
		l.self = nil
		l.watch()
		l.touch("the directory itself moved")
	case e.Op == fsnotify.Chmod || !l.below(e.Name):
		// Times and permissions alone: nothing to send.
		return
	case gone:
		// It may have been a directory: what was watched below it has another name
		// now, or none.
		if l.forget(e.Name) {
			l.touch("directory gone")
			break
		}
		l.touchUnlessIgnored(name)
	case e.Has(fsnotify.Create) && l.tree.isDir(e.Name):
		// What is in it came before the watch did.
		l.add(e.Name)
		l.touch("new directory")
	default:
		l.touchUnlessIgnored(name)
	}
	l.lastEvent = time.Now()
}

// below reports whether the path lies in the tree and no segment of it is hidden.
func (l *loop) below(path string) bool {
	rest, ok := strings.CutPrefix(path, l.root+string(filepath.Separator))
	return ok && rest != "" && rest[0] != '.' && !strings.Contains(rest, string(filepath.Separator)+".")
}

func (l *loop) touchUnlessIgnored(name string) {
	if l.opts.Ignore == nil || !l.opts.Ignore(name) {
		l.touch("")
	}
}

// touch notes that something happened: the quiet delay begins anew, up to the ceiling.
// With a reason the batch will ask for everything.
func (l *loop) touch(rescan string) {
	now := time.Now()
	if l.since.IsZero() {
		l.since = now
	}
	if rescan != "" && l.rescan == "" {
		l.rescan = rescan
	}
	l.quiet.Reset(min(l.opts.Quiet, max(0, l.opts.Ceiling-now.Sub(l.since))))
}

func (l *loop) onQuiet() { l.emit(l.rescan != "", l.rescan) }

// emit makes a batch ready. One that still waits is made one with it.
func (l *loop) emit(rescan bool, why string) {
	if why == "" {
		why = "events"
	}
	batch := Batch{Rescan: rescan, Why: why, At: time.Now()}
	if l.pending != nil && l.pending.Rescan && !rescan {
		batch.Rescan, batch.Why = true, l.pending.Why
	}
	l.pending = &batch
	l.since, l.rescan = time.Time{}, ""
	l.quiet.Stop()
	if rescan {
		l.rescanned = batch.At
		l.tick.Reset(l.interval())
	}
}

// interval is the time to the next look at everything.
func (l *loop) interval() time.Duration {
	if l.why != "" {
		return min(l.poll, l.opts.Rescan)
	}
	return l.opts.Rescan
}

// onTick looks at everything, whatever the events say. While an editor is at work it
// waits for the quiet, so that no half of a save is seen.
func (l *loop) onTick() {
	l.tick.Reset(l.interval())
	if l.why == "" || l.self == nil || !l.sameRoot() {
		l.watch()
	}
	why := "tick"
	if l.why != "" {
		why = "polling"
	}
	if l.since.IsZero() {
		l.flooded = false
		l.emit(true, why)
		return
	}
	if l.rescan == "" {
		l.rescan = why
	}
}

// onError takes an error of the source. All of them mean that events may be missing.
func (l *loop) onError(err error, ok bool) {
	if !ok {
		l.lost("the system's events ended")
		return
	}
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		l.overflows++
		if !l.flooded {
			l.log.Warn("the system lost file events; looking at everything", "directory", l.root)
		}
		l.flooded = true
		l.watch()
		l.touch("overflow")
		return
	}
	l.log.Warn("file events", "directory", l.root, "error", err)
	l.watch()
	l.touch("watch error")
}

// onRetry tries to watch what could not be watched.
func (l *loop) onRetry() {
	l.watch()
	if l.why == "" {
		l.touch("watching again")
	}
}
