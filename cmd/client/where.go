package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/project"
	"github.com/teammem/teammem/client/tui"
)

// whereView is the answer of client where.
type whereView struct {
	Directory     string           `json:"directory"`
	DirectoryFrom string           `json:"directoryFrom"`
	Repo          api.RepoSlug     `json:"repo"`
	RepoFrom      string           `json:"repoFrom"`
	Server        string           `json:"server"`
	ServerFrom    string           `json:"serverFrom"`
	TokenFrom     string           `json:"tokenFrom"` // "" without a token
	Root          string           `json:"root"`
	Git           bool             `json:"git"`
	Remote        string           `json:"remote"`
	MemoryDir     string           `json:"memoryDirectory"`
	StateDir      string           `json:"stateDirectory"`
	ConfigDir     string           `json:"configDirectory"`
	Why           []project.Reason `json:"why"`
	Settings      []config.Value   `json:"settings"`
	TeamDir       string           `json:"teamDirectory"`
	Slug          string           `json:"slug"`
	AgentMemory   bool             `json:"agentMemory"` // whether the agent's memory is switched on
	TeamMemory    bool             `json:"teamMemory"`  // and team memory for agents
	Clash         string           `json:"clash,omitempty"`
	Rules         []project.Rule   `json:"rules,omitempty"` // with --explain
}

func (a *app) whereCommand() *cobra.Command {
	var explain bool
	cmd := &cobra.Command{
		Use:     "where",
		Short:   "Show which directory, repo and server are meant, and why",
		GroupID: groupLook,
		Long:    "Where shows what every other command would work on, and how that was found.\nIt asks no server and changes nothing.\n\n" + exitHelp,
		Example: `  client where
  client where --explain`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			t, err := a.target(nil)
			if err != nil {
				return err
			}
			view, err := where(t)
			if err != nil {
				return err
			}
			if explain {
				view.Rules = append(t.project.Rules, switches(t.settings)...)
			}
			if a.json {
				a.term.Value(view)
				return nil
			}
			a.term.Rows(a.whereRows(view))
			a.explainRules(view)
			return nil
		},
	}
	cmd.Flags().BoolVar(&explain, "explain", false, "list every rule, and which one decided")
	return cmd
}

// explainRules lists the rules of the agent's paths and switches in their order.
func (a *app) explainRules(v whereView) {
	if len(v.Rules) == 0 {
		return
	}
	a.term.Print("")
	var rows []tui.Row
	for _, rule := range v.Rules {
		rows = append(rows, tui.Row{Label: rule.What, Text: tui.Escape(rule.Rule), Note: tui.Escape(strings.TrimSpace(rule.Value + "  " + rule.Outcome))})
	}
	a.term.Rows(rows)
}

// switches are those of team memory and of background work, as rules.
func switches(s config.Settings) []project.Rule {
	team := s.Get(config.TeamMemory)
	rules := []project.Rule{{What: "team memory", Rule: team.Source, Value: team.Value, Outcome: "decides"}}
	for _, job := range config.Jobs {
		v := s.Get(job)
		rule := project.Rule{What: strings.ReplaceAll(string(job), "-", " "), Rule: v.Source, Value: v.Value, Outcome: "decides"}
		if v.Value == "on" {
			rule.Outcome = "passed over: no model is configured, so it does not run"
		}
		rules = append(rules, rule)
	}
	return rules
}

func where(t *target) (whereView, error) {
	view := whereView{
		Directory: t.dir, DirectoryFrom: t.dirFrom, Repo: t.repo, RepoFrom: t.repoFrom,
		Server: t.server, ServerFrom: t.settings.Get(config.Server).Source,
		Root: t.project.Root, Git: t.project.Git, Remote: t.project.Remote, MemoryDir: t.project.MemoryDir,
		StateDir: t.paths.DirState(t.dir), ConfigDir: t.paths.Config,
		Why: t.project.Why, Settings: t.settings.All(),
		TeamDir: t.project.TeamDir, Slug: t.project.Slug, AgentMemory: t.project.Agent, TeamMemory: t.settings.TeamMemory(),
	}
	if clash, err := t.clash(); clash != nil {
		view.Clash = clash.Error()
	} else if err != nil {
		return view, err
	}
	if t.repo == "" {
		view.RepoFrom = ""
	}
	if credential, err := t.token(); err == nil {
		view.TokenFrom = credential.Source
	}
	return view, nil
}

func (a *app) whereRows(v whereView) []tui.Row {
	or := func(text, none string) string {
		if text == "" {
			return none
		}
		return text
	}
	rows := []tui.Row{
		{Label: "directory", Text: or(a.term.Path(v.Directory), "unknown"), Note: v.DirectoryFrom},
		{Label: "repo", Text: or(string(v.Repo), "unknown"), Note: or(v.RepoFrom, "name it with --repo owner/repo")},
		{Label: "server", Text: or(v.Server, "unknown"), Note: or(v.ServerFrom, "")},
		{Label: "token", Text: or(a.term.Path(v.TokenFrom), "none"), Note: ""},
		{Label: "state", Text: a.term.Path(v.StateDir)},
	}
	if v.Clash != "" {
		rows = append(rows, tui.Row{Label: "clash", Text: a.term.Path(v.Directory), Note: v.Clash})
	}
	for _, reason := range v.Why {
		rows = append(rows, tui.Row{Label: reason.What, Text: or(a.term.Path(reason.Value), "none"), Note: reason.Because})
	}
	return rows
}

// clash names the other project that has the directory; nil where none has.
func (t *target) clash() (clash *project.ClashError, err error) {
	err = project.NewRegistry(t.paths.Projects()).Check(t.enrolment())
	errors.As(err, &clash)
	return clash, err
}
