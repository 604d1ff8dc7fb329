package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/backup"
)

func (p *program) orgExportCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use:   "export NAME FILE",
		Short: "Keep one organization in a file, to bring it to another server",
		Long: `Keep one organization in a new file, as of one instant: its repos with their whole
history, proposals, people, rights, policy and audit chains, for SQLite and Postgres
alike. A server may be at work. Tokens, sessions and what clients say of themselves stay.
The file is read back and checked before it has its name.`,
		Example: `  server org export acme acme.teammem
  server org export acme acme.teammem --database postgres://teammem@db/teammem --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%s wants the organization's name and a file", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			sum, err := server.ExportOrg(cmd.Context(), p.quietLogger(), p.settings.server().DatabaseURL(), args[0], args[1], p.now(), p.rows("kept"))
			if err != nil {
				return err
			}
			return p.printOrgCopy("kept "+args[0]+" in "+args[1], sum, nil)
		},
	})
}

func (p *program) orgImportCommand() *cobra.Command {
	var as string
	var dryRun bool
	cmd := p.jsonFlag(&cobra.Command{
		Use:   "import FILE",
		Short: "Add an organization that was kept in a file to this database",
		Long: `Add an organization to a database that may hold others and be served from, whole or not
at all. Afterwards every content is held against its checksum where it lies, and the
audit chains are verified. What is withdrawn stays so, and what the list that --redactions
names withdraws goes. Its people sign in as before; tokens are made anew. On SQLite
whoever writes waits while it is added.`,
		Example: `  server org import acme.teammem --dry-run
  server org import acme.teammem --data /srv/teammem
  server org import acme.teammem --as acme-copy`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if as != "" {
				if err := auth.CheckName("organization's name", as); err != nil {
					return &usageError{err}
				}
			}
			if dryRun {
				sum, err := server.VerifyOrg(args[0])
				if err != nil {
					return err
				}
				return p.printOrgCopy(fmt.Sprintf("%s is whole: %s", args[0], sum.Organization.Name), sum, nil)
			}
			return p.orgImport(cmd.Context(), args[0], as)
		},
	})
	cmd.Flags().StringVar(&as, "as", "", "another name for it here")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "read the file to its end, check it, and change nothing")
	return cmd
}

func (p *program) orgImport(ctx context.Context, file, as string) error {
	is, err := server.ImportOrg(ctx, p.quietLogger(), p.settings.server(), file, as, p.now(), p.rows("added"))
	if err != nil {
		return err
	}
	return p.printOrgCopy("imported "+is.Name, is.Summary, &is)
}

// orgCopyResult is an organization's file as --json shows it.
type orgCopyResult struct {
	backupResult
	Organization string `json:"organization"` // its name; of an import: here
	ID           string `json:"id"`
	Records      int    `json:"records,omitempty"` // of its chains, verified by an import
}

func (p *program) printOrgCopy(what string, sum backup.Summary, is *server.ImportedOrg) error {
	result := orgCopyResult{
		backupResult: backupResult{sum.At, sum.Schema, sum.Database, sum.Server, sum.Rows, sum.Bodies, sum.Bytes},
		Organization: sum.Organization.Name, ID: sum.Organization.ID,
	}
	verified := ""
	if is != nil {
		result.Organization, result.ID, result.Records = is.Name, is.UID, is.Records
		verified = fmt.Sprintf(", and %s of its chains intact", counted(is.Records, "record"))
	}
	if p.json {
		return p.printJSON(result)
	}
	if p.terminal {
		fmt.Fprint(p.err, "\r")
	}
	_, err := fmt.Fprintf(p.out, "%s: %d repos, %d versions, %d members, %d contents of %d bytes, each as its checksum says%s\n",
		what, sum.Rows["repos"], sum.Rows["versions"], sum.Rows["memberships"], sum.Bodies, sum.Bytes, verified)
	return err
}
