package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

// vacuumResult is what went of one organization, or would.
type vacuumResult struct {
	Organization string `json:"organization"`
	DryRun       bool   `json:"dryRun"`
	Changes      int64  `json:"changes"`  // of entries, in the history
	Contents     int64  `json:"contents"` // that nothing refers to any more
	Bytes        int64  `json:"bytes"`    // of these, as stored
}

func (p *program) vacuumCommand() *cobra.Command {
	var org string
	var dryRun, rewrite bool
	cmd := &cobra.Command{
		Use:   "vacuum",
		Short: "Take away what organizations do not keep, and give its space back",
		Long: `Take away the earlier texts that an organization no longer keeps (server org set
--history-days, --history-keep, --trash-days), audit records that it no longer keeps, and
contents that nothing refers to; then give the space back. A server may be at work, and
does the first part once a day by itself. What stands, tombstones, and the newest change
of every entry stay.

A small database is rewritten unasked, which is a matter of seconds; --rewrite does so
whatever its size, and whoever writes waits.

Exit status: 0 done, 1 failed, 2 usage.`,
		Example: `  server vacuum --dry-run
  server vacuum --org acme --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.vacuum(cmd.Context(), org, dryRun, rewrite) },
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default all)")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would go, and change nothing")
	cmd.Flags().BoolVar(&rewrite, "rewrite", false, "write the database's file or tables anew, whatever their size")
	return p.jsonFlag(cmd)
}

func (p *program) vacuum(ctx context.Context, name string, dryRun, rewrite bool) error {
	return p.withStore(ctx, func(s store.Store) error {
		all, err := s.Organizations(ctx)
		if err != nil {
			return fmt.Errorf("list the organizations: %w", err)
		}
		results, freed := []vacuumResult{}, rewrite
		for _, org := range all {
			if name != "" && org.Name != name {
				continue
			}
			rules := p.rules(s)
			done, err := rules.Vacuum(ctx, organization.Operator(org.ID), org, dryRun)
			if err != nil {
				return fmt.Errorf("vacuum %s: %w", org.Name, err)
			}
			if !dryRun {
				if err := rules.Prune(ctx, org); err != nil {
					return fmt.Errorf("prune the audit of %s: %w", org.Name, err)
				}
			}
			freed = freed || done.Changes+done.Contents > 0
			results = append(results, vacuumResult{org.Name, dryRun, done.Changes, done.Contents, done.Bytes})
		}
		if len(results) == 0 {
			return server.WithHint(fmt.Errorf("there is no organization %s", name), "server org list shows those there are")
		}
		if freed && !dryRun {
			if _, err := s.Scrub(ctx, rewrite); err != nil {
				return fmt.Errorf("give space back: %w", err)
			}
		}
		return p.printVacuum(results)
	})
}

func (p *program) printVacuum(results []vacuumResult) error {
	if p.json {
		return p.printJSON(results)
	}
	for _, r := range results {
		verb := "gone"
		if r.DryRun {
			verb = "to go"
		}
		if _, err := fmt.Fprintf(p.out, "%s: %s: %s and %s of %d bytes\n", r.Organization, verb,
			counted(int(r.Changes), "earlier change"), counted(int(r.Contents), "content"), r.Bytes); err != nil {
			return err
		}
	}
	return nil
}
