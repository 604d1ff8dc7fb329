package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/project"
	"github.com/teammem/teammem/client/recall"
	"github.com/teammem/teammem/client/tui"
)

// recallView is one memory in the answer of client recall.
type recallView struct {
	Key         string    `json:"key"` // that of a team memory begins with team/
	Score       float64   `json:"score"`
	Reason      string    `json:"reason"`
	Path        string    `json:"path"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Type        string    `json:"type"` // "" when none of the four
	Scope       string    `json:"scope"`
	Modified    time.Time `json:"modified"`
}

func (a *app) recallCommand() *cobra.Command {
	var tools, shown []string
	cmd := &cobra.Command{
		Use:     "recall QUERY…",
		Short:   "Find the memories that matter for a question",
		GroupID: groupMemory,
		Long: `Recall ranks the private and the team's memories by the words they share with
the question: at most five, best first, and none when nothing is near enough.
No model and no server is asked.

` + exitHelp,
		Example: `  client recall why do integration tests use a real database
  client recall --json --tools Bash,kubectl --shown team/kubectl.md "pods in staging"`,
		Args: func(_ *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return &usageError{err: errors.New("there is no question"), hint: `ask something: client recall "when do we deploy"`}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.recall(cmd, recall.Query{Text: strings.Join(args, " "), Tools: tools, Shown: shown})
		},
	}
	cmd.Flags().StringSliceVar(&tools, "tools", nil, "tools in use; their plain reference notes are left out, warnings are not")
	cmd.Flags().StringSliceVar(&shown, "shown", nil, "keys that were shown already")
	return cmd
}

func (a *app) recall(cmd *cobra.Command, q recall.Query) error {
	t, err := a.target(nil)
	if err != nil {
		return err
	}
	defer collectLate()()
	views, err := t.search(cmd.Context(), q)
	if err != nil {
		return err
	}
	if a.json {
		a.term.Value(views)
		return nil
	}
	a.showRecall(views)
	return nil
}

// search asks the ranking. An index that cannot be kept is made anew the next time.
func (t *target) search(ctx context.Context, q recall.Query) ([]recallView, error) {
	shelves := t.shelves()
	if len(shelves) == 0 {
		return nil, t.needDir()
	}
	if err := project.NewRegistry(t.paths.Projects()).Check(t.enrolment()); err != nil {
		return nil, err
	}
	library := recall.Open(t.recallCache(shelves), shelves...)
	if _, err := library.Refresh(ctx, time.Now()); err != nil {
		return nil, err
	}
	_ = library.Save()
	q.Shown = t.keysOf(q.Shown, shelves)
	views := []recallView{}
	for _, m := range library.Search(q) {
		views = append(views, viewOf(m, shelves))
	}
	return views, nil
}

func viewOf(m recall.Match, shelves []recall.Shelf) recallView {
	shelf := shelves[0]
	for _, s := range shelves {
		if strings.HasPrefix(m.Path, s.Prefix) {
			shelf = s // the last one that fits has a prefix
		}
	}
	return recallView{
		Key: m.Path, Score: m.Score, Reason: m.Reason,
		Path: filepath.Join(shelf.Dir, filepath.FromSlash(strings.TrimPrefix(m.Path, shelf.Prefix))),
		Name: m.Name, Description: m.Description, Type: m.Type, Scope: shelf.Scope, Modified: m.Modified.UTC(),
	}
}

func (a *app) showRecall(views []recallView) {
	if len(views) == 0 {
		a.term.Note("nothing is near enough")
		return
	}
	rows := make([]tui.Row, 0, len(views))
	for _, v := range views {
		text := v.Description
		if text == "" {
			text = v.Name
		}
		rows = append(rows, tui.Row{Label: v.Key, Text: text, Note: v.Reason + "; written " + tui.Age(time.Since(v.Modified))})
	}
	a.term.Rows(rows)
}

// shelves are the directories that recall looks through: those that the memory
// commands work on.
func (t *target) shelves() []recall.Shelf {
	var all []recall.Shelf
	for _, r := range t.rooms() {
		shelf := recall.Shelf{Dir: r.path, Scope: string(r.scope), Prefix: r.prefix}
		if r.scope == memory.Private {
			shelf.Skip = strings.TrimSuffix(teamPrefix, "/")
		}
		all = append(all, shelf)
	}
	return all
}

// recallCache is the file that the index is kept in; empty where there is no place.
func (t *target) recallCache(shelves []recall.Shelf) string {
	dir := t.paths.DirState(shelves[0].Dir)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, recall.CacheName)
}

// keysOf takes paths of files for the keys they are.
func (t *target) keysOf(names []string, shelves []recall.Shelf) []string {
	keys := make([]string, 0, len(names))
	for _, name := range names {
		keys = append(keys, strings.TrimSpace(name))
		if !filepath.IsAbs(name) {
			continue
		}
		for _, s := range shelves {
			if rel, err := filepath.Rel(config.Resolve(s.Dir), config.Resolve(name)); err == nil && filepath.IsLocal(rel) {
				keys = append(keys, s.Prefix+filepath.ToSlash(rel))
			}
		}
	}
	return keys
}
