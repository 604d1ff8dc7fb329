package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/client"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/project"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/client/tui"
)

func (a *app) syncCommand() *cobra.Command {
	var once, dryRun, accept bool
	var logFile string
	cmd := &cobra.Command{
		Use:     "sync [DIR]",
		Short:   "Keep a memory directory and its repo in agreement",
		GroupID: groupSync,
		Long: `Sync pulls what the team has and pushes what is new here, until it is stopped.

` + exitHelp,
		Example: `  client sync
  client sync ~/notes --repo acme/widgets --once`,
		Args: oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			if logFile != "" {
				if err := a.logTo(logFile); err != nil {
					return err
				}
			}
			change := func(cfg *client.Config) {
				cfg.Accept, cfg.DryRun = accept, dryRun
				cfg.Offline = !once && !dryRun
			}
			if once || dryRun {
				return a.oneRound(cmd.Context(), args, change)
			}
			return a.stay(cmd.Context(), args, change)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&once, "once", false, "one round, then end; the exit status tells")
	f.BoolVar(&dryRun, "dry-run", false, "show what one round would do, and change nothing")
	f.BoolVar(&accept, "accept", false, "go ahead with what stopped the last round")
	f.StringVar(&logFile, "log-file", "", "write there what is told; two files of 5 MB at most")
	_ = f.MarkHidden("log-file") // for services without a journal; the help is one screen
	f.Duration(string(config.Debounce), client.DefaultConfig.Debounce, "quiet time before an edit goes out")
	f.String(string(config.Metrics), "", "address where Prometheus asks how this client is, at /metrics (default none)")
	f.String(string(config.MetricsIn), "", "file.prom for node_exporter's textfile collector (default none)")
	f.String(string(config.Deletes), "restore", "what deleting a file by hand means: restore or propagate")
	a.completeWords(cmd, string(config.Deletes), "restore", "propagate")
	return cmd
}

func (a *app) pullCommand() *cobra.Command {
	var dryRun, once bool
	cmd := &cobra.Command{
		Use:     "pull [DIR]",
		Short:   "Take over what the team has, once",
		GroupID: groupSync,
		Long: `Pull brings the directory up to date and sends nothing. In CI and containers it needs
TEAMMEM_SERVER and TEAMMEM_TOKEN, --dir and --repo, and no home directory.

` + exitHelp,
		Example: `  client pull
  client pull --once --dir .memory --repo acme/widgets`,
		Args: oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.passing = true
			return a.oneRound(cmd.Context(), args, func(cfg *client.Config) { cfg.NoPush, cfg.DryRun = true, dryRun })
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change, and change nothing")
	cmd.Flags().BoolVar(&once, "once", false, "one round, as pull always does; for scripts that say so")
	return cmd
}

func (a *app) pushCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:     "push [DIR]",
		Short:   "Send what is new here, once",
		GroupID: groupSync,
		Long: `Push sends what was edited here and changes no file. What a team-mate edited as
well is left for pull or sync.

` + exitHelp,
		Example: `  client push
  client push --dry-run`,
		Args: oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.oneRound(cmd.Context(), args, func(cfg *client.Config) { cfg.NoPull, cfg.DryRun = true, dryRun })
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be sent, and send nothing")
	return cmd
}

// open opens the session of a target, once it may be: a directory that another
// project has is refused, and a second clone of a known repo asks.
func (a *app) open(ctx context.Context, args []string, change func(*client.Config), tell func(syncer.Event)) (*target, *client.Session, error) {
	t, err := a.target(args)
	if err != nil {
		return nil, nil, err
	}
	t.passing = a.passing
	cfg, err := t.clientConfig()
	if err != nil {
		return t, nil, err
	}
	change(&cfg)
	registry := project.NewRegistry(t.paths.Projects())
	if err := a.mayJoin(t, registry); err != nil {
		return t, nil, err
	}
	cfg.Progress = a.newProgress().step
	session, err := client.Open(ctx, a.logger(), cfg, guard.ScanRules, time.Now, tell)
	if err != nil {
		return t, nil, err
	}
	if !cfg.DryRun && t.passingState == "" {
		if err := registry.Enrol(t.enrolment()); err != nil {
			return t, nil, errors.Join(err, session.Close())
		}
	}
	return t, session, nil
}

// scanner reads its rules when the first file is to be scanned: that takes longer
// than asking a server at hand, and a round in which nothing has changed needs none.
type scanner struct {
	rules func() (*scan.Scanner, error)
}

func newScanner() scanner {
	return scanner{sync.OnceValues(func() (*scan.Scanner, error) { return scan.New(scan.Options{}) })}
}

// Scan finds what must not leave, see [scan.Scanner.Scan].
func (s scanner) Scan(key api.Key, content []byte) ([]scan.Finding, error) {
	rules, err := s.rules()
	if err != nil {
		return nil, err
	}
	return rules.Scan(key, content)
}

// mayJoin checks that the directory is this project's, and asks before a second
// clone of a repo begins to share its memory. A repo named by hand is the answer.
func (a *app) mayJoin(t *target, registry *project.Registry) error {
	enrolment := t.enrolment()
	if err := registry.Check(enrolment); err != nil {
		return err
	}
	if _, known, err := registry.ByDir(enrolment.TeamDir); err != nil || known || t.named {
		return err
	}
	others, err := registry.Others(t.origin, t.repo, enrolment.TeamDir)
	if err != nil || len(others) == 0 {
		return err
	}
	question := fmt.Sprintf("%s is synced for another checkout on this machine, %s. Share its memory with this one too?", t.repo, others[0].Root)
	if a.term.Ask(question, false) {
		return nil
	}
	return &usageError{
		err:  fmt.Errorf("%s is synced for another checkout on this machine: %s", t.repo, others[0].TeamDir),
		hint: fmt.Sprintf("to let this checkout join: client sync --repo %s", t.repo),
	}
}

// dropState removes the state of a command that passes through, unless it is the last
// home of a text that somebody wrote.
func (a *app) dropState(t *target, store *state.Store) {
	if t == nil || t.passingState == "" {
		return
	}
	if store != nil {
		kept, err := store.Kept()
		trashed, trashErr := store.Trashes()
		if err != nil || trashErr != nil || len(kept)+len(trashed) > 0 {
			a.term.Warn("what is kept lies in "+t.passingState, "TEAMMEM_STATE_DIR="+t.passingState+" client conflicts")
			return
		}
	}
	_ = os.RemoveAll(t.passingState)
}

// logger is for what an operator can act on; a person is told by events.
func (a *app) logger() *slog.Logger {
	if a.quiet || a.json {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	var to io.Writer = a.stderr
	if a.journal != nil {
		to = a.journal
	}
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// stay syncs until it is told to stop.
func (a *app) stay(ctx context.Context, args []string, change func(*client.Config)) (err error) {
	t, session, err := a.open(ctx, args, change, a.tell)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	a.greet(t, session)
	if address := t.settings.Text(config.Metrics); address != "" {
		serving, stop := context.WithCancel(ctx)
		url, ended, err := t.metrics.Listen(serving, address)
		if err != nil {
			stop()
			return err
		}
		defer func() { stop(); <-ended }()
		a.term.Note("metrics for Prometheus at " + url)
	}
	return session.Run(ctx)
}

// greet says what is synced with what, once, before the first event.
func (a *app) greet(t *target, session *client.Session) {
	if session.Made() {
		a.tell(syncer.Event{Kind: syncer.EventWatching, Text: "made " + t.dir})
	}
	a.term.Opening(tui.OpeningView{
		Repo: t.repo, Server: t.server, User: session.Who().User, Dir: t.dir, Entries: len(session.Agreed().Entries),
	})
}
