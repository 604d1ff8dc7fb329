// Package watch says when to look at the memory directory again. It turns the
// system's file events into batches that come when the directory is quiet, and it
// never depends on them: a look at everything comes on a clock as well.
//
// It keeps no list of names. A batch means "look again"; what has changed is found
// by the looker, by size, times and inode. So a lost event costs time and never an
// edit, an editor's way of saving does not matter, and a client's own writes
// settle by themselves.
//
// Directories are watched, never files: a file that an editor replaces would take its
// watch with it. Names that begin with a dot, .teammem among them, are neither
// watched nor heard.
//
// One goroutine owns everything that moves, in one select: an event starts or prolongs
// the quiet delay, the ceiling bounds that, and a slow reader of batches gets one
// batch for all that happened meanwhile. When the system refuses to watch, or loses
// events, the clock ticks faster and the cause is said once; watching is tried again
// with growing pauses. At rest nothing wakes up but the tick.
//
// The client's loop calls it. It imports nothing of ours.
package watch

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"
)

// The usual delays.
const (
	DefaultQuiet   = 2 * time.Second
	DefaultCeiling = 10 * time.Second
	DefaultRescan  = 60 * time.Second
)

// PollInterval is the longest time in which a change is looked for while the system's
// events are not to be had, and in which a root that vanished is noticed again.
const PollInterval = 5 * time.Second

// Pauses between attempts to watch after the system refused: the first, and the longest
// they grow to.
const (
	firstRetry   = 5 * time.Second
	longestRetry = 5 * time.Minute
)

// Options are the delays of one watcher.
type Options struct {
	// Quiet is how long nothing may happen before a batch. Zero means at once, which
	// suits tests and impatient people; [DefaultQuiet] suits editors.
	Quiet time.Duration
	// Ceiling is the longest a batch is put off while things go on happening. Zero
	// means [DefaultCeiling], or five times Quiet when that is longer.
	Ceiling time.Duration
	// Rescan is the time between two looks at everything. Zero means [DefaultRescan].
	Rescan time.Duration
	// Ignore reports names (the last segment) whose coming and going means nothing:
	// editors' temporary files. May be nil. Names that begin with a dot are ignored
	// in any case.
	Ignore func(name string) bool
}

// Batch says that it is time to look again.
type Batch struct {
	// Rescan asks for a look at everything that trusts no event: at the start, on the
	// tick, after an overflow, while polling.
	Rescan bool
	Why    string // for logs and people
	At     time.Time
}

// Mode is how changes are noticed now.
type Mode string

// The modes. The first stands for whatever the system has of the kind.
const (
	Inotify Mode = "inotify"
	Polling Mode = "polling"
)

// Health is what the watcher does now, for status.
type Health struct {
	Mode      Mode
	Why       string // why it is not better; empty when all is well
	Dirs      int    // directories watched
	LastEvent time.Time
	Overflows int // times the system lost events
	Rescanned time.Time
}

// Watcher watches one directory tree. It is made by [New] and run once.
type Watcher struct {
	log    *slog.Logger
	root   string
	opts   Options
	tree   tree
	open   func() (source, error)
	poll   time.Duration // PollInterval, but in tests
	health atomic.Pointer[Health]
}

// New makes a watcher for the tree below root, which need not exist yet.
func New(log *slog.Logger, root string, opts Options) *Watcher {
	return newWatcher(log, root, opts, disk{}, openSystem)
}

func newWatcher(log *slog.Logger, root string, opts Options, tree tree, open func() (source, error)) *Watcher {
	root = filepath.Clean(root)
	opts.Quiet = max(opts.Quiet, 0)
	if opts.Ceiling <= 0 {
		opts.Ceiling = max(DefaultCeiling, 5*opts.Quiet)
	}
	if opts.Rescan <= 0 {
		opts.Rescan = DefaultRescan
	}
	w := &Watcher{log: log, root: root, opts: opts, tree: tree, open: open, poll: PollInterval}
	w.health.Store(&Health{Mode: Polling, Why: "not started"})
	return w
}

// Health says what the watcher does now. It may be called at any time.
func (w *Watcher) Health() Health { return *w.health.Load() }

// Run sends batches until ctx ends, and then returns nil; no goroutine is left. The
// first batch asks for a look at everything and comes when the watches stand, so
// that nothing falls between. Run never waits for the reader: what it could not
// send yet is one batch with all that came since.
func (w *Watcher) Run(ctx context.Context, batches chan<- Batch) error {
	l := &loop{Watcher: w, quiet: stopped(), tick: stopped(), retry: stopped()}
	defer l.close()
	l.start()
	for {
		var out chan<- Batch
		if l.pending != nil {
			out = batches
		}
		select {
		case <-ctx.Done():
			return nil
		case out <- l.next():
			l.pending = nil
		case event, ok := <-l.events():
			l.onEvent(event, ok)
		case err, ok := <-l.errors():
			l.onError(err, ok)
		case <-l.quiet.C:
			l.onQuiet()
		case <-l.tick.C:
			l.onTick()
		case <-l.retry.C:
			l.onRetry()
		}
		l.publish()
	}
}
