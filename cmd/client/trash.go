package main

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/tui"
)

// trashedFile is a line of client trash list --json.
type trashedFile struct {
	ID       string       `json:"id"`
	Key      api.Key      `json:"key"`
	At       api.Time     `json:"at"`
	Checksum api.Checksum `json:"checksum"`
}

func (a *app) trashCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "trash",
		Short:   "List and restore files that were deleted for everyone",
		GroupID: groupConflict,
		Long: `A file that a team-mate deleted goes to the trash of this machine. Restore puts
it back, here and, with the next sync, at the server. ITEM is a key or an id.

` + exitHelp,
		Example: `  client trash list
  client trash restore project_db.md`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.trashList() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the trash", Args: noArguments, Example: "  client trash list\n  client trash list --json",
			RunE: func(*cobra.Command, []string) error { return a.trashList() },
		},
		&cobra.Command{
			Use: "restore ITEM", Short: "Put a file back", Args: oneItem, ValidArgsFunction: a.completing(trashedItems), Example: "  client trash restore project_db.md\n  client trash restore project_db.md --dir ~/notes",
			RunE: func(_ *cobra.Command, args []string) error { return a.trashRestore(args[0]) },
		},
	)
	return cmd
}

func (a *app) trashList() error {
	s, err := a.shelf()
	if err != nil {
		return err
	}
	going, _, err := s.store.RetireTrash(time.Now())
	if err != nil {
		return err
	}
	for _, t := range going {
		a.term.Warn(fmt.Sprintf("%s was deleted %s and leaves the trash in a week", t.Key, tui.Age(time.Since(t.At))), "client trash restore "+t.ID)
	}
	all, err := s.store.Trashes()
	if err != nil {
		return err
	}
	list, rows := []trashedFile{}, []tui.Row(nil)
	for _, t := range all {
		list = append(list, trashedFile{t.ID, t.Key, api.NewTime(t.At), t.Checksum})
		rows = append(rows, tui.Row{Label: t.ID, Text: tui.Escape(string(t.Key)), Note: "deleted " + tui.Age(time.Since(t.At))})
	}
	a.listed(list, rows, "the trash is empty")
	return nil
}

func (a *app) trashRestore(name string) error {
	s, err := a.shelf()
	if err != nil {
		return err
	}
	item, err := s.trashItem(name)
	if err != nil {
		return err
	}
	text, err := s.store.TrashText(item.ID)
	if err != nil {
		return err
	}
	dir, err := memdir.Open(s.dir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if _, _, err := dir.Look(time.Now(), item.Key, api.DefaultLimits.EntryBytes); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("a file %s is there already; rename it first", item.Key)
	}
	if _, err := dir.Write(time.Now(), item.Key, text, item.Modified, nil); err != nil {
		return err
	}
	if err := s.store.RemoveTrash(item.ID); err != nil {
		return err
	}
	if a.json {
		a.term.Value(trashedFile{item.ID, item.Key, api.NewTime(item.At), item.Checksum})
		return nil
	}
	a.term.Print(tui.Escape(string(item.Key)) + " is back; it goes out with the next sync")
	return nil
}

// trashItem finds a piece by its id, or the newest of a key.
func (s *shelf) trashItem(name string) (found state.Trashed, err error) {
	all, err := s.store.Trashes()
	if err != nil {
		return found, err
	}
	for _, t := range all {
		if t.ID == name {
			return t, nil
		}
		if string(t.Key) == name {
			found = t // oldest first, so the last one is the newest
		}
	}
	if found.ID == "" {
		return found, &usageError{err: fmt.Errorf("nothing in the trash is called %q", name), hint: "client trash list shows what is there"}
	}
	return found, nil
}
