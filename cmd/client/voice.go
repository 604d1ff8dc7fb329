package main

import (
	"fmt"
	"sync"

	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/client/tui"
)

// kinds says how the terminal speaks of each event.
var kinds = map[syncer.EventKind]tui.Kind{
	syncer.EventPushed:   tui.Pushed,
	syncer.EventPulled:   tui.Pulled,
	syncer.EventMerged:   tui.Merged,
	syncer.EventRemoved:  tui.Deleted,
	syncer.EventDeleted:  tui.Deleted,
	syncer.EventRestored: tui.Restored,
	syncer.EventHeld:     tui.Held,
	syncer.EventProposed: tui.Proposed,
	syncer.EventRefused:  tui.Held,
	syncer.EventConflict: tui.Kept,
	syncer.EventSkipped:  tui.Skipped,
	syncer.EventFailed:   tui.Skipped,
	syncer.EventHalted:   tui.Stopped,
	syncer.EventSignIn:   tui.Stopped,
	syncer.EventOffline:  tui.Waiting,
	syncer.EventOnline:   tui.Info,
	syncer.EventResumed:  tui.Info,
	syncer.EventWatching: tui.Info,
	syncer.EventRedacted: tui.Deleted,
	syncer.EventRetired:  tui.Info,
	syncer.EventEnding:   tui.Skipped,
	syncer.EventRenamed:  tui.Info,
}

// tell speaks of one event.
func (a *app) tell(e syncer.Event) {
	text := e.Text
	if e.Kind == syncer.EventHeld && e.Rule != "" {
		text = "held back: " + foundText(e.Rule, e.Line)
		if e.Text != "" {
			text += ": " + e.Text
		}
	}
	if e.Kind == syncer.EventProposed {
		text = "waits for approval: " + e.Text
	}
	if e.Kind == syncer.EventDeleted {
		text = "at the server, for everyone"
	}
	a.term.Event(tui.Event{Kind: kinds[e.Kind], Keys: e.Keys, Text: text, Hint: e.Hint})
}

// tellUnlessJSON speaks of an event beside a result that a program reads.
func (a *app) tellUnlessJSON(e syncer.Event) {
	if !a.json {
		a.tell(e)
	}
}

// foundText names a finding by rule and line, never by its text.
func foundText(rule string, line int) string {
	switch {
	case line > 0:
		return fmt.Sprintf("%s, line %d", rule, line)
	case rule == unscannable:
		return rule
	}
	return rule + ", in the name of the file"
}

// progress shows the work of one round, if it takes long enough to be shown.
type progress struct {
	term  *tui.Terminal
	mu    sync.Mutex
	verb  string
	shown *tui.Progress
}

func (a *app) newProgress() *progress { return &progress{term: a.term} }

func (p *progress) step(verb string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown == nil || p.verb != verb {
		p.endLocked()
		p.verb, p.shown = verb, p.term.Progress(verb, total, "entries")
	}
	p.shown.Set(done, total)
	if done >= total {
		p.endLocked()
	}
}

func (p *progress) endLocked() {
	if p.shown != nil {
		p.shown.End()
		p.shown = nil
	}
}
