package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/tui"
)

// app is one run of the program.
type app struct {
	env                   config.Env
	stdin, stdout, stderr *os.File
	term                  *tui.Terminal
	flags                 *pflag.FlagSet // of the command that runs
	name                  string         // of the command that ran, for hints
	told                  bool           // the error is in the JSON report already
	journal               io.Writer      // in the place of standard error, with --log-file

	json, quiet, yes bool
	passing          bool // the command can do without a place for state
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "client",
		Short: "Share an agent's memory with your team",
		Long: `The client keeps an agent's memory directory and a repo at a teammem server in
agreement. It stands beside the agent and needs nothing of it.`,
		Example: `  client login --server https://memory.acme.example --token-file token
  client sync`,
		Version:                    version,
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		PersistentPreRunE:          a.begin,
		Args:                       knownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageFunc(usage)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return asUsage(err) })
	f := root.PersistentFlags()
	f.String(string(config.Dir), "", "memory directory (default: the team directory of this project)")
	f.String(string(config.Server), "", "address of the server")
	f.String(string(config.Org), "", "organization, for people who are in several")
	f.String(string(config.Repo), "", "owner/repo (default: from the git remote)")
	f.String(string(config.TokenFile), "", "file whose first line is the token")
	f.String(string(config.CA), "", "file of certificates to trust, PEM")
	f.Bool(string(config.Insecure), false, "speak plain http to another machine")
	f.BoolVar(&a.json, "json", false, "print JSON for programs")
	f.BoolVar(&a.quiet, "quiet", false, "print only what needs a person")
	f.BoolVar(&a.yes, "yes", false, "answer questions with yes")
	root.AddGroup(&cobra.Group{ID: groupSync, Title: "Syncing:"}, &cobra.Group{ID: groupMemory, Title: "Memories:"}, &cobra.Group{ID: groupHistory, Title: "History:"}, &cobra.Group{ID: groupConflict, Title: "Deleting and settling:"}, &cobra.Group{ID: groupSecrets, Title: "What must not leave:"}, &cobra.Group{ID: groupAgent, Title: "Serving agents:"}, &cobra.Group{ID: groupLogin, Title: "Signing in:"}, &cobra.Group{ID: groupLook, Title: "Looking:"})
	root.AddCommand(
		a.syncCommand(), a.pullCommand(), a.pushCommand(), a.installCommand(), a.uninstallCommand(),
		a.memoryCommand(),
		a.logCommand(), a.showCommand(), a.diffCommand(), a.restoreCommand(), a.exportCommand(), a.importCommand(),
		a.conflictsCommand(), a.trashCommand(), a.rmCommand(), a.mergeCommand(),
		a.secretsCommand(),
		a.loginCommand(), a.logoutCommand(), a.whoAmICommand(),
		a.recallCommand(), a.contextCommand(),
		a.hookCommand(), a.hooksCommand(), a.mcpCommand(), a.proxyCommand(),
		a.statusCommand(), a.doctorCommand(), a.whereCommand(), a.versionCommand(),
	)
	explainExits(root)
	return root
}

// Groups of commands in the help.
const (
	groupSync     = "sync"
	groupMemory   = "memory"
	groupHistory  = "history"
	groupConflict = "conflict"
	groupAgent    = "agent"
	groupSecrets  = "secrets"
	groupLogin    = "login"
	groupLook     = "look"
)

// begin runs before every command, when its flags are read.
func (a *app) begin(cmd *cobra.Command, _ []string) error {
	a.name = cmd.CommandPath()
	a.flags = cmd.Flags()
	opts := tui.Detect(a.env.Getenv, a.stdin, a.stdout, a.stderr, a.env.OS)
	opts.JSON, opts.Quiet, opts.Yes, opts.Home = a.json, a.quiet, a.yes, a.env.Home
	a.term = tui.New(a.stdout, a.stderr, opts)
	return nil
}

// settingFlags are the settings that were given as flags.
func (a *app) settingFlags() map[string]string {
	given := map[string]string{}
	known := map[string]bool{}
	for _, name := range config.Names() {
		known[string(name)] = true
	}
	a.flags.Visit(func(f *pflag.Flag) {
		if known[f.Name] {
			given[f.Name] = f.Value.String()
		}
	})
	return given
}

func (a *app) helpHint() string { return fmt.Sprintf("%s --help shows how it is used", a.name) }

func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := &usageError{err: fmt.Errorf("there is no command %q", args[0])}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		e.hint = fmt.Sprintf("did you mean %s %s?", cmd.CommandPath(), near[0])
	}
	return e
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, and %q is one", cmd.CommandPath(), args[0])
	}
	return nil
}

func oneDirectory(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes one directory, not %d", cmd.CommandPath(), len(args))
	}
	return nil
}
