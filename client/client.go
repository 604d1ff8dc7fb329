// Package client is the companion daemon: it opens a memory directory and the
// state that goes with it, connects to a server, and keeps the two in agreement
// until it is told to stop.
//
// [Open] binds a directory to one repo of one organization at one server and takes
// the directory's lock; a [Session] can then run one round ([Session.Once]) or stay
// ([Session.Run]). The pieces (memdir, state, remote, syncer, watch) are built here
// and closed here in reverse order. Deciding what to do about each file is the
// syncer's; talking to a person is tui's, which gets events from here.
package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/metrics"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/syncer"
)

// Config says what to sync and how.
type Config struct {
	Dir      string // the memory directory, absolute
	StateDir string // where its state is kept
	Repo     api.RepoSlug
	Version  string // of this program, as the server is told it
	Remote   remote.Options

	Debounce time.Duration // quiet time before a change is pushed
	Ceiling  time.Duration // and the longest it may be put off by further changes
	Rescan   time.Duration // safety rescan
	Poll     time.Duration // time between two questions for news, ± 20 %

	Propagate bool // deleting a file deletes its entry
	Accept    bool // go ahead with what stopped the last round, once
	NoPush    bool
	NoPull    bool
	DryRun    bool
	Offline   bool // a start without the server is no error, if the directory was synced before

	Progress func(verb string, done, total int)

	// Metrics is told how rounds go; nil where nobody asks.
	Metrics *metrics.Set
	// MetricsFile is where they are written after rounds; empty: nowhere.
	MetricsFile string
}

// DefaultConfig holds the stock client's times, and our own poll.
var DefaultConfig = Config{
	Debounce: 2 * time.Second,
	Ceiling:  10 * time.Second,
	Rescan:   time.Minute,
	Poll:     3 * time.Second,
}

// Session is an opened directory.
type Session struct {
	log     *slog.Logger
	cfg     Config
	tell    func(syncer.Event)
	now     func() time.Time
	dir     *memdir.Dir
	unlock  func() error
	store   *state.Store
	remote  *remote.Client
	guard   *guard.Guard
	syncer  *syncer.Syncer
	who     api.WhoAmI
	pulse   state.Pulse
	made    bool // the directory was made by this start
	joined  bool // the directory was bound to the repo by this start
	offline bool
	// watching says how changes are noticed, while that is done.
	watching func() state.Watching
	// written is when the metrics were written last.
	written time.Time
	scratch string // stands in for a directory that a dry run does not make
}

// MismatchError says that a directory belongs to another repo, organization or
// server than the one asked for.
type MismatchError struct{ Dir, What, Has, Want string }

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s is synced with the %s %s, not with %s", e.Dir, e.What, e.Has, e.Want)
}

// GoneError says that a directory that was synced is not there any more.
type GoneError struct{ Dir string }

func (e *GoneError) Error() string {
	return fmt.Sprintf("the memory directory %s was synced before and is gone", e.Dir)
}

// Open opens the directory, takes its lock, and asks the server who we are. On an
// error everything is closed again.
func Open(ctx context.Context, log *slog.Logger, cfg Config, rules guard.Rules, now func() time.Time, tell func(syncer.Event)) (_ *Session, err error) {
	cfg, tell = observing(cfg, tell)
	s := &Session{log: log, cfg: cfg, tell: tell, now: now, watching: func() state.Watching { return state.Watching{} }}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.store, err = state.Open(cfg.StateDir); err != nil {
		return nil, err
	}
	agreed, err := s.store.Load()
	if errors.Is(err, state.ErrDamaged) {
		log.Warn("the state of this directory was damaged and is put aside; everything is compared anew", "error", err)
	} else if err != nil {
		return nil, err
	}
	s.pulse = s.store.LastPulse()
	if s.remote, err = remote.New(cfg.Remote); err != nil {
		return nil, err
	}
	limits, perKey, err := s.connect(ctx)
	if err != nil && !s.mayWait(err, agreed) {
		if ctx.Err() == nil {
			s.cameToNothing(err)
		}
		return nil, err
	}
	if err := s.openDir(agreed); err != nil {
		return nil, err
	}
	marker, err := s.bind(agreed)
	if err != nil {
		return nil, err
	}
	if err := s.retire(); err != nil {
		return nil, err
	}
	s.guard = guard.New(rules, s.store, s.remote, now)
	s.syncer = syncer.New(log, s.dir, s.remote, s.store, s.guard, now, tell, agreed, syncer.Options{
		Repo: cfg.Repo, Marker: marker, Limits: limits, PerKey: perKey,
		Propagate: cfg.Propagate, Accept: cfg.Accept, NoPush: cfg.NoPush, NoPull: cfg.NoPull, DryRun: cfg.DryRun,
		Same:  func(a, b api.Key) bool { return s.dir.Same(a, b) },
		Pause: pauseWhenStale, Progress: cfg.Progress,
	})
	// What had no room when a client ran here before may have it by now.
	if !cfg.DryRun {
		s.syncer.TryRoom()
	}
	return s, nil
}

// mayWait reports whether a session may start without the server and wait for it.
func (s *Session) mayWait(err error, agreed *state.Agreement) bool {
	var unreachable *remote.Unreachable
	s.offline = s.cfg.Offline && errors.As(err, &unreachable) && agreed.Version > 0
	return s.offline
}

// connect asks the server what it takes and who we are.
func (s *Session) connect(ctx context.Context) (limits api.Limits, perKey bool, err error) {
	limits, perKey, stock, err := s.askLimits(ctx)
	if err != nil {
		return limits, true, err
	}
	s.who, err = s.remote.WhoAmI(ctx)
	if stock && api.CodeOf(err) == api.NotFound {
		err = nil // a stock server; its answers name the organization
	}
	return limits, perKey, err
}

// askLimits reads what the server announces. A server that announces nothing is
// taken for a stock one.
func (s *Session) askLimits(ctx context.Context) (limits api.Limits, perKey, stock bool, err error) {
	known, err := s.remote.WellKnown(ctx)
	if api.CodeOf(err) == api.NotFound {
		return api.DefaultLimits, false, true, nil
	}
	if err != nil {
		return api.DefaultLimits, true, false, err
	}
	for _, extension := range known.Extensions {
		perKey = perKey || extension == api.ExtensionBaseChecksums
	}
	return known.Limits, perKey, false, nil
}

// lockedFor is what the lock's holder is said to be doing.
const lockedFor = "client sync"

// openDir opens the directory and locks it. One that was never synced is made;
// one that was synced and is gone is not.
func (s *Session) openDir(agreed *state.Agreement) error {
	_, err := os.Stat(s.cfg.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && agreed.MarkerID != "":
		return &GoneError{Dir: s.cfg.Dir}
	case errors.Is(err, fs.ErrNotExist) && s.cfg.DryRun:
		// A dry run makes nothing in anyone's home: it looks at an empty
		// directory of its own.
		if s.scratch, err = os.MkdirTemp("", "teammem-dry-run-"); err != nil {
			return err
		}
		s.dir, err = memdir.Open(s.scratch)
		return err
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(s.cfg.Dir, 0o755); err != nil {
			return fmt.Errorf("make memory directory: %w", err)
		}
		s.made = true
	}
	if s.dir, err = memdir.Open(s.cfg.Dir); err != nil {
		return err
	}
	if s.cfg.DryRun {
		return nil
	}
	s.dir.FlushLate() // the syncer flushes before it saves
	s.unlock, err = s.dir.Lock(lockedFor)
	return err
}

// bind ties the directory to the server, the organization and the repo, or checks
// that it is tied to these. It gives the marker that must stand in the directory
// from now on.
func (s *Session) bind(agreed *state.Agreement) (memdir.Marker, error) {
	marker, marked, err := s.dir.Marker()
	if err != nil {
		return marker, err
	}
	if agreed.MarkerID != "" && !marked && !s.cfg.Accept {
		return marker, &syncer.Halt{
			Why:  fmt.Sprintf("%s is not the directory that was synced before: it was replaced, or its .teammem folder removed", s.cfg.Dir),
			Hint: "put the old one back, or to sync this one from now on: client sync --once --accept",
		}
	}
	want := memdir.Marker{ID: marker.ID, Server: s.remote.Server(), Organization: s.who.OrganizationID, Repo: string(s.cfg.Repo)}
	if want.Organization == "" {
		want.Organization = marker.Organization
	}
	if marked && !s.cfg.Accept {
		if err := s.checkMarker(marker, want); err != nil {
			return marker, err
		}
		if agreed.MarkerID != "" && agreed.MarkerID != marker.ID {
			return marker, &syncer.Halt{
				Why:  fmt.Sprintf("%s is another synced directory than the one that was here before", s.cfg.Dir),
				Hint: "put the old one back, or to sync this one from now on: client sync --once --accept",
			}
		}
	}
	if agreed.MarkerID == marker.ID && marked && marker == want && agreed.Server == want.Server {
		return marker, nil
	}
	if marker.ID == "" || marked && marker != want {
		want.ID = rand.Text()
		// What was agreed before was agreed with somebody else.
		*agreed = state.Agreement{}
	}
	if s.cfg.DryRun {
		return marker, nil
	}
	s.joined = true
	return want, s.enrol(agreed, want)
}

func (s *Session) checkMarker(has, want memdir.Marker) error {
	for _, field := range []struct{ what, has, want string }{
		{"server", has.Server, want.Server}, {"organization", has.Organization, want.Organization}, {"repo", has.Repo, want.Repo},
	} {
		if field.has != field.want && field.has != "" {
			return &MismatchError{Dir: s.cfg.Dir, What: field.what, Has: field.has, Want: field.want}
		}
	}
	return nil
}

func (s *Session) enrol(agreed *state.Agreement, marker memdir.Marker) error {
	if err := s.dir.SetMarker(marker); err != nil {
		return fmt.Errorf("mark directory: %w", err)
	}
	agreed.Server, agreed.OrganizationID, agreed.Repo = marker.Server, marker.Organization, s.cfg.Repo
	agreed.Directory, agreed.RootID, agreed.MarkerID = s.cfg.Dir, s.dir.RootID(), marker.ID
	return s.store.Save(agreed)
}

// Made reports whether this start made the directory.
func (s *Session) Made() bool { return s.made }

// Joined reports whether this start bound the directory to its repo.
func (s *Session) Joined() bool { return s.joined }

// Who is whose token it is, as far as the server said.
func (s *Session) Who() api.WhoAmI { return s.who }

// Agreed is the state of the agreement; the caller must not change it.
func (s *Session) Agreed() *state.Agreement { return s.syncer.Agreed() }

// Store is the state store, for what stands in the keep and the trash.
func (s *Session) Store() *state.Store { return s.store }

// Once runs one round.
func (s *Session) Once(ctx context.Context) (*syncer.Report, error) {
	began := s.now()
	report, err := s.syncer.Round(ctx, syncer.Both)
	for tries := 0; err == nil && report.Pending && !s.cfg.DryRun && tries < 3; tries++ {
		var again *syncer.Report
		again, err = s.syncer.Round(ctx, syncer.Both)
		report.Add(again)
	}
	switch kind := troubleOf(err); {
	case ctx.Err() != nil:
	case kind == "":
		s.wentWell(report, false)
	default:
		hint := ""
		if halt := (*syncer.Halt)(nil); errors.As(err, &halt) {
			hint = halt.Hint
		}
		s.wentBadly(kind, err.Error(), hint)
	}
	s.observed(began, err, false)
	return report, err
}

// Close gives everything back, last opened first.
func (s *Session) Close() error {
	var errs []error
	if s.unlock != nil {
		errs = append(errs, s.unlock())
	}
	if s.dir != nil {
		errs = append(errs, s.dir.Close())
	}
	if s.scratch != "" {
		errs = append(errs, os.RemoveAll(s.scratch))
	}
	if s.remote != nil {
		s.remote.Close()
	}
	return errors.Join(errs...)
}
