package client

import (
	"errors"
	"fmt"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/client/watch"
)

// troubleOf says what kind of fault ended a round.
func troubleOf(err error) state.Trouble {
	var (
		unreachable *remote.Unreachable
		stranger    *remote.Stranger
		halt        *syncer.Halt
	)
	e, answered := api.AsError(err)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &halt):
		return state.Halted
	case errors.As(err, &unreachable), errors.As(err, &stranger), answered && (e.Foreign || e.Code.Temporary()):
		// What a proxy says of a token or a right is not the server's word.
		return state.Unreachable
	case answered && e.Code == api.Authentication:
		return state.SignIn
	case answered && e.Code == api.Permission:
		return state.Barred
	}
	return state.Faulty
}

// wentWell leaves word of a good round for client status. barred is set while the
// token may not push, which a pull does not cure.
func (s *Session) wentWell(report *syncer.Report, barred bool) {
	s.pulse.Good = s.now()
	switch n := len(report.Failed); {
	case n > 0:
		text := fmt.Sprintf("%s could not be written", report.Failed[0])
		if n > 1 {
			text = fmt.Sprintf("%d files could not be written, the first is %s", n, report.Failed[0])
		}
		s.wentBadly(state.Faulty, text, "is the disk full, or the folder read-only? it is tried again by itself")
		return
	case !barred:
		s.pulse = state.Pulse{Good: s.pulse.Good, TokenEnds: s.pulse.TokenEnds, Repo: s.pulse.Repo}
	}
	s.noteHeard()
	s.beat()
}

// noteHeard tells once of a token that ends within the week, and of a repo that was
// given another name.
func (s *Session) noteHeard() {
	heard := s.remote.Heard()
	if ends := heard.TokenEnds; !ends.Equal(s.pulse.TokenEnds) {
		s.pulse.TokenEnds = ends
		if !ends.IsZero() {
			s.tell(syncer.Event{
				Kind: syncer.EventEnding, Text: "the token ends on " + ends.Local().Format("2006-01-02 15:04"),
				Hint: "ask for a new one and log in with it: client login --token-file FILE",
			})
		}
	}
	if heard.Repo != s.pulse.Repo {
		s.pulse.Repo = heard.Repo
		if heard.Repo != "" {
			s.tell(syncer.Event{
				Kind: syncer.EventRenamed, Text: "the repo is called " + string(heard.Repo) + " now; the old name goes on working",
				Hint: "client sync --once --accept --repo " + string(heard.Repo),
			})
		}
	}
}

// wentBadly leaves word of a fault.
func (s *Session) wentBadly(kind state.Trouble, text, hint string) {
	if s.pulse.Trouble != kind {
		s.pulse.Since = s.now()
	}
	s.pulse.Trouble, s.pulse.Text, s.pulse.Hint = kind, text, hint
	s.beat()
}

// cameToNothing leaves word of a start that met a fault before there was a round. A
// client that is at work here has the better word.
func (s *Session) cameToNothing(err error) {
	dir, gone := memdir.Open(s.cfg.Dir)
	if gone == nil {
		defer func() { _ = dir.Close() }()
		if dir.Locked() {
			return
		}
	}
	hint := ""
	var cured interface{ Hint() string }
	if errors.As(err, &cured) {
		hint = cured.Hint()
	}
	s.wentBadly(troubleOf(err), err.Error(), hint)
}

// watchingOf is a watcher's health in the pulse's words.
func watchingOf(h watch.Health) state.Watching {
	return state.Watching{Mode: string(h.Mode), Why: h.Why, Folders: h.Dirs}
}

// noteWatching leaves word of how changes are noticed, when that is new.
func (s *Session) noteWatching() {
	if s.pulse.Watch != s.watching() {
		s.beat()
	}
}

func (s *Session) beat() {
	if s.cfg.DryRun {
		return
	}
	s.pulse.Watch = s.watching()
	if err := s.store.Beat(s.pulse); err != nil {
		// client status then shows an older time, which was true as well.
		s.log.Debug("pulse", "error", err)
	}
}
