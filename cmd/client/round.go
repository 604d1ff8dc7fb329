package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/client/tui"
)

// outcome is what a round came to, for programs. The first fields are the stock
// client's.
type outcome struct {
	Success        bool         `json:"success"`
	FilesUploaded  int          `json:"filesUploaded"`
	Checksum       api.Checksum `json:"checksum"`
	Conflict       bool         `json:"conflict"`
	SkippedSecrets []heldFile   `json:"skippedSecrets"`
	ErrorKind      string       `json:"errorKind,omitempty"`
	Error          string       `json:"error,omitempty"`
	Hint           string       `json:"hint,omitempty"`

	Server     string        `json:"server,omitempty"`
	Repo       api.RepoSlug  `json:"repo,omitempty"`
	Directory  string        `json:"directory,omitempty"`
	Version    api.Version   `json:"version"`
	Uploaded   []api.Key     `json:"uploaded"`
	Downloaded []api.Key     `json:"downloaded"`
	Merged     []api.Key     `json:"merged"`
	Removed    []api.Key     `json:"removed"`
	Redacted   []api.Key     `json:"redacted"`
	Deleted    []api.Key     `json:"deleted"`
	Conflicts  []keptFile    `json:"conflicts"`
	Refused    []refusedFile `json:"refused"`
	Failed     []api.Key     `json:"failed"`
	Waiting    []api.Key     `json:"waiting"` // edited by a team-mate as well: push leaves them
	Events     []jsonEvent   `json:"events"`
	Plan       []jsonAction  `json:"plan,omitempty"`
	ExitStatus exitCode      `json:"exitStatus"`
}

// heldFile is a file that the scanner holds back. What it found is not shown.
type heldFile struct {
	Key  api.Key `json:"key"`
	Rule string  `json:"rule"`
	Line int     `json:"line"`
}

type refusedFile struct {
	Key     api.Key `json:"key"`
	Kind    string  `json:"kind"`
	Rule    string  `json:"rule,omitempty"`
	Message string  `json:"message"`
}

type keptFile struct {
	ID     string       `json:"id"`
	Key    api.Key      `json:"key"`
	At     api.Time     `json:"at"`
	Reason string       `json:"reason,omitempty"`
	Base   api.Checksum `json:"base,omitempty"`
	Mine   api.Checksum `json:"mine"`
	Theirs api.Checksum `json:"theirs,omitempty"`
}

type jsonEvent struct {
	Event syncer.EventKind `json:"event"`
	Keys  []api.Key        `json:"keys,omitempty"`
	Text  string           `json:"message,omitempty"`
	Hint  string           `json:"hint,omitempty"`
}

type jsonAction struct {
	Kind syncer.Kind `json:"kind"`
	Key  api.Key     `json:"key"`
	From api.Key     `json:"from,omitempty"`
	Why  string      `json:"why,omitempty"`
}

// uncollected is up to how much memory what is short leaves its garbage where it lies: a
// round, a hook, a question. It is over before collecting pays, and would spend a fifth
// of its time on that.
const uncollected = 256 << 20

// collectLate is in force until the function it gives is called.
func collectLate() (restore func()) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(uncollected)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// oneRound runs one round and tells all that came of it.
func (a *app) oneRound(ctx context.Context, args []string, change func(*client.Config)) error {
	defer collectLate()()
	var events []jsonEvent
	tell := a.tell
	if a.json {
		tell = func(e syncer.Event) {
			events = append(events, jsonEvent{Event: e.Kind, Keys: e.Keys, Text: e.Text, Hint: e.Hint})
		}
	}
	t, session, err := a.open(ctx, args, change, tell)
	report := &syncer.Report{}
	code := exitDone
	var stands outcome
	if err == nil {
		if session.Made() {
			tell(syncer.Event{Kind: syncer.EventWatching, Text: "made " + t.dir})
		}
		report, err = session.Once(ctx)
		var standErr error
		stands, code, standErr = standingOf(session.Agreed(), session.Store())
		err = errors.Join(err, standErr, session.Close())
		a.dropState(t, session.Store())
	} else {
		a.dropState(t, nil)
	}
	if len(report.Failed) > 0 {
		code = worst(code, exitFailed)
	}
	if err != nil {
		code = worst(code, a.exit(err))
	}
	if a.json {
		a.told = true
		a.term.Value(stands.complete(a, t, report, events, err, code))
	} else if err == nil {
		a.sum(t, report)
	}
	if err != nil {
		a.report(err)
	}
	if code != exitDone {
		return &standing{code}
	}
	return nil
}

// standingOf says what stands in the way of a clean agreement: texts in the keep,
// files held or refused.
func standingOf(agreed *state.Agreement, store *state.Store) (o outcome, code exitCode, err error) {
	kept, err := store.Kept()
	if err != nil {
		return o, code, err
	}
	for _, k := range kept {
		o.Conflicts = append(o.Conflicts, keptJSON(k))
		code = worst(code, exitConflicts)
	}
	for _, key := range api.SortedKeys(agreed.Refused) {
		r := agreed.Refused[key]
		if r.Held() {
			o.SkippedSecrets = append(o.SkippedSecrets, heldFile{Key: key, Rule: r.Rule, Line: r.Line})
			code = worst(code, exitHeld)
			continue
		}
		o.Refused = append(o.Refused, refusedFile{Key: key, Kind: r.Kind, Rule: r.Rule, Message: r.Message})
		code = worst(code, exitFailed)
	}
	if agreed.Halted != "" {
		code = worst(code, exitFailed)
	}
	return o, code, nil
}

func (o outcome) complete(a *app, t *target, report *syncer.Report, events []jsonEvent, err error, code exitCode) outcome {
	o.Success = err == nil && code == exitDone
	o.FilesUploaded, o.Checksum, o.Version = len(report.Uploaded), report.Checksum, report.Version
	o.Conflict = len(o.Conflicts) > 0
	o.ErrorKind, o.ExitStatus = errorKind(err), code
	if err == nil && o.Conflict {
		o.ErrorKind = "conflict"
	}
	if err != nil {
		o.Error, o.Hint = err.Error(), a.hint(err)
	}
	if t != nil {
		o.Server, o.Repo, o.Directory = t.server, t.repo, t.dir
		if err != nil && t.repo == "" && t.server != "" {
			o.ErrorKind = "no_repo"
		}
	}
	o.Uploaded, o.Downloaded, o.Merged = filled(report.Uploaded), filled(report.Downloaded), filled(report.Merged)
	o.Removed, o.Deleted, o.Failed = filled(report.Removed), filled(report.Deleted), filled(report.Failed)
	o.Redacted, o.Waiting = filled(report.Redacted), filled(report.Waiting)
	o.Conflicts, o.Refused, o.SkippedSecrets, o.Events = filled(o.Conflicts), filled(o.Refused), filled(o.SkippedSecrets), filled(events)
	for _, action := range report.Plan {
		o.Plan = append(o.Plan, jsonAction{action.Kind, action.Key, action.From, action.Why})
	}
	return o
}

// filled makes a nil list an empty one, which JSON shows as [].
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// planWords are a dry run's verbs; what only changes the state is not shown.
var planWords = map[syncer.Kind]string{
	syncer.Pull: "pull", syncer.Remove: "remove here", syncer.Redact: "remove as withdrawn", syncer.Rename: "rename here", syncer.Conflict: "merge or keep aside",
	syncer.Push: "push", syncer.Delete: "delete at the server", syncer.Respell: "rename at the server",
	syncer.Hold: "hold back", syncer.Blocked: "leave alone", syncer.Missing: "ask about",
}

// sum ends a round with one line, or shows the plan of a dry run.
func (a *app) sum(t *target, report *syncer.Report) {
	if report.Plan != nil {
		for _, action := range report.Plan {
			if word := planWords[action.Kind]; word != "" {
				line := fmt.Sprintf("%-20s  %s", word, tui.Escape(string(action.Key)))
				if action.Why != "" {
					line += "  (" + action.Why + ")"
				}
				a.term.Print(line)
			}
		}
	}
	what := "up to date"
	switch {
	case a.dryRun():
		what = "nothing was changed"
	case report.Changed:
		what = fmt.Sprintf("%d up, %d down", len(report.Uploaded)+len(report.Deleted), len(report.Downloaded)+len(report.Removed))
	}
	if len(report.Waiting) > 0 {
		a.term.Warn(fmt.Sprintf("not sent: %s, which a team-mate changed as well", tui.Names(report.Waiting, 3)), "client sync --once merges them")
		if !report.Changed {
			what = "nothing was sent"
		}
	}
	a.term.Note(fmt.Sprintf("%s  version %s  %s  %s", t.repo, tui.Number(report.Version), tui.Count(report.Entries, "entry", "entries"), what))
}

func (a *app) dryRun() bool {
	dry, err := a.flags.GetBool("dry-run")
	return err == nil && dry
}
