package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/server"
)

// command is the whole tree of commands; without a subcommand it serves.
func (p *program) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Serve team memory",
		Long: `Serve team memory. Without flags: on loopback, with SQLite in the user's data
directory. The first start makes an organization "local" and an admin's token.

Every flag may also come from the environment (TEAMMEM_LISTEN, TEAMMEM_DATABASE,
…), from a file that the environment names (TEAMMEM_DATABASE_FILE, …), or from the
file that --config names. server config check shows what holds, and why.

Exit status: 0 done, 1 failed, 2 usage.`,
		Example: `  server
  server --listen 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --database postgres://teammem@db/teammem`,
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if parent := cmd.Parent(); parent != nil && parent.Name() == "completion" {
				return nil // a script for the shell, made also where there is no home
			}
			return p.settings.load(cmd, p.getenv)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context()) },
	}
	p.settings.databaseFlags(cmd.PersistentFlags())
	p.settings.serveFlags(cmd.Flags())
	cmd.SetOut(p.out)
	cmd.SetErr(p.err)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	cmd.AddCommand(p.tokenCommand(), p.loginLinkCommand(), p.inviteCommand(), p.orgCommand(), p.memberCommand(), p.auditCommand(), p.policyCommand(), p.scanCommand(), p.redactCommand(),
		p.migrateCommand(), p.backupCommand(), p.restoreCommand(), p.moveCommand(), p.vacuumCommand(), p.configCommand(), p.healthCommand(), p.versionCommand())
	return cmd
}

// noArgs refuses arguments, and with them subcommands that do not exist.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument, and has no command, %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// garbage is how much of it, in hundredths of what lives, a server that serves lets
// come together before it collects. What lives is small, and a push makes ten times its
// size of garbage: at 100 collecting is a fifth of the processor time of a push. Who has
// to bound the memory sets GOMEMLIMIT, or GOGC.
const garbage = 200

// serve runs the server until ctx ends.
func (p *program) serve(ctx context.Context) error {
	lines := newLogBuffer(p.err)
	log, err := p.logger(lines)
	if err != nil {
		return err
	}
	if p.getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	cfg := p.settings.server()
	if err := p.settings.oidc.apply(&cfg); err != nil {
		return errors.Join(err, lines.Close())
	}
	if cfg.HTTP.TrustedProxies, err = p.settings.trustedProxies(); err != nil {
		return errors.Join(err, lines.Close())
	}
	s, err := server.New(ctx, log, cfg, p.now)
	if err != nil {
		return errors.Join(err, lines.Close())
	}
	// What was logged so far stands above.
	if err := lines.Flush(); err != nil {
		return errors.Join(err, s.Close())
	}
	p.announce(s)
	return errors.Join(s.Run(ctx), s.Close(), lines.Close())
}

// announce says where the server answers, and on a database's first start where
// the admin's token is. The token itself is shown to a person only, never to a
// log.
func (p *program) announce(s *server.Server) {
	if first := s.FirstStart(); first != nil {
		fmt.Fprintf(p.err, "first start: organization %q, admin's token in %s\n", server.FirstOrganization, first.File)
		if p.terminal {
			fmt.Fprintf(p.err, "admin's token: %s\n", first.Secret)
		}
	}
	fmt.Fprintf(p.err, "teammem server listening on %s\n", s.URL())
	if url := s.MetricsURL(); url != "" {
		fmt.Fprintf(p.err, "metrics for Prometheus at %s\n", url)
	}
}

func (p *program) logger(out io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(p.settings.logLevel)); err != nil {
		return nil, usagef("--log-level %q: want debug, info, warn or error", p.settings.logLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	switch p.settings.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(out, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}
	return nil, usagef("--log-format %q: want text or json", p.settings.logFormat)
}

// quietLogger is for the commands beside serving: what goes wrong there is
// returned, and only warnings are news.
func (p *program) quietLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
