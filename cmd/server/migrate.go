package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/server"
)

func (p *program) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "See and change the version of the database's schema",
		Long:  "See and change the version of the database's schema. A server that starts brings it up by itself.",
		Args:  noArgs,
		RunE:  needsCommand,
	}
	step := func(use, short string, run func(context.Context) error) *cobra.Command {
		return p.jsonFlag(&cobra.Command{
			Use:     use,
			Short:   short,
			Example: "  server migrate " + use + "\n  server migrate " + use + " --database postgres://teammem@db/teammem",
			Args:    noArgs,
			RunE:    func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) },
		})
	}
	cmd.AddCommand(
		step("status", "Show the schema's version", p.migrationStatus),
		step("up", "Bring the schema up to what this server needs", p.migrateUp),
		step("down", "Take the schema one version back; with it goes what only the newer one holds", p.migrateDown),
		p.migrateForceCommand(),
	)
	return cmd
}

func (p *program) migrateForceCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use:     "force VERSION",
		Short:   "Say which version stands, after a migration that was broken off",
		Long:    "Record that the schema stands at VERSION, and change nothing else. Look at the database first.",
		Example: "  server migrate force 1\n  server migrate force 1 --database postgres://teammem@db/teammem",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want the version that stands, and nothing else")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := strconv.ParseUint(args[0], 10, 31)
			if err != nil {
				return usagef("%q is not a version", args[0])
			}
			return p.migrateForce(cmd.Context(), uint(version))
		},
	})
}

// migrationResult is the schema's state as --json shows it.
type migrationResult struct {
	Current uint `json:"current"`
	Newest  uint `json:"newest"`
	Dirty   bool `json:"dirty"`
}

func (p *program) migrationStatus(ctx context.Context) error {
	m, err := server.MigrationStatus(ctx, p.settings.server().DatabaseURL())
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(migrationResult{m.Current, m.Newest, m.Dirty})
	}
	dirty := ""
	if m.Dirty {
		dirty = ", dirty: a migration was broken off"
	}
	_, err = fmt.Fprintf(p.out, "version %s of %s%s\n", strconv.FormatUint(uint64(m.Current), 10), strconv.FormatUint(uint64(m.Newest), 10), dirty)
	return err
}

func (p *program) migrateUp(ctx context.Context) error {
	if err := server.Migrate(ctx, p.quietLogger(), p.settings.server().DatabaseURL()); err != nil {
		return err
	}
	return p.migrationStatus(ctx)
}

func (p *program) migrateDown(ctx context.Context) error {
	if err := server.MigrateDown(ctx, p.quietLogger(), p.settings.server().DatabaseURL()); err != nil {
		return err
	}
	return p.migrationStatus(ctx)
}

func (p *program) migrateForce(ctx context.Context, version uint) error {
	if err := server.MigrateForce(ctx, p.quietLogger(), p.settings.server().DatabaseURL(), version); err != nil {
		return err
	}
	return p.migrationStatus(ctx)
}
