package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/client/watch"
)

const (
	// flushTime is what a last push gets when the client is told to stop; the
	// stock client takes as much.
	flushTime = 2 * time.Second
	// firstPause and longestPause bound the waits between tries while the server
	// is away.
	firstPause   = time.Second
	longestPause = time.Minute
	// firstStalePause and longestStalePause bound the waits between pushes that
	// team-mates got in before.
	firstStalePause   = 10 * time.Millisecond
	longestStalePause = time.Second
	// againPause comes before another look at files that change under our hands.
	againPause = 100 * time.Millisecond
	// limitsAge is how old the server's announced limits may be while something
	// is held back by one of them.
	limitsAge = time.Minute
	// saveLag is how much older than what was agreed the state on disk may be.
	saveLag = time.Second
)

// Run keeps the directory and the repo in agreement until ctx ends. It pulls
// first, then watches, also when the server has nothing. When ctx ends, edits that
// still wait get one quick push. Faults of the server or the directory are told
// and waited for; only an error that no waiting can cure ends Run.
func (s *Session) Run(ctx context.Context) error {
	batches := make(chan watch.Batch, 1)
	nudges := make(chan watch.Batch, 1)
	signals := make(chan signal)
	watcher := watch.New(s.log, s.dir.Path(), watch.Options{
		Quiet: s.cfg.Debounce, Ceiling: s.cfg.Ceiling, Rescan: s.cfg.Rescan, Ignore: memdir.IsTemporary,
	})
	s.watching = func() state.Watching { return watchingOf(watcher.Health()) }
	s.syncer.SaveLate(saveLag)
	l := &loop{Session: s, pause: firstPause}
	l.round(ctx, syncer.Both)
	l.watched = true
	l.report(ctx, api.ClientRunning)

	var parts sync.WaitGroup
	working, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		parts.Wait()
	}()
	watchEnded := make(chan error, 1)
	parts.Go(func() { watchEnded <- watcher.Run(working, batches) })
	parts.Go(func() { s.listen(working, signals) })
	parts.Go(func() { s.nudges(working, nudges) })
	if err := s.guard.Warm(); err != nil {
		s.log.Debug("the scanner's rules are read when they are needed", "error", err)
	}
	poll := time.NewTimer(l.next())
	defer poll.Stop()
	save := time.NewTimer(saveLag)
	defer save.Stop()
	for {
		if !l.saving && s.syncer.Unsaved() {
			l.saving = true
			save.Reset(saveLag)
		}
		select {
		case <-ctx.Done():
			return l.flush()
		case err := <-watchEnded:
			if ctx.Err() == nil {
				return fmt.Errorf("watch %s: %w", s.cfg.Dir, err)
			}
			return l.flush()
		case <-save.C:
			l.saving = false
			if err := s.syncer.Save(); err != nil {
				l.gone(troubleOf(err), err)
				poll.Reset(l.next())
			}
		case <-batches:
			l.edited(ctx, poll)
		case <-nudges:
			l.edited(ctx, poll)
		case sig := <-signals:
			if !l.heard(sig) {
				continue
			}
			l.round(ctx, syncer.News)
			poll.Reset(l.next())
		case <-poll.C:
			l.round(ctx, syncer.News)
			poll.Reset(l.next())
		}
	}
}

// edited looks for edits now.
func (l *loop) edited(ctx context.Context, poll *time.Timer) {
	l.round(ctx, syncer.Edits)
	l.noteWatching()
	if l.again || l.away != "" || l.denied != "" {
		poll.Reset(l.next())
	}
}

// heard takes in what the live stream says; ask is true when the server is to be
// asked now.
func (l *loop) heard(sig signal) (ask bool) {
	turned := l.live != sig.live
	l.live = sig.live
	if sig.change.Version == 0 {
		return turned
	}
	// Our own pushes come back as events of the version we know already, and what
	// was told while a round ran was fetched with it. That a version went back is
	// seen by the question that follows a new stream.
	return sig.change.Version > l.Agreed().Version
}

// loop is the moving state of one Run.
type loop struct {
	*Session
	live     bool          // a live stream is open
	away     state.Trouble // what the last try met that may pass by itself
	pause    time.Duration // until the next try, while it is away
	until    time.Time     // the server asked to be left alone
	denied   string        // the token that was refused; nothing is asked with it again
	barred   string        // the token that may not push
	halted   string        // what was told of a halt
	lost     bool          // the directory was gone or another one
	again    bool          // look again at once
	saving   bool          // a saving is due
	watched  bool          // the first round is over
	limitsAt time.Time
	reports  reporter
}

// next is the time until the next question to the server.
func (l *loop) next() time.Duration {
	switch {
	case l.again:
		return againPause
	case l.away != "":
		wait := l.pause/2 + rand.N(l.pause/2+1)
		l.pause = min(2*l.pause, longestPause)
		return max(wait, l.until.Sub(l.now()))
	}
	every := l.cfg.Poll
	if l.live && l.denied == "" {
		every = max(every, livePoll)
	}
	// ± 20 %, so that the clients of a team do not ask in step.
	fifth := every / 5
	return every - fifth + rand.N(2*fifth+1)
}

// round runs one round and tells what came of it.
func (l *loop) round(ctx context.Context, mode syncer.Mode) {
	token := l.cfg.Remote.Token()
	if l.denied != "" && l.denied == token {
		return // waits for a new login
	}
	if l.now().Before(l.until) {
		return // edits wait for the time that the server named
	}
	if l.denied != "" || l.barred != "" && l.barred != token {
		// A new login may do what the old one might not.
		l.syncer.ForgiveAll()
		l.denied, l.barred = "", ""
		mode = syncer.Both
	}
	l.syncer.SetPush(!l.cfg.NoPush && l.barred == "")
	if l.refreshLimits(ctx) || l.away != "" || l.again || l.halted != "" {
		mode = syncer.Both
	}
	l.again = false
	l.reopen()
	began := l.now()
	report, err := l.syncer.Round(ctx, mode)
	if ctx.Err() != nil {
		return
	}
	defer l.observed(began, err, l.live)
	l.judge(report, err, token)
	if l.watched {
		l.report(ctx, api.ClientRunning)
	}
}

func (l *loop) judge(report *syncer.Report, err error, token string) {
	var halt *syncer.Halt
	switch kind := troubleOf(err); kind {
	case "":
		l.well(report)
	case state.Halted:
		l.lost = errors.Is(err, memdir.ErrGone) || errors.Is(err, memdir.ErrReplaced)
		if errors.As(err, &halt) && l.halted != halt.Why {
			l.halted = halt.Why
			l.fell(kind, syncer.Event{Kind: syncer.EventHalted, Text: halt.Why, Hint: halt.Hint})
		}
	case state.SignIn:
		l.denied = token
		l.fell(kind, syncer.Event{
			Kind: syncer.EventSignIn, Text: "the server does not accept the token: " + err.Error(),
			Hint: "client login; edits wait here until then",
		})
	case state.Barred:
		l.barred = token
		l.fell(kind, syncer.Event{
			Kind: syncer.EventSignIn, Text: "this token may not push: " + err.Error(),
			Hint: "ask an administrator for the role member; changes of others still arrive",
		})
	default:
		l.gone(kind, err)
	}
}

// fell tells of a fault, and leaves word of it.
func (l *loop) fell(kind state.Trouble, e syncer.Event) {
	l.tell(e)
	l.wentBadly(kind, e.Text, e.Hint)
}

// reopen opens the directory anew after it was away: what came back by a mount or
// a copy has the same marker and another identity.
func (l *loop) reopen() {
	if !l.lost {
		return
	}
	dir, err := memdir.Open(l.cfg.Dir)
	if err != nil {
		return // the round says what is wrong
	}
	marker, ok, err := dir.Marker()
	if err != nil || !ok || marker.ID != l.Agreed().MarkerID {
		_ = dir.Close()
		return
	}
	unlock, err := dir.Lock(lockedFor)
	if err != nil {
		_ = dir.Close()
		return
	}
	_ = l.unlock()
	_ = l.dir.Close()
	dir.FlushLate()
	l.dir, l.unlock, l.lost = dir, unlock, false
	l.syncer.SetDirectory(dir)
}

func (l *loop) well(report *syncer.Report) {
	l.lost = false
	switch l.away {
	case state.Unreachable:
		l.tell(syncer.Event{Kind: syncer.EventOnline, Text: "the server is back"})
	case state.Faulty:
		l.tell(syncer.Event{Kind: syncer.EventResumed, Text: "syncing goes on"})
	}
	l.away, l.pause = "", firstPause
	if l.halted != "" {
		l.halted = ""
		l.tell(syncer.Event{Kind: syncer.EventResumed, Text: "syncing goes on"})
	}
	l.again = report.Pending
	l.wentWell(report, l.barred != "")
}

// gone tells once that the server is away, or that something here is in the way,
// and lets next wait longer and longer.
func (l *loop) gone(kind state.Trouble, err error) {
	if l.away != kind {
		l.away = kind
		e := syncer.Event{Kind: syncer.EventOffline, Text: err.Error(), Hint: "edits wait here; tried again by itself"}
		if kind == state.Faulty {
			e.Kind = syncer.EventFailed
		}
		l.fell(kind, e)
	}
	var e *api.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		l.until = l.now().Add(min(e.RetryAfter, longestPause))
	}
}

// refreshLimits asks anew what the server takes, while something waits for it to
// take more, and reports whether something is to be tried again. Of the limits of an
// organization only a push shows whether there is room.
func (l *loop) refreshLimits(ctx context.Context) (again bool) {
	if !l.syncer.WaitsForLimits() || l.now().Sub(l.limitsAt) < limitsAge {
		return false
	}
	l.limitsAt = l.now()
	limits, perKey, _, err := l.askLimits(ctx)
	if err == nil {
		again = l.syncer.SetLimits(limits, perKey)
	}
	return l.syncer.TryRoom() || again
}

// flush pushes what still waits, in the little time that is left, and saves the state.
func (l *loop) flush() error {
	defer func() {
		if err := l.syncer.Save(); err != nil {
			l.log.Info("the state could not be saved; everything is compared anew at the next start", "error", err)
		}
	}()
	if l.denied != "" || l.cfg.NoPush {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	_, err := l.syncer.Round(ctx, syncer.Edits)
	l.report(ctx, api.ClientStopped)
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	// Nothing is lost: the edits are in the directory and go out next time.
	l.log.Info("last push not made; the edits go out at the next start", "error", err)
	return nil
}

// pauseWhenStale waits for a random time that may be the longer the more often a
// push came too late, so that many who write one key do not all try again at once.
func pauseWhenStale(ctx context.Context, tries int) error {
	most := min(firstStalePause<<min(tries, 10), longestStalePause)
	select {
	case <-time.After(rand.N(most)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
