package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/curate"
	"github.com/teammem/teammem/client/tui"
)

func (a *app) memoryEditCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "edit [NAME]",
		Short: "Edit a memory in your editor",
		Long: `Edit opens $VISUAL, else $EDITOR, on a copy and puts it in place when the editor ends
well. Without a name it asks which one. When the file was edited meanwhile, yours is
kept and named, and nothing is written over.

` + exitHelp,
		Example: `  client memory edit feedback_testing
  VISUAL="code --wait" client memory edit`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes one name, not %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		ValidArgsFunction: a.completeMemories,
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := a.memories()
			if err != nil {
				return err
			}
			defer m.Close()
			key, err := a.whichMemory(m, args)
			if err != nil {
				return err
			}
			return a.editMemory(cmd.Context(), m, key)
		},
	}
}

// whichMemory is the memory that is named, or that a person picks.
func (a *app) whichMemory(m *memories, args []string) (api.Key, error) {
	if len(args) == 1 {
		if slices.Contains(m.List.Indexes, api.Key(args[0])) {
			return api.Key(args[0]), nil
		}
		one, err := m.Find(args[0])
		return one.Key, err
	}
	if len(m.List.Memories) == 0 {
		return "", errors.New("there are no memories to edit")
	}
	var lines []string
	for _, one := range m.List.Memories {
		lines = append(lines, fmt.Sprintf("%s  %s", one.Key, one.Description))
	}
	picked, ok := a.term.Pick("Which one?", lines)
	if !ok {
		return "", &usageError{err: errors.New("no memory is named, and nobody can be asked here"), hint: "name it: client memory edit NAME"}
	}
	return m.List.Memories[picked].Key, nil
}

// editMemory edits one memory, or its index.
func (a *app) editMemory(ctx context.Context, m *memories, key api.Key) error {
	before, err := m.read(key)
	if err != nil {
		return err
	}
	desk, err := os.MkdirTemp("", "teammem-edit-")
	if err != nil {
		return err
	}
	after, copied, err := a.inEditor(ctx, desk, key, before)
	switch {
	case err != nil && len(after) > 0 && string(after) != string(before):
		return fmt.Errorf("%w; your text is kept in %s", err, copied)
	case err != nil:
	case string(after) == string(before):
		a.term.Note("nothing was changed")
	default:
		if err = a.carry(m, []curate.Change{{Key: key, Before: before, After: after}}); err != nil {
			return fmt.Errorf("%w; your text is kept in %s", err, copied)
		}
	}
	return errors.Join(err, os.RemoveAll(desk))
}

// editor is the command line of the person's editor; empty without one.
func (a *app) editor() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if command := strings.TrimSpace(a.env.Get(name)); command != "" {
			return command
		}
	}
	return ""
}

func errNoEditor() error {
	return &usageError{err: errors.New("no editor is named"), hint: "set VISUAL or EDITOR"}
}

// inEditor opens the editor on a copy and gives what it was left as, also where the
// editor ended badly.
func (a *app) inEditor(ctx context.Context, desk string, key api.Key, text []byte) (after []byte, copied string, err error) {
	editor := a.editor()
	if editor == "" {
		return nil, "", errNoEditor()
	}
	copied = filepath.Join(desk, filepath.Base(filepath.FromSlash(string(key))))
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		return nil, "", err
	}
	cmd := editorCommand(ctx, editor, copied)
	// The editor draws on the terminal; what this command answers is on stdout.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.stdin, a.stderr, a.stderr
	if a.term.OutIsTerminal() {
		cmd.Stdout = a.stdout
	}
	ran := cmd.Run()
	after, err = os.ReadFile(copied)
	switch {
	case ran != nil:
		return after, copied, &editorError{fmt.Errorf("the editor %s: %w; nothing was changed", editor, ran)}
	case err != nil:
		return nil, copied, &editorError{fmt.Errorf("the editor %s left no file; nothing was changed", editor)}
	}
	return after, copied, nil
}

// editorError says that the editor did not do what it is for.
type editorError struct{ err error }

func (e *editorError) Error() string { return e.err.Error() }
func (e *editorError) Unwrap() error { return e.err }

// editorCommand runs an editor as git does: by the shell, so that quotes and arguments
// in VISUAL mean what they do elsewhere.
func editorCommand(ctx context.Context, editor, file string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		words := strings.Fields(editor)
		return exec.CommandContext(ctx, words[0], append(words[1:], file)...)
	}
	return exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, "editor", file)
}

func (a *app) memoryPromoteCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "promote NAME",
		Short: "Move a private memory into the team's directory",
		Long: `Promote shows what would leave this machine, scans it, and asks. The file moves, its
line goes from the private index to the team's, and links follow. A memory of type
user is never promoted. Without a terminal, --yes says that you mean it.

` + exitHelp,
		Example: `  client memory promote project_release
  client memory promote --yes reference_dashboards.md`,
		Args:              oneName,
		ValidArgsFunction: a.completeMemories,
		RunE:              func(_ *cobra.Command, args []string) error { return a.memoryPromote(args[0]) },
	}
}

func (a *app) memoryPromote(name string) error {
	m, err := a.memories()
	if err != nil {
		return err
	}
	defer m.Close()
	one, err := m.Find(name)
	if err != nil {
		return err
	}
	p, err := m.Promote(one)
	if err != nil {
		return err
	}
	if err := a.guard(m, p.Changes); err != nil {
		return err
	}
	if !a.json {
		a.showLeaving(m, p)
	}
	if !a.term.Ask(fmt.Sprintf("Share %s with everyone in the team?", one.Key), false) {
		if !a.term.CanAsk() {
			return &usageError{err: fmt.Errorf("sharing %s wants a yes, and nobody can be asked here", one.Key), hint: "say --yes"}
		}
		return errors.New("nothing was shared")
	}
	if err := m.change(time.Now(), p.Changes); err != nil {
		return err
	}
	a.showChanges(p.Key, p.Changes)
	return nil
}

// showLeaving shows on stderr what would leave, whole, and what would not go with it.
func (a *app) showLeaving(m *memories, p curate.Promotion) {
	for _, c := range p.Changes {
		if r, _ := m.room(c.Key); r.scope == memory.Team {
			a.term.Note("leaves, as " + tui.Escape(string(c.Key)) + ":")
			for line := range strings.Lines(tui.Unified("", "", string(c.Before), string(c.After))) {
				if !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "+++") {
					a.term.Note("  " + tui.Escape(strings.TrimRight(line, "\r\n")))
				}
			}
		}
	}
	for _, key := range p.Stay {
		a.term.Warn(fmt.Sprintf("it links to %s, which stays private", tui.Escape(key)), "promote that too, or take the link out")
	}
}
