package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/client/curate"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/tui"
)

func (a *app) memoryNewCommand() *cobra.Command {
	var d curate.Draft
	var kind, scope, file string
	var edit bool
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Make a memory from its type's template",
		Long: `New writes a topic file and its line in the index; project and reference memories go to
the team where there is one. Exit status: 0 done, 1 failed, 2 usage, 5 it holds a secret.`,
		Example: `  client memory new "How we test" --type feedback --description "no mocks"
  client memory new "Release" --type project --text "Version 2 ships on 2026-12-01."`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.Name, d.Type, d.Scope, d.File = args[0], memory.TypeOf(kind), memory.Scope(scope), api.Key(file)
			return a.memoryNew(cmd.Context(), d, kind, edit)
		},
	}
	f := cmd.Flags()
	f.StringVar(&kind, "type", "", "user, feedback, project or reference")
	f.StringVar(&d.Description, "description", "", "one line, specific: recall decides by it")
	f.StringVar(&scope, "scope", "", "private or team (default: by type)")
	f.StringVar(&d.Text, "text", "", "the text, - for standard input (default: a template)")
	f.StringVar(&file, "file", "", "name of the file (default: of type and name)")
	f.BoolVar(&edit, "edit", false, "open the editor on it")
	a.completeTypes(cmd, "type")
	a.completeWords(cmd, "scope", string(memory.Private), string(memory.Team))
	return cmd
}

func (a *app) memoryNew(ctx context.Context, d curate.Draft, kind string, edit bool) error {
	if d.Type == memory.None {
		return usagef("--type %q: want user, feedback, project or reference", kind)
	}
	m, err := a.memories()
	if err != nil {
		return err
	}
	defer m.Close()
	if d.Scope, err = m.scopeFor(d); err != nil {
		return err
	}
	if edit && a.editor() == "" {
		return errNoEditor() // before anything is written
	}
	if d.Text == "-" {
		text, err := io.ReadAll(io.LimitReader(a.stdin, maxMemoryBytes+1))
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		d.Text = string(text)
	}
	changes, err := m.New(d)
	if err != nil {
		return err
	}
	if err := a.carry(m, changes); err != nil {
		return err
	}
	if edit {
		m.scan()
		return a.editMemory(ctx, m, changes[0].Key)
	}
	return nil
}

// scopeFor is where a new memory goes: where one says, else where its type belongs, as
// far as there is such a place.
func (m *memories) scopeFor(d curate.Draft) (memory.Scope, error) {
	if len(m.rooms) == 1 {
		only := m.rooms[0].scope
		if d.Scope != "" && d.Scope != only {
			return "", usagef("--scope %s: only the %s directory is meant here: %s", d.Scope, only, m.rooms[0].path)
		}
		return only, nil
	}
	switch d.Scope {
	case memory.Private, memory.Team:
		return d.Scope, nil
	case "":
	default:
		return "", usagef("--scope %q: want private or team", d.Scope)
	}
	if d.Type.Home() == memory.Team {
		if info, err := os.Stat(m.rooms[1].path); err == nil && info.IsDir() {
			return memory.Team, nil
		}
	}
	return memory.Private, nil
}

// carry scans what goes to the team, carries out changes and shows them.
func (a *app) carry(m *memories, changes []curate.Change) error {
	if err := a.guard(m, changes); err != nil {
		return err
	}
	if err := m.change(time.Now(), changes); err != nil {
		return err
	}
	a.showChanges(changes[0].Key, changes)
	return nil
}

// refuses says why a change cannot be carried out, whatever its text says.
func (m *memories) refuses(c curate.Change) error {
	if len(c.After) > maxMemoryBytes {
		return &curate.Refused{
			Why:  fmt.Sprintf("%s would be larger than %s; nothing was written", c.Key, tui.Size(maxMemoryBytes)),
			Cure: "make several memories of it, or say in one where the rest is",
		}
	}
	if !utf8.Valid(c.Before) || !utf8.Valid(c.After) {
		return &curate.Refused{Why: fmt.Sprintf("%s is not UTF-8; nothing was changed", c.Key), Cure: "put its text right with an editor of your own first"}
	}
	r, key := m.room(c.Key)
	if r.scope == memory.Private && c.After != nil && strings.HasPrefix(key.Fold(), teamPrefix) {
		// Others share that folder, whether the team's memory is switched on or not.
		return &curate.Refused{
			Why:  fmt.Sprintf("%s lies in the team's directory; nothing was written", c.Key),
			Cure: "choose another folder; client where --explain says whether team memory is on",
		}
	}
	return nil
}

// guard refuses what must not stand in a directory that others share, and tells of what
// would be held or flagged. Nothing of what was found is shown.
func (a *app) guard(m *memories, changes []curate.Change) error {
	var judge *guard.Guard
	for _, c := range changes {
		if err := m.refuses(c); err != nil {
			return err
		}
		r, key := m.room(c.Key)
		if r.scope != memory.Team || c.After == nil {
			continue
		}
		if judge == nil {
			var err error
			if judge, err = judgeOf(m.target, r.path, guard.ScanRules); err != nil {
				return err
			}
		}
		found, err := judge.Judge(key, c.After)
		if err != nil {
			return err
		}
		told := map[string]bool{} // a rule is told of once a file
		for _, f := range found {
			switch f.Verdict {
			case api.VerdictRefuse:
				return &secretError{key: c.Key, finding: f.Finding}
			case api.VerdictHold, api.VerdictFlag:
				if told[f.Rule] {
					continue
				}
				told[f.Rule] = true
				a.term.Warn(fmt.Sprintf("%s: %s", tui.Escape(string(c.Key)), foundText(f.Rule, f.Line)), "look at it before your team does")
			}
		}
	}
	return nil
}

// secretError says that a text would carry a secret into a shared directory.
type secretError struct {
	key     api.Key
	finding scan.Finding
}

func (e *secretError) Error() string {
	return fmt.Sprintf("%s holds a secret: %s; nothing was written", e.key, foundText(e.finding.Rule, e.finding.Line))
}

func (a *app) memoryLogCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "log TEXT...",
		Short: "Add a line to today's log",
		Long: `Log adds a bullet with the time to logs/YYYY/MM/YYYY-MM-DD.md in the private directory.
It only ever adds.

` + exitHelp,
		Example: `  client memory log "moved the build to the new runner"
  client memory log Lee owns the release now`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s wants the text", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.memories()
			if err != nil {
				return err
			}
			defer m.Close()
			if m.rooms[0].scope != memory.Private {
				return &usageError{err: errors.New("the daily log is private, and --dir names a shared directory"), hint: "leave --dir out, and stand in the project"}
			}
			changes, err := m.Log(time.Now(), strings.Join(args, " "))
			if err != nil {
				return err
			}
			return a.carry(m, changes)
		},
	}
}
