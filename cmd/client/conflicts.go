package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/tui"
)

// shelf is what the commands on the keep and the trash work on.
type shelf struct {
	*target
	store *state.Store
}

func (a *app) shelf() (*shelf, error) {
	t, err := a.target(nil)
	if err != nil {
		return nil, err
	}
	if err := t.needDir(); err != nil {
		return nil, err
	}
	stateDir, err := t.stateDir()
	if err != nil {
		return nil, err
	}
	store, err := state.Open(stateDir)
	if err != nil {
		return nil, err
	}
	return &shelf{target: t, store: store}, nil
}

func (a *app) conflictsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "conflicts",
		Short:   "Show and settle texts that could not be merged",
		GroupID: groupConflict,
		Long: `Where a team-mate changed the same lines, theirs is in place and yours is kept. Take
mine puts yours back and sends it, theirs lets it go. ITEM is a key or a listed id.

` + exitHelp,
		Example: `  client conflicts
  client conflicts take mine project_db.md`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.conflictsList() },
	}
	// path is what stands between conflicts and use, with a space behind it.
	one := func(path, use, short string, run func(context.Context, *shelf, state.Kept) error) *cobra.Command {
		return &cobra.Command{
			Use: use + " ITEM", Short: short, Args: oneItem, ValidArgsFunction: a.completing(keptItems),
			Example: "  client conflicts " + path + use + " project_db.md\n  client conflicts " + path + use + " project_db.md --dir ~/notes",
			RunE: func(cmd *cobra.Command, args []string) error {
				s, kept, err := a.keptItem(args[0])
				if err != nil {
					return err
				}
				return run(cmd.Context(), s, kept)
			},
		}
	}
	take := &cobra.Command{
		Use: "take", Short: "Settle a conflict: take mine or theirs", Example: "  client conflicts take mine project_db.md\n  client conflicts take theirs project_db.md",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("%s wants mine or theirs", cmd.CommandPath())
		},
	}
	take.AddCommand(one("take ", "mine", "Put the kept text back in place", a.takeMine), one("take ", "theirs", "Let the kept text go", a.takeTheirs))
	cmd.AddCommand(
		&cobra.Command{
			// The same as without a word.
			Use: "list", Hidden: true, Short: "List what is kept", Args: noArguments, Example: "  client conflicts list\n  client conflicts list --json",
			RunE: func(*cobra.Command, []string) error { return a.conflictsList() },
		},
		one("", "show", "Print the kept text", a.showKept),
		one("", "diff", "Compare the file in place with the kept text", a.diffKept),
		one("", "edit", "Edit the file with the kept text beside it, then let that go", a.editKept),
		take,
	)
	return cmd
}

func oneItem(cmd *cobra.Command, args []string) error { return oneOf("one key or id")(cmd, args) }

// oneOf takes a single argument, and says what it is where there is none or more.
func oneOf(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s wants %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

func (a *app) conflictsList() error {
	s, err := a.shelf()
	if err != nil {
		return err
	}
	going, gone, err := s.store.RetireKept(time.Now())
	if err != nil {
		return err
	}
	for _, k := range gone {
		a.term.Warn(fmt.Sprintf("the text of %s that was kept %s was let go", k.Key, tui.Age(time.Since(k.At))), "")
	}
	for _, k := range going {
		a.term.Warn(fmt.Sprintf("the text of %s that was kept %s goes in a week", k.Key, tui.Age(time.Since(k.At))), "client conflicts take mine "+k.ID)
	}
	kept, err := s.store.Kept()
	if err != nil {
		return err
	}
	list, rows := []keptFile{}, []tui.Row(nil)
	for _, k := range kept {
		list = append(list, keptJSON(k))
		rows = append(rows, tui.Row{
			Label: k.ID, Text: tui.Escape(string(k.Key)),
			Note: fmt.Sprintf("%s, %s: %s", tui.Size(k.Size), tui.Age(time.Since(k.At)), k.Reason),
		})
	}
	a.listed(list, rows, "nothing is kept")
	return nil
}

// listed writes what lies on a shelf: the list for a program, else the rows.
func (a *app) listed(list any, rows []tui.Row, none string) {
	if a.json {
		a.term.Value(list)
		return
	}
	a.term.Rows(rows)
	if len(rows) == 0 {
		a.term.Note(none)
	}
}

func keptJSON(k state.Kept) keptFile {
	return keptFile{ID: k.ID, Key: k.Key, At: api.NewTime(k.At), Reason: k.Reason, Base: k.Base, Mine: k.Mine, Theirs: k.Theirs}
}

// keptItem finds a kept text by its id, or by its key when that names one alone.
func (a *app) keptItem(name string) (*shelf, state.Kept, error) {
	s, err := a.shelf()
	if err != nil {
		return nil, state.Kept{}, err
	}
	all, err := s.store.Kept()
	if err != nil {
		return nil, state.Kept{}, err
	}
	var found []state.Kept
	for _, k := range all {
		if k.ID == name {
			return s, k, nil
		}
		if string(k.Key) == name {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return nil, state.Kept{}, &usageError{err: fmt.Errorf("nothing is kept under %q", name), hint: "client conflicts lists what is"}
	case 1:
		return s, found[0], nil
	}
	return nil, state.Kept{}, &usageError{err: fmt.Errorf("%d texts of %s are kept", len(found), name), hint: "name one by its id: client conflicts"}
}

func (a *app) showKept(_ context.Context, s *shelf, k state.Kept) error {
	text, err := s.store.KeptText(k.ID)
	if err != nil {
		return err
	}
	if a.json {
		return a.jsonText(string(k.Key), text, keptText{keptJSON(k), string(text)})
	}
	a.term.Raw(text)
	return nil
}

// keptText is a kept text for programs.
type keptText struct {
	keptFile
	Content string `json:"content"`
}

// jsonText prints a value that carries a text, unless JSON would change the text.
func (a *app) jsonText(name string, text []byte, value any) error {
	if err := asText(api.Key(name), text); err != nil {
		return err
	}
	a.term.Value(value)
	return nil
}

// keptDiff is what the kept text has more or less than the file in place, for programs.
type keptDiff struct {
	keptFile
	Diff string `json:"diff"`
}

func (a *app) diffKept(_ context.Context, s *shelf, k state.Kept) error {
	text, err := s.store.KeptText(k.ID)
	if err != nil {
		return err
	}
	dir, err := memdir.Open(s.dir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	now, err := dir.Read(k.Key, api.DefaultLimits.EntryBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	from, to := string(k.Key)+" (in place)", string(k.Key)+" (yours, kept)"
	if a.json {
		diff := tui.Unified(from, to, string(now), string(text))
		return a.jsonText(string(k.Key), []byte(diff), keptDiff{keptJSON(k), diff})
	}
	a.term.Diff(from, to, string(now), string(text))
	return nil
}

func (a *app) takeMine(_ context.Context, s *shelf, k state.Kept) error {
	text, err := s.store.KeptText(k.ID)
	if err != nil {
		return err
	}
	if err := s.place(k.Key, text); err != nil {
		return err
	}
	if err := s.store.Release(k.ID); err != nil {
		return err
	}
	a.settled(k, "mine")
	return nil
}

func (a *app) takeTheirs(_ context.Context, s *shelf, k state.Kept) error {
	if err := s.store.Release(k.ID); err != nil {
		return err
	}
	a.settled(k, "theirs")
	return nil
}

func (a *app) settled(k state.Kept, took string) {
	if a.json {
		a.term.Value(map[string]string{"key": string(k.Key), "id": k.ID, "took": took})
		return
	}
	line := fmt.Sprintf("%s: took %s", tui.Escape(string(k.Key)), took)
	if took != "theirs" {
		line += "; it goes out with the next sync"
	}
	a.term.Print(line)
}

// place writes a text into the file of a key, on whatever stands there.
func (s *shelf) place(key api.Key, text []byte) error {
	dir, err := memdir.Open(s.dir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	now := time.Now()
	file, left, err := dir.Look(now, key, api.DefaultLimits.EntryBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = dir.Write(now, key, text, time.Time{}, nil)
		return err
	case err != nil:
		return err
	case left != nil:
		return left
	}
	_, err = dir.Write(now, key, text, time.Time{}, &file)
	return err
}

// editKept opens an editor on a copy of the file in place, with the kept text as
// the second file, and puts the copy in place when the editor ends well.
func (a *app) editKept(ctx context.Context, s *shelf, k state.Kept) error {
	editor := strings.Fields(a.env.Get("VISUAL"))
	if len(editor) == 0 {
		editor = strings.Fields(a.env.Get("EDITOR"))
	}
	if len(editor) == 0 {
		return &usageError{err: errors.New("no editor is named"), hint: "set VISUAL or EDITOR"}
	}
	mine, err := s.store.KeptText(k.ID)
	if err != nil {
		return err
	}
	dir, err := memdir.Open(s.dir)
	if err != nil {
		return err
	}
	now, err := dir.Read(k.Key, api.DefaultLimits.EntryBytes)
	if err = errors.Join(err, dir.Close()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	desk, err := os.MkdirTemp("", "teammem-edit-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(desk) }()
	name := filepath.Base(filepath.FromSlash(string(k.Key)))
	inPlace, kept := filepath.Join(desk, name), filepath.Join(desk, "kept-"+name)
	if err := errors.Join(os.WriteFile(inPlace, now, 0o600), os.WriteFile(kept, mine, 0o400)); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, editor[0], append(editor[1:], inPlace, kept)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.stdin, a.stdout, a.stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", editor[0], err)
	}
	edited, err := os.ReadFile(inPlace)
	if err != nil {
		return err
	}
	if !bytes.Equal(edited, now) {
		if err := s.place(k.Key, edited); err != nil {
			return err
		}
	} else if !a.term.Ask("The file was not changed. Let the kept text go all the same?", false) {
		return &usageError{
			err:  fmt.Errorf("%s was not changed, and the kept text is kept", k.Key),
			hint: "to let it go: client conflicts take theirs " + k.ID,
		}
	}
	if err := s.store.Release(k.ID); err != nil {
		return err
	}
	a.settled(k, "the edited text")
	return nil
}
