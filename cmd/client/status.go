package main

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/tui"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "status [DIR]",
		Short:   "Show how the directory stands with its repo",
		GroupID: groupLook,
		Long: `Status looks at the directory and at what was last agreed with the server, and
changes nothing. The server is asked for one thing, and for two seconds at the
most: what became of what you proposed.

` + exitHelp,
		Example: `  client status
  client status --json`,
		Args: oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error { return a.status(cmd.Context(), args) },
	}
}

func (a *app) status(ctx context.Context, args []string) error {
	t, err := a.target(args)
	if err != nil {
		return err
	}
	if err := t.needDir(); err != nil {
		return err
	}
	stateDir, err := t.stateDir()
	if err != nil {
		return err
	}
	store, err := state.Open(stateDir)
	if err != nil {
		return err
	}
	agreed, err := store.Load()
	if err != nil && !errors.Is(err, state.ErrDamaged) {
		return err
	}
	pulse := store.LastPulse()
	view := tui.StatusView{
		Repo: agreed.Repo, Server: agreed.Server, Dir: t.dir, Synced: agreed.Synced,
		Version: agreed.Version, Message: agreed.Halted,
	}
	if pulse.Good.After(view.Synced) {
		view.Synced = pulse.Good
	}
	if view.Repo == "" {
		view.Repo, view.Server = t.repo, t.server
	}
	judge := &examiner{shelf: &shelf{target: t, store: store}, guard: guard.New(guard.ScanRules, store, nil, time.Now)}
	code, err := a.fill(ctx, &view, judge, agreed)
	if err != nil {
		return err
	}
	if w := pulse.Watch; view.Running && w.Mode != "" {
		view.Watcher = &tui.Watcher{Mode: w.Mode, Why: w.Why, Folders: w.Folders}
	}
	code = worst(code, a.troubles(&view, agreed, pulse))
	if clash, _ := t.clash(); clash != nil {
		view.State, view.Message, view.Hint, code = tui.Halted, clash.Error(), clash.Hint(), worst(code, exitFailed)
	}
	a.proposals(ctx, &view, t, agreed, pulse)
	if a.json {
		view.Findings = a.standingFindings(judge)
	}
	noteHeard(&view, pulse, time.Now())
	view.Service = a.standingService(t)
	a.term.Status(view)
	if code != exitDone {
		return &standing{code}
	}
	return nil
}

// fill counts what stands in the directory and what waits for a person.
func (a *app) fill(ctx context.Context, view *tui.StatusView, judge *examiner, agreed *state.Agreement) (exitCode, error) {
	stands, code, err := standingOf(agreed, judge.store)
	if err != nil {
		return code, err
	}
	view.Held, view.Kept = len(stands.SkippedSecrets)+len(stands.Refused), len(stands.Conflicts)
	for _, h := range stands.SkippedSecrets {
		view.Lines = append(view.Lines, tui.StatusLine{Kind: tui.Held, Key: h.Key, Text: foundText(h.Rule, h.Line), Hint: secretsHint(h)})
	}
	for _, r := range stands.Refused {
		view.Lines = append(view.Lines, tui.StatusLine{Kind: tui.Held, Key: r.Key, Text: r.Message})
	}
	for _, k := range stands.Conflicts {
		view.Lines = append(view.Lines, tui.StatusLine{
			Kind: tui.Kept, Key: k.Key, Text: "kept since " + k.At.Local().Format("2006-01-02 15:04"), Hint: "client conflicts show " + k.ID,
		})
	}
	if err := a.lookAt(ctx, view, judge, agreed); err != nil {
		return code, err
	}
	return code, nil
}

// secretsHint is the command that shows what is held. What is in a name cannot be
// named.
func secretsHint(h heldFile) string {
	if h.Line == 0 {
		return "client secrets"
	}
	return "client secrets " + string(h.Key)
}

// standingFindings are what a scan finds in the directory as it stands, whether it is
// let out or not. No server is asked.
func (a *app) standingFindings(e *examiner) []shownFinding {
	report := scanReport{Findings: []shownFinding{}}
	if err := e.eachFile(nil, &report, func(name string, key api.Key, content []byte) { e.judge(&report, name, key, content) }); err != nil {
		return nil // what is wrong with the directory is said already
	}
	return report.Findings
}

// quiet is the age of the last good round from which on a person is asked whether
// anything syncs here at all.
const quiet = 10 * time.Minute

// troubles says in one word how the directory stands, and what is in the way. What
// happened counts, not what is configured (BR-58).
func (a *app) troubles(view *tui.StatusView, agreed *state.Agreement, pulse state.Pulse) exitCode {
	code := exitDone
	view.State = tui.InSync
	if view.ToPush > 0 {
		view.State = tui.Syncing
	}
	switch {
	case agreed.Halted != "":
		view.State = tui.Halted
		if pulse.Trouble == state.Halted && view.Hint == "" {
			view.Hint = pulse.Hint
		}
		return code
	case pulse.Trouble == state.Unreachable:
		view.State, code = tui.Unreachable, exitUnreachable
	case pulse.Trouble == state.SignIn:
		view.State, code = tui.Halted, exitNotAllowed
	case pulse.Trouble == state.Barred:
		code = exitNotAllowed
	case pulse.Trouble != "":
		code = exitFailed
	case agreed.Synced.IsZero():
		view.State = tui.NeverSynced
		return code
	}
	if view.Message == "" {
		view.Message, view.Hint = pulse.Text, pulse.Hint
	}
	if view.Message == "" && !view.Running && time.Since(view.Synced) >= quiet {
		view.Message, view.Hint = "no client is at work here: nothing is synced by itself", "client sync"
	}
	return code
}

// noteHeard shows what the server said beside the repo's memory.
func noteHeard(view *tui.StatusView, pulse state.Pulse, now time.Time) {
	if ends := pulse.TokenEnds; !ends.IsZero() {
		view.TokenEnds = ends
		text := "the token ends on " + ends.Local().Format("2006-01-02 15:04")
		if !ends.After(now) {
			text = "the token has ended"
		}
		view.Notes = append(view.Notes, tui.Note{Text: text, Hint: "ask for a new one and log in with it: client login --token-file FILE"})
	}
	if pulse.Repo != "" && pulse.Repo != view.Repo {
		view.RepoNow = pulse.Repo
		view.Notes = append(view.Notes, tui.Note{
			Text: "the repo is called " + string(pulse.Repo) + " now; the old name goes on working",
			Hint: "client sync --once --accept --repo " + string(pulse.Repo),
		})
	}
}

// lookAt scans the directory for edits that wait and for files that are left out.
func (a *app) lookAt(ctx context.Context, view *tui.StatusView, judge *examiner, agreed *state.Agreement) error {
	dir, err := memdir.Open(judge.dir)
	if errors.Is(err, memdir.ErrGone) || errors.Is(err, fs.ErrNotExist) {
		if agreed.MarkerID != "" && view.Message == "" {
			view.Message, view.Hint = "the directory is gone", "put it back; nothing is sent until then"
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	listing, err := dir.Scan(ctx, time.Now(), api.DefaultLimits.EntryBytes, func(key api.Key) (memdir.File, bool) {
		file := agreed.Entries[key].File
		return file, file.Checksum != ""
	})
	if err != nil {
		return err
	}
	view.Entries, view.Running = len(listing.Files), dir.Locked()
	for _, file := range listing.Files {
		entry := agreed.Entries[file.Key]
		if _, refused := agreed.Refused[file.Key]; refused || entry.Base == file.Checksum {
			continue
		}
		if _, why := guard.Name(judge.guard.Judge, string(file.Key)); why == nil || entry.Base != "" || entry.Remote != "" {
			view.ToPush++
		}
	}
	for _, left := range listing.Left {
		if !left.Quiet {
			name, why := guard.Name(judge.guard.Judge, left.Name)
			if why != nil {
				left.Key = ""
			}
			view.Lines = append(view.Lines, tui.StatusLine{Kind: tui.Skipped, Key: left.Key, Name: name, Text: left.Detail})
		}
	}
	return nil
}
