package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/tui"
)

// memoryRow is one memory, for programs.
type memoryRow struct {
	Key         api.Key      `json:"key"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Type        memory.Type  `json:"type"` // "" for none of the four
	Scope       memory.Scope `json:"scope"`
	Modified    api.Time     `json:"modified"` // of the file
	Bytes       int64        `json:"bytes"`
	Author      string       `json:"author,omitempty"` // with --author
}

// listFilter says which memories are listed.
type listFilter struct {
	types         []string
	scope, author string
	newer, older  string
}

func (a *app) memoryListCommand() *cobra.Command {
	var f listFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the memories, newest first",
		Long: `List shows the memories as an agent's scan sees them. An age is a number of days, or a
time such as 36h. Authors are asked of the server.

` + exitHelp,
		Example: `  client memory list --type project --newer-than 7d
  client memory list --scope team --author lee --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.memoryList(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.types, "type", nil, "user, feedback, project, reference or none")
	flags.StringVar(&f.scope, "scope", "", "private or team")
	flags.StringVar(&f.author, "author", "", "who changed it last")
	flags.StringVar(&f.newer, "newer-than", "", "changed within this time")
	flags.StringVar(&f.older, "older-than", "", "not changed for this time")
	a.completeTypes(cmd, "type", "none")
	a.completeWords(cmd, "scope", string(memory.Private), string(memory.Team))
	return cmd
}

// completeTypes completes a flag by the types.
func (a *app) completeTypes(cmd *cobra.Command, flag string, more ...string) {
	for _, t := range memory.Types() {
		more = append(more, string(t))
	}
	a.completeWords(cmd, flag, more...)
}

func (a *app) completeWords(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func (a *app) memoryList(ctx context.Context, f listFilter) error {
	keep, err := f.keep(time.Now())
	if err != nil {
		return err
	}
	m, err := a.memories()
	if err != nil {
		return err
	}
	defer m.Close()
	a.warnMissed(m.List)
	authors := map[api.Key]string{}
	if f.author != "" {
		if authors, err = a.lastAuthors(ctx, m); err != nil {
			return err
		}
	}
	rows := []memoryRow{}
	for _, one := range m.List.Memories {
		author := authors[one.Key]
		if keep(one) && (f.author == "" || strings.EqualFold(author, f.author)) {
			rows = append(rows, memoryRow{
				Key: one.Key, Name: one.Name, Description: one.Description, Type: one.Type,
				Scope: one.Scope, Modified: api.NewTime(one.Modified), Bytes: one.Bytes, Author: author,
			})
		}
	}
	if a.json {
		a.term.Value(rows)
		return nil
	}
	a.listRows(rows, time.Now())
	return nil
}

func (a *app) listRows(rows []memoryRow, now time.Time) {
	if len(rows) == 0 {
		a.term.Note("there are no such memories")
		return
	}
	var shown []tui.Row
	for _, r := range rows {
		kind := string(r.Type)
		if r.Type == memory.None {
			kind = "-"
		}
		about := r.Description
		if about == "" {
			about = r.Name
		}
		shown = append(shown, tui.Row{
			Label: fmt.Sprintf("%-9s  %s", kind, tui.Escape(string(r.Key))),
			Text:  memory.Age(now, r.Modified.Time), Note: tui.Escape(about),
		})
	}
	a.term.Rows(shown)
}

// keep is the filter as a function.
func (f listFilter) keep(now time.Time) (func(memory.Memory) bool, error) {
	types, err := f.typeSet()
	if err != nil {
		return nil, err
	}
	switch memory.Scope(f.scope) {
	case "", memory.Private, memory.Team:
	default:
		return nil, usagef("--scope %q: want private or team", f.scope)
	}
	newer, err := span("newer-than", f.newer)
	if err != nil {
		return nil, err
	}
	older, err := span("older-than", f.older)
	if err != nil {
		return nil, err
	}
	return func(m memory.Memory) bool {
		age := now.Sub(m.Modified)
		return (len(types) == 0 || slices.Contains(types, m.Type)) &&
			(f.scope == "" || m.Scope == memory.Scope(f.scope)) &&
			(f.newer == "" || age < newer) && (f.older == "" || age >= older)
	}, nil
}

func (f listFilter) typeSet() ([]memory.Type, error) {
	var types []memory.Type
	for _, text := range f.types {
		t := memory.TypeOf(text)
		if t == memory.None && text != "none" {
			return nil, usagef("--type %q: want user, feedback, project, reference or none", text)
		}
		types = append(types, t)
	}
	return types, nil
}

// span reads a time: days as "7" or "7d", else as Go writes it.
func span(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if days, err := strconv.Atoi(strings.TrimSuffix(text, "d")); err == nil && days >= 0 && days < 100_000 {
		return time.Duration(days) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, usagef("--%s %q: want a number of days, such as 7d, or a time such as 36h", flag, text)
	}
	return d, nil
}

// mostHistory bounds the pages of history that are asked for the authors of all
// entries.
const mostHistory = 100

// lastAuthors asks the server who changed each entry last.
func (a *app) lastAuthors(ctx context.Context, m *memories) (authors map[api.Key]string, err error) {
	r, err := a.reader()
	if err != nil {
		return nil, err
	}
	defer r.server.Close()
	authors = map[api.Key]string{}
	prefix := api.Key(m.TeamPrefix)
	for cursor, pages := "", 0; ; pages++ {
		page, err := r.server.History(ctx, r.repo, "", api.MaxPage, cursor)
		if err != nil {
			return nil, err
		}
		for _, c := range page.Changes {
			if _, known := authors[prefix+c.Key]; !known {
				authors[prefix+c.Key] = c.User
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			return authors, nil
		}
		if pages == mostHistory {
			return nil, errors.New("the repo has too long a history to find all authors; client log KEY shows those of one entry")
		}
	}
}
