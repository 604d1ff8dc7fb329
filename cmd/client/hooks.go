package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/client/hook"
	"github.com/teammem/teammem/client/tui"
)

func (a *app) hooksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "hooks",
		Short:   "Put hooks into an agent's settings, or take them out",
		GroupID: groupAgent,
		Long: `Hooks lets an agent tell the client when a session starts, a question is asked and
a file is written. What would change in the agent's settings is shown first.`,
		Example: `  client hooks install --agent gemini
  client hooks status`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.hooksInstallCommand(), a.hooksStatusCommand(), a.hooksUninstallCommand())
	return cmd
}

// hooksFile is the settings file of one agent.
type hooksFile struct {
	agent hook.Agent
	path  string // with links followed: what is written is what is read
	text  []byte
	there bool
	mode  fs.FileMode
}

// hookFlags are the flags of the commands below hooks.
type hookFlags struct {
	agent, file string
	dryRun      bool
}

func agentNames() []string {
	names := make([]string, 0, len(hook.Agents))
	for _, agent := range hook.Agents {
		names = append(names, string(agent))
	}
	return names
}

func (f *hookFlags) add(cmd *cobra.Command, changes bool) {
	names := agentNames()
	cmd.Flags().StringVar(&f.agent, "agent", "", "the agent: "+strings.Join(names, ", "))
	cmd.Flags().StringVar(&f.file, "file", "", "its settings file (default: the person's own, for all projects)")
	if changes {
		cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would change, and change nothing")
	}
	if err := cmd.RegisterFlagCompletionFunc("agent", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag was made two lines above
	}
}

func (a *app) hooksInstallCommand() *cobra.Command {
	var flags hookFlags
	cmd := &cobra.Command{
		Use:   "install --agent NAME",
		Short: "Put our hooks into the agent's settings",
		Long: `Install shows what it adds to the agent's settings file, asks, keeps a copy of the
file beside it, and writes. Comments, order and indentation stay. Done twice, it
changes nothing the second time.

` + exitHelp,
		Example: `  client hooks install --agent claude
  client hooks install --agent gemini --file .gemini/settings.json --yes`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			f, err := a.hooksFile(flags)
			if err != nil {
				return err
			}
			after, err := f.agent.Install(f.text, shellWord(a.program()))
			if err != nil {
				return f.refused(err)
			}
			return a.changeHooks(f, after, flags, "install")
		},
	}
	flags.add(cmd, true)
	return cmd
}

func (a *app) hooksUninstallCommand() *cobra.Command {
	var flags hookFlags
	cmd := &cobra.Command{
		Use:   "uninstall --agent NAME",
		Short: "Take our hooks out of the agent's settings",
		Long: `Uninstall takes out what install added and nothing else, shows it first, and asks.

` + exitHelp,
		Example: `  client hooks uninstall --agent claude
  client hooks uninstall --agent codex --dry-run`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			f, err := a.hooksFile(flags)
			if err != nil {
				return err
			}
			after, err := f.uninstalled()
			if err != nil {
				return f.refused(err)
			}
			return a.changeHooks(f, after, flags, "uninstall")
		},
	}
	flags.add(cmd, true)
	return cmd
}

// hooksView is the state of one agent's hooks.
type hooksView struct {
	Agent hook.Agent `json:"agent"`
	File  string     `json:"file"`
	State string     `json:"state"` // installed, outdated, partial, none, unreadable
	Hooks int        `json:"hooks"`
	Of    int        `json:"of"`
}

func (a *app) hooksStatusCommand() *cobra.Command {
	var flags hookFlags
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show which agents have our hooks",
		Long:    "Status looks into the settings of each agent, or of one, and changes nothing.\n\n" + exitHelp,
		Example: "  client hooks status\n  client hooks status --agent qwen --json",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return a.hooksStatus(flags) },
	}
	flags.add(cmd, false)
	return cmd
}

func (a *app) hooksStatus(flags hookFlags) error {
	agents := hook.Agents
	if flags.agent != "" {
		agents = []hook.Agent{hook.Agent(flags.agent)}
	} else if flags.file != "" {
		return usagef("--file needs --agent")
	}
	views := []hooksView{}
	var rows []tui.Row
	for _, agent := range agents {
		flags.agent = string(agent)
		f, err := a.hooksFile(flags)
		if err != nil {
			return err
		}
		v := hooksView{Agent: agent, File: f.path, State: "none"}
		var current int
		v.Hooks, current, v.Of, err = agent.Installed(f.text, shellWord(a.program()))
		switch {
		case err != nil:
			v.State = "unreadable"
		case current == v.Of && v.Hooks == v.Of:
			v.State = "installed"
		case v.Hooks > 0 && current < v.Hooks:
			v.State = "outdated"
		case v.Hooks > 0:
			v.State = "partial"
		}
		views = append(views, v)
		rows = append(rows, tui.Row{Label: string(agent), Text: v.State, Note: a.term.Path(v.File)})
	}
	if a.json {
		a.term.Value(views)
		return nil
	}
	a.term.Rows(rows)
	return nil
}

// hooksFile reads the settings file that is meant.
func (a *app) hooksFile(flags hookFlags) (*hooksFile, error) {
	f := &hooksFile{agent: hook.Agent(flags.agent), mode: 0o600}
	if !f.agent.Known() {
		names := fmt.Sprint(hook.Agents)
		if flags.agent == "" {
			return nil, &usageError{err: errors.New("no agent is named"), hint: "name one with --agent: " + strings.Trim(names, "[]")}
		}
		return nil, &usageError{err: fmt.Errorf("there is no agent %q", flags.agent), hint: "--agent is one of: " + strings.Trim(names, "[]")}
	}
	path := f.agent.File(a.env.Getenv, a.env.Home)
	if flags.file != "" {
		var err error
		if path, err = a.env.Abs(flags.file); err != nil {
			return nil, asUsage(err)
		}
	}
	if path == "" {
		return nil, &usageError{err: errors.New("there is no home directory"), hint: "name the file with --file"}
	}
	// People keep their settings elsewhere and link to them: the link stays.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f.path = path
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxSettings:
		return nil, fmt.Errorf("%s is no settings file", path)
	}
	f.there, f.mode = true, info.Mode().Perm()
	f.text, err = os.ReadFile(path)
	return f, err
}

const maxSettings = 16 << 20

// refused is the error for a file that is not understood. It was left alone.
func (f *hooksFile) refused(err error) error {
	return &usageError{
		err:  fmt.Errorf("%s was left as it is: %w", f.path, err),
		hint: "mend the file first; the agent may not read it either",
	}
}

// backup is where the text before the first install is kept.
func (f *hooksFile) backup() string { return f.path + ".before-teammem" }

// uninstalled is the text without our hooks. Where nothing was edited since, the copy
// that install kept is what it was, to the byte.
func (f *hooksFile) uninstalled() ([]byte, error) {
	after, err := f.agent.Uninstall(f.text)
	if err != nil || bytes.Equal(after, f.text) {
		return after, err
	}
	kept, err := os.ReadFile(f.backup())
	if err != nil {
		return after, nil
	}
	if again, err := f.agent.Install(kept, f.agent.Program(f.text)); err == nil && bytes.Equal(again, f.text) {
		return kept, nil
	}
	return after, nil
}

// changeHooks shows the change, asks, and writes.
func (a *app) changeHooks(f *hooksFile, after []byte, flags hookFlags, verb string) error {
	if bytes.Equal(after, f.text) {
		if a.json {
			a.term.Value(map[string]any{"agent": f.agent, "file": f.path, "changed": false})
			return nil
		}
		a.term.Note(fmt.Sprintf("%s: nothing to %s in %s", f.agent.Title(), verb, a.term.Path(f.path)))
		return nil
	}
	if !a.json {
		a.term.Diff(f.path, f.path, string(f.text), string(after))
	}
	write := !flags.dryRun
	if write && !a.term.Ask(fmt.Sprintf("Change %s?", f.path), false) {
		return &usageError{err: fmt.Errorf("%s was left as it is", f.path), hint: "answer yes, or give --yes"}
	}
	if write {
		if err := f.write(after, verb == "install"); err != nil {
			return err
		}
	}
	if a.json {
		a.term.Value(map[string]any{"agent": f.agent, "file": f.path, "changed": write})
		return nil
	}
	if write && verb == "install" {
		a.term.Note(f.agent.Title() + " runs the hooks from its next session on")
		if note := f.agent.AfterInstall(); note != "" {
			a.term.Note(note)
		}
	}
	return nil
}

// write replaces the file by rename, and keeps a copy of the text before install. A
// file that install made goes again.
func (f *hooksFile) write(after []byte, install bool) error {
	if install && f.there {
		if _, err := os.Lstat(f.backup()); errors.Is(err, fs.ErrNotExist) || !f.agent.HasHooks(f.text) {
			if err := replaceFile(f.backup(), f.text, f.mode); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	kept, err := os.ReadFile(f.backup())
	switch {
	case !install && err != nil && f.agent.Empty(after):
		return os.Remove(f.path)
	case !install && err == nil && bytes.Equal(kept, after):
		if err := os.Remove(f.backup()); err != nil {
			return err
		}
	}
	return replaceFile(f.path, after, f.mode)
}

// replaceFile writes a file whole or not at all.
func replaceFile(path string, text []byte, mode fs.FileMode) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// program is what runs us, as a path that holds from every directory.
func (a *app) program() string {
	path, err := os.Executable()
	if err != nil {
		return "client"
	}
	return path
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellWord writes a path as one word of a shell's line.
func shellWord(path string) string {
	switch {
	case plainWord.MatchString(path):
		return path
	case filepath.Separator == '\\':
		return `"` + path + `"`
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
