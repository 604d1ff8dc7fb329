package main

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/curate"
)

// memoryText is one memory with its text, for programs.
type memoryText struct {
	memoryRow
	Content   string `json:"content"`
	Freshness string `json:"freshness"` // what a reader is told of its age; "" when it is fresh
}

func (a *app) memoryShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Print a memory, byte for byte",
		Long: `Show prints the file as it lies there. NAME is a key, a file's name, or the memory's own
name. What an agent would be told of its age goes to stderr.

` + exitHelp,
		Example: `  client memory show feedback_testing
  client memory show team/project_release.md --json`,
		Args:              oneName,
		ValidArgsFunction: a.completeMemories,
		RunE:              func(_ *cobra.Command, args []string) error { return a.memoryShow(args[0]) },
	}
	return cmd
}

func (a *app) memoryShow(name string) error {
	m, err := a.memories()
	if err != nil {
		return err
	}
	defer m.Close()
	if slices.Contains(m.List.Indexes, api.Key(name)) {
		return a.showIndex(m, api.Key(name))
	}
	one, err := m.Find(name)
	if err != nil {
		return err
	}
	text, err := m.read(one.Key)
	if err != nil {
		return err
	}
	told := memory.Freshness(time.Now(), one.Modified)
	if a.json {
		if err := asText(one.Key, text); err != nil {
			return err
		}
		a.term.Value(memoryText{
			memoryRow{
				Key: one.Key, Name: one.Name, Description: one.Description, Type: one.Type,
				Scope: one.Scope, Modified: api.NewTime(one.Modified), Bytes: one.Bytes,
			}, string(text), told,
		})
		return nil
	}
	a.term.Raw(text)
	if told != "" {
		a.term.Note(told)
	}
	return nil
}

// asText refuses what JSON cannot carry: it would arrive as another text.
func asText(key api.Key, text []byte) error {
	if utf8.Valid(text) {
		return nil
	}
	return &curate.Refused{
		Why:  fmt.Sprintf("%s is not UTF-8, and JSON cannot carry it", key),
		Cure: "without --json it is printed byte for byte",
	}
}

// showIndex prints an index whole, and says on stderr what of it an agent is not told.
func (a *app) showIndex(m *memories, key api.Key) error {
	text, err := m.read(key)
	if err != nil {
		return err
	}
	warning := memory.CutIndex(text).Warning()
	if a.json {
		if err := asText(key, text); err != nil {
			return err
		}
		a.term.Value(struct {
			Key     api.Key `json:"key"`
			Content string  `json:"content"`
			Warning string  `json:"warning"` // "" when all of it is loaded
		}{key, string(text), warning})
		return nil
	}
	a.term.Raw(text)
	if warning != "" {
		a.term.Warn(warning, "")
	}
	return nil
}

// completeMemories completes the first argument by the keys.
func (a *app) completeMemories(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 || a.begin(cmd, args) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	m, err := a.memories()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer m.Close()
	var keys []cobra.Completion
	for _, one := range m.List.Memories {
		keys = append(keys, cobra.CompletionWithDesc(string(one.Key), one.Description))
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}
