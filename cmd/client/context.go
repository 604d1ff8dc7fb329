package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/client/claudemd"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/tui"
)

// contextFlags are what client context is asked for.
type contextFlags struct {
	file, format      string
	explain           bool
	added, without    []string
	dailyLog, noIndex bool
}

// contextView is what an agent is told, for programs.
type contextView struct {
	Instructions []instructionView  `json:"instructions"`
	Memory       memoryPromptView   `json:"memory"`
	Warnings     []claudemd.Warning `json:"warnings"`
	Bytes        int                `json:"bytes"`
	Tokens       int                `json:"tokens"`
}

type instructionView struct {
	Path  string         `json:"path"`
	Layer claudemd.Layer `json:"layer"`
	Text  string         `json:"text"`
}

type memoryPromptView struct {
	Mode          claudemd.Mode `json:"mode"`
	Directory     string        `json:"directory"`
	TeamDirectory string        `json:"teamDirectory"`
	Prompt        string        `json:"prompt,omitempty"`
}

// explainView lists every file that was looked at.
type explainView struct {
	Files    []claudemd.File    `json:"files"`
	Memory   memoryPromptView   `json:"memory"`
	Warnings []claudemd.Warning `json:"warnings"`
	Bytes    int                `json:"bytes"` // of all that the agent is told
	Tokens   int                `json:"tokens"`
}

func (a *app) contextCommand() *cobra.Command {
	var f contextFlags
	cmd := &cobra.Command{
		Use:     "context",
		Short:   "Show what an agent is told here, and why",
		GroupID: groupMemory,
		Long: `Context prints the instruction files of every level with what they import, then
the prompt about memory. --explain lists each file with its reason and its cost.

` + exitHelp,
		Example: `  client context --explain
  client context --file src/api/user.go --format agents-md`,
		Args: knownCommand,
		RunE: func(*cobra.Command, []string) error { return a.context(f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.file, "file", "", "also what reading this file brings")
	flags.StringVar(&f.format, "format", "text", "text, json or agents-md")
	a.completeWords(cmd, "format", "text", "json", "agents-md")
	flags.BoolVar(&f.explain, "explain", false, "list every file: loaded, skipped or cut, why, and what it costs")
	flags.StringSliceVar(&f.added, "add-dir", nil, "directories the agent was given besides")
	flags.StringSliceVar(&f.without, "without", nil, "layers to leave out: user, project, local")
	flags.BoolVar(&f.dailyLog, "daily-log", false, "the prompt of a long-lived assistant")
	flags.BoolVar(&f.noIndex, "no-index", false, "the prompt without an index")
	cmd.AddCommand(a.approveCommand(false), a.approveCommand(true))
	return cmd
}

func (a *app) context(f contextFlags) error {
	if a.json {
		f.format = "json"
	}
	if !slices.Contains([]string{"text", "json", "agents-md"}, f.format) {
		return usagef("--format %s: it is text, json or agents-md", f.format)
	}
	t, err := a.target(nil)
	if err != nil {
		return err
	}
	options, guidelines, err := t.contextOptions(f)
	if err != nil {
		return err
	}
	result := claudemd.Load(options)
	memories, indexes := t.memoriesFor(f, guidelines)
	result.Files = append(result.Files, indexes...)
	for _, index := range indexes {
		if index.Warning != "" {
			result.Warnings = append(result.Warnings, claudemd.Warning{Path: index.Path, Text: index.Warning})
		}
	}
	natively(&result)
	a.tellContext(f, result, memories)
	return nil
}

// natively writes the paths as this machine does.
func natively(r *claudemd.Result) {
	for i := range r.Files {
		f := &r.Files[i]
		f.Path, f.Real, f.Importer = claudemd.Native(f.Path), claudemd.Native(f.Real), claudemd.Native(f.Importer)
	}
	for i := range r.Warnings {
		r.Warnings[i].Path = claudemd.Native(r.Warnings[i].Path)
	}
}

func (a *app) tellContext(f contextFlags, r claudemd.Result, m claudemd.Memories) {
	prompt := m.Prompt()
	text := claudemd.Text(r.Files, prompt)
	if f.format == "agents-md" {
		text = claudemd.AgentsMD(r.Files, prompt)
	}
	size, tokens := len(text), claudemd.Tokens(utf8.RuneCountInString(text))
	view := memoryPromptView{Mode: m.Mode, Directory: m.Dir, TeamDirectory: m.TeamDir}
	warnings := append([]claudemd.Warning{}, r.Warnings...)
	switch {
	case f.explain && f.format == "json":
		a.term.Value(explainView{append([]claudemd.File{}, r.Files...), view, warnings, size, tokens})
	case f.explain:
		a.term.Rows(a.explainRows(r, view, size, tokens))
	case f.format == "json":
		view.Prompt = prompt
		a.term.Value(contextView{instructionsOf(r.Files), view, warnings, size, tokens})
	default:
		a.term.Raw([]byte(text))
		for _, w := range r.Warnings {
			a.term.Warn(a.placeOf(w)+": "+w.Text, "")
		}
	}
}

func instructionsOf(files []claudemd.File) []instructionView {
	views := []instructionView{}
	for _, f := range files {
		if f.Text != "" {
			views = append(views, instructionView{f.Path, f.Layer, f.Text})
		}
	}
	return views
}

func (a *app) placeOf(w claudemd.Warning) string {
	if w.Line == 0 {
		return a.term.Path(w.Path)
	}
	return fmt.Sprintf("%s:%d", a.term.Path(w.Path), w.Line)
}

func (a *app) explainRows(r claudemd.Result, m memoryPromptView, size, tokens int) []tui.Row {
	var rows []tui.Row
	for _, f := range r.Files {
		why := f.Why
		if f.Importer != "" {
			why += fmt.Sprintf(", by %s:%d", a.term.Path(f.Importer), f.Line)
		}
		if f.Warning != "" {
			why += "; " + f.Warning
		}
		name := strings.Repeat("  ", f.Depth) + a.term.Path(f.Path)
		if f.Real != "" {
			name += " = " + a.term.Path(f.Real)
		}
		rows = append(rows, tui.Row{Label: name, Text: string(f.State) + ", " + string(f.Layer) + cost(f.Bytes, f.Tokens), Note: why})
	}
	for _, w := range r.Warnings {
		rows = append(rows, tui.Row{Label: a.placeOf(w), Text: "warning", Note: w.Text})
	}
	return append(rows,
		tui.Row{Label: "memory", Text: string(m.Mode), Note: a.term.Path(m.Directory)},
		tui.Row{Label: "all", Text: strings.TrimPrefix(cost(size, tokens), ", "), Note: "that the agent is told"})
}

// cost says nothing of what costs nothing.
func cost(size, tokens int) string {
	if size == 0 {
		return ""
	}
	return ", " + tui.Size(int64(size)) + ", about " + tui.Count(tokens, "token", "tokens")
}

// contextOptions are where the instructions of this place are looked for.
func (t *target) contextOptions(f contextFlags) (o claudemd.Options, guidelines string, err error) {
	dir := config.Resolve(t.env.Dir)
	where := t.project.Instructions(t.env, dir)
	root := t.project.Worktree
	if root == "" {
		root = t.project.Root
	}
	o = claudemd.Options{
		FS: claudemd.Disk(), Dir: claudemd.Slash(dir), Root: claudemd.Slash(root), Main: claudemd.Slash(t.project.Root),
		ManagedDir: claudemd.Slash(where.ManagedDir), UserDir: claudemd.Slash(where.UserDir), Home: claudemd.Slash(t.env.Home),
	}
	for _, e := range where.Excludes {
		o.Excludes = append(o.Excludes, claudemd.Exclude{Pattern: e.Pattern, Committed: e.Committed})
	}
	for _, layer := range f.without {
		switch l := claudemd.Layer(layer); l {
		case claudemd.User, claudemd.Project, claudemd.Local:
			o.Without = append(o.Without, l)
		default:
			return o, "", usagef("--without %s: it is user, project or local", layer)
		}
	}
	for _, name := range f.added {
		path, err := t.env.Abs(name)
		if err != nil {
			return o, "", asUsage(err)
		}
		o.Added = append(o.Added, claudemd.Slash(config.Resolve(path)))
	}
	if f.file != "" {
		path, err := t.env.Abs(f.file)
		if err != nil {
			return o, "", asUsage(err)
		}
		o.Read = claudemd.Slash(path)
	}
	approved, err := claudemd.NewApprovals(t.paths.Approvals(t.project.Root)).List()
	for _, path := range approved {
		o.Approved = append(o.Approved, claudemd.Slash(path))
	}
	return o, where.Guidelines, err
}

// memoriesFor says which memory prompt there is, and reads the indexes.
func (t *target) memoriesFor(f contextFlags, guidelines string) (claudemd.Memories, []claudemd.File) {
	m := claudemd.Memories{Mode: claudemd.Off, NoIndex: f.noIndex, Guidelines: guidelines}
	if !t.project.Agent || t.project.MemoryDir == "" {
		return m, nil
	}
	m.Mode, m.Dir = claudemd.Alone, t.project.MemoryDir
	if info, err := os.Stat(t.dir); err == nil && info.IsDir() && t.settings.TeamMemory() && config.Resolve(t.dir) != config.Resolve(m.Dir) {
		m.Mode, m.TeamDir = claudemd.Both, t.dir
	}
	if f.dailyLog {
		m.Mode = claudemd.DailyLog
	}
	if f.noIndex {
		return m, nil
	}
	var indexes []claudemd.File
	read := func(dir string, layer claudemd.Layer) []byte {
		if dir == "" {
			return nil
		}
		content, file, ok := claudemd.Index(claudemd.Disk(), claudemd.Slash(dir), layer)
		if ok {
			indexes = append(indexes, file)
		}
		return content
	}
	m.Index, m.TeamIndex = read(m.Dir, claudemd.Memory), read(m.TeamDir, claudemd.TeamMemory)
	return m, indexes
}
