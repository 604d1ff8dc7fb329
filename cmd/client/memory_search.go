package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/recall"
	"github.com/teammem/teammem/client/tui"
)

// hit is one line that holds what was searched for, for programs.
type hit struct {
	Key   api.Key      `json:"key"`
	Scope memory.Scope `json:"scope"`
	Line  int          `json:"line"`
	Text  string       `json:"text"`
}

func (a *app) memorySearchCommand() *cobra.Command {
	var exact, ranked bool
	cmd := &cobra.Command{
		Use:   "search TEXT...",
		Short: "Search the memories and indexes for a text",
		Long: `Search shows every line that holds the text, whatever its case; with --case as it is
written. --ranked finds the memories that matter for a question, as client recall does.

` + exitHelp,
		Example: `  client memory search staging database
  client memory search --case TODO --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return usagef("%s wants a text", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if ranked && exact {
				return usagef("--ranked and --case exclude each other")
			}
			if ranked {
				return a.recall(cmd, recall.Query{Text: strings.Join(args, " ")})
			}
			return a.memorySearch(strings.Join(args, " "), exact)
		},
	}
	cmd.Flags().BoolVar(&ranked, "ranked", false, "the memories that matter most, best first")
	cmd.Flags().BoolVar(&exact, "case", false, "the case counts")
	return cmd
}

func (a *app) memorySearch(text string, exact bool) error {
	m, err := a.memories()
	if err != nil {
		return err
	}
	defer m.Close()
	fold := func(s string) string { return api.Key(s).Fold() }
	if exact {
		fold = func(s string) string { return s }
	}
	hits, wanted := []hit{}, fold(text)
	var missed []error
	for _, key := range m.keys() {
		content, err := m.read(key)
		if err != nil {
			missed = append(missed, err)
			continue
		}
		r, _ := m.room(key)
		number := 0
		for line := range strings.Lines(string(content)) {
			number++
			if strings.Contains(fold(line), wanted) {
				hits = append(hits, hit{key, r.scope, number, strings.TrimRight(line, "\r\n")})
			}
		}
	}
	a.showHits(hits)
	return errors.Join(missed...)
}

// keys lists the memories, newest first, then the indexes.
func (m *memories) keys() []api.Key {
	var keys []api.Key
	for _, one := range m.List.Memories {
		keys = append(keys, one.Key)
	}
	return append(keys, m.List.Indexes...)
}

// longLine is how much of a line is shown to a person.
const longLine = 200

func (a *app) showHits(hits []hit) {
	if a.json {
		a.term.Value(hits)
		return
	}
	for _, h := range hits {
		text := h.Text
		if utf8.RuneCountInString(text) > longLine {
			text = string([]rune(text)[:longLine]) + "…"
		}
		a.term.Print(fmt.Sprintf("%s:%d: %s", tui.Escape(string(h.Key)), h.Line, tui.Escape(text)))
	}
	if len(hits) == 0 {
		a.term.Note("no memory holds that")
	}
}
