package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/backup"
)

func (p *program) backupCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use:   "backup FILE",
		Short: "Keep the database in a file, also while a server runs",
		Long: `Keep the database in a new file, as of one instant. A server may be at work on it. The
file is the same for SQLite and Postgres, and is read back and checked, every content
against its checksum, before it has its name. It holds what people wrote and hashes of
tokens: keep it as you keep the database.`,
		Example: `  server backup /var/backups/teammem.backup
  server backup nightly.backup --database postgres://teammem@db/teammem --json`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			sum, err := server.Backup(cmd.Context(), p.quietLogger(), p.settings.server().DatabaseURL(), args[0], p.now(), p.rows("kept"))
			if err != nil {
				return err
			}
			return p.printBackup("kept in "+args[0], sum)
		},
	})
}

func (p *program) restoreCommand() *cobra.Command {
	var dryRun bool
	cmd := p.jsonFlag(&cobra.Command{
		Use:   "restore FILE",
		Short: "Fill an empty database with a backup",
		Long: `Fill an empty database with a backup, whole or not at all: of SQLite or of Postgres,
whichever it was taken from. The database begins a new epoch: clients compare anew, and
bring back what they wrote after the backup. What an administrator withdrew stays
withdrawn, by the list that --redactions names.`,
		Example: `  server restore nightly.backup --dry-run
  server restore nightly.backup --data /srv/teammem
  server restore nightly.backup --database postgres://teammem@db/teammem`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dryRun {
				sum, err := server.VerifyBackup(args[0])
				if err != nil {
					return err
				}
				return p.printBackup(args[0]+" is whole", sum)
			}
			return p.restore(cmd.Context(), args[0])
		},
	})
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "read the backup to its end, check it, and change nothing")
	return cmd
}

func (p *program) restore(ctx context.Context, file string) error {
	sum, err := server.Restore(ctx, p.quietLogger(), p.settings.server().DatabaseURL(), file, p.rows("restored"))
	if err != nil {
		return err
	}
	return p.printBackup("restored from "+file, sum)
}

func (p *program) moveCommand() *cobra.Command {
	var to string
	cmd := p.jsonFlag(&cobra.Command{
		Use:   "move",
		Short: "Fill an empty database with what stands in another, as when SQLite is outgrown",
		Long: `Fill the empty database that --to names with what stands in the one that --database
names, and hold every content and every repo against its checksum. End the server
before: what is written to the old database meanwhile is not in the new one. The old
one stays as it is.`,
		Example: "  server move --to postgres://teammem@db/teammem",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return usagef("where to? name an empty database with --to")
			}
			sum, err := server.Move(cmd.Context(), p.quietLogger(), p.settings.server().DatabaseURL(), to, p.now(), p.rows("moved"))
			if err != nil {
				return err
			}
			return p.printBackup("moved", sum)
		},
	})
	cmd.Flags().StringVar(&to, "to", "", "sqlite:///path or postgres://…, empty")
	return cmd
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s wants a file, and nothing else", cmd.CommandPath())
	}
	return nil
}

// rows shows a person how far it is.
func (p *program) rows(verb string) func(int64) {
	if !p.terminal || p.json {
		return nil
	}
	return func(n int64) { fmt.Fprintf(p.err, "\r%s %d rows", verb, n) }
}

// backupResult is what stands in a backup, as --json shows it.
type backupResult struct {
	At       api.Time         `json:"at"`
	Schema   uint             `json:"schema"`
	Database string           `json:"database"`
	Server   string           `json:"server"`
	Rows     map[string]int64 `json:"rows"`
	Contents int64            `json:"contents"`
	Bytes    int64            `json:"bytes"`
}

func (p *program) printBackup(what string, sum backup.Summary) error {
	if p.json {
		return p.printJSON(backupResult{sum.At, sum.Schema, sum.Database, sum.Server, sum.Rows, sum.Bodies, sum.Bytes})
	}
	if p.terminal {
		fmt.Fprint(p.err, "\r")
	}
	_, err := fmt.Fprintf(p.out, "%s: %d organizations, %d repos, %d versions, %d contents of %d bytes, each as its checksum says\n",
		what, sum.Rows["organizations"], sum.Rows["repos"], sum.Rows["versions"], sum.Bodies, sum.Bytes)
	return err
}
