package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/project"
	"github.com/teammem/teammem/client/tui"
)

// memoryStats is what there is, for programs.
type memoryStats struct {
	Memories int                  `json:"memories"`
	Bytes    int64                `json:"bytes"`
	Scopes   map[memory.Scope]int `json:"scopes"`
	Types    map[string]int       `json:"types"` // "none" for none of the four
	Ages     map[string]int       `json:"ages"`  // "day", "week", "month", "older"
	Largest  api.Key              `json:"largest"`
	Indexes  []indexStats         `json:"indexes"`
}

type indexStats struct {
	Key   api.Key `json:"key"`
	Lines int     `json:"lines"`
	Bytes int     `json:"bytes"`
	Kept  int     `json:"loadedLines"` // what an agent is told
}

func (a *app) memoryStatsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Count the memories, and what of the indexes is loaded",
		Long:  "Stats counts the memories by scope, type and age, and shows how much of each index an\nagent is told.\n\n" + exitHelp,
		Example: `  client memory stats
  client memory stats --json`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			m, err := a.memories()
			if err != nil {
				return err
			}
			defer m.Close()
			a.warnMissed(m.List)
			stats, err := m.stats(time.Now())
			if err != nil {
				return err
			}
			if a.json {
				a.term.Value(stats)
				return nil
			}
			a.term.Rows(statsRows(stats))
			return nil
		},
	}
}

func (m *memories) stats(now time.Time) (memoryStats, error) {
	s := memoryStats{Scopes: map[memory.Scope]int{}, Types: map[string]int{}, Ages: map[string]int{}, Indexes: []indexStats{}}
	var most int64 = -1
	for _, one := range m.List.Memories {
		s.Memories++
		s.Bytes += one.Bytes
		s.Scopes[one.Scope]++
		kind := string(one.Type)
		if one.Type == memory.None {
			kind = "none"
		}
		s.Types[kind]++
		switch days := memory.AgeDays(now, one.Modified); {
		case days < 1:
			s.Ages["day"]++
		case days < 7:
			s.Ages["week"]++
		case days < 30:
			s.Ages["month"]++
		default:
			s.Ages["older"]++
		}
		if one.Bytes > most {
			most, s.Largest = one.Bytes, one.Key
		}
	}
	for _, key := range m.List.Indexes {
		text, err := m.read(key)
		if err != nil {
			return s, err
		}
		cut := memory.CutIndex(text)
		s.Indexes = append(s.Indexes, indexStats{key, cut.Lines, cut.Bytes, cut.Kept})
	}
	return s, nil
}

func statsRows(s memoryStats) []tui.Row {
	rows := []tui.Row{{Label: "memories", Text: tui.Number(s.Memories), Note: tui.Size(s.Bytes)}}
	for _, scope := range []memory.Scope{memory.Private, memory.Team} {
		rows = append(rows, tui.Row{Label: string(scope), Text: tui.Number(s.Scopes[scope])})
	}
	for _, kind := range append(memory.Types(), "none") {
		rows = append(rows, tui.Row{Label: string(kind), Text: tui.Number(s.Types[string(kind)])})
	}
	for _, age := range []struct{ name, words string }{{"day", "of the last day"}, {"week", "of the last week"}, {"month", "of the last month"}, {"older", "older"}} {
		rows = append(rows, tui.Row{Label: age.words, Text: tui.Number(s.Ages[age.name])})
	}
	for _, index := range s.Indexes {
		rows = append(rows, tui.Row{
			Label: tui.Escape(string(index.Key)), Text: tui.Count(index.Lines, "line", "lines"),
			Note: fmt.Sprintf("%s of %s; %s loaded", tui.Size(int64(index.Bytes)), tui.Size(memory.IndexBytes), tui.Count(index.Kept, "line", "lines")),
		})
	}
	return rows
}

// classified is what a path is, for programs.
type classified struct {
	Path string       `json:"path"`
	Kind project.Kind `json:"kind"`
}

func (a *app) memoryClassifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "classify PATH...",
		Short: "Say which memory system a path belongs to",
		Long: `Classify says of each path whether it is a managed, user, project or local instruction,
auto, team, session or agent memory, or none. It need not exist.

` + exitHelp,
		Example: `  client memory classify CLAUDE.md .claude/rules/go.md
  client memory classify ~/.claude/CLAUDE.md --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s wants at least one path", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := a.target(nil)
			if err != nil {
				return err
			}
			all := []classified{}
			for _, path := range args {
				kind, err := t.project.Classify(t.env, path)
				if err != nil {
					return asUsage(err)
				}
				all = append(all, classified{path, kind})
			}
			if a.json {
				a.term.Value(all)
				return nil
			}
			for _, c := range all {
				a.term.Print(fmt.Sprintf("%-8s  %s", c.Kind, tui.Escape(c.Path)))
			}
			return nil
		},
	}
}
