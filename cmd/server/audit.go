package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

func (p *program) auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Verify and export the audit trail",
		Args:  noArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(p.auditVerifyCommand(), p.auditExportCommand())
	return cmd
}

// verifyResult is what verify found in one organization.
type verifyResult struct {
	Organization string `json:"organization"`
	Records      int    `json:"records"` // checked
	Intact       bool   `json:"intact"`
	Chain        string `json:"chain,omitempty"`  // the first broken one
	Record       int64  `json:"record,omitempty"` // its first broken record
	Why          string `json:"why,omitempty"`
}

func (p *program) auditVerifyCommand() *cobra.Command {
	var org string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every link of the audit chains, and name the first that is broken",
		Long: `Check every link of the audit chains: each record against its hash and the record
before it, each chain's end against its head, and the repos' chains against the
checkpoints in the organization's.

Exit status: 0 intact, 1 broken or failed, 2 usage.`,
		Example: "  server audit verify\n  server audit verify --org acme --json",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.auditVerify(cmd.Context(), org) },
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default all)")
	return p.jsonFlag(cmd)
}

func (p *program) auditVerify(ctx context.Context, orgName string) error {
	return p.withStore(ctx, func(s store.Store) error {
		all, err := s.Organizations(ctx)
		if err != nil {
			return fmt.Errorf("list the organizations: %w", err)
		}
		results := []verifyResult{}
		var first error
		for _, org := range all {
			if orgName != "" && org.Name != orgName {
				continue
			}
			n, err := p.rules(s).Verify(ctx, org.ID)
			result := verifyResult{Organization: org.Name, Records: n, Intact: err == nil}
			var broken *organization.BrokenError
			switch {
			case errors.As(err, &broken):
				result.Chain, result.Record, result.Why = broken.Chain, broken.Seq, broken.Why
				first = errors.Join(first, fmt.Errorf("%s: %w", org.Name, err))
			case err != nil:
				return fmt.Errorf("verify %s: %w", org.Name, err)
			}
			results = append(results, result)
			if !p.json && result.Intact {
				fmt.Fprintf(p.out, "%s: %s, intact\n", org.Name, counted(int(n), "record"))
			}
		}
		if len(results) == 0 {
			return server.WithHint(fmt.Errorf("there is no organization %s", orgName), "server org list shows those there are")
		}
		if p.json {
			if err := p.printJSON(results); err != nil {
				return err
			}
		}
		if first != nil {
			return server.WithHint(first, "somebody has changed the database beside the server; compare with an export or a backup")
		}
		return nil
	})
}

func (p *program) auditExportCommand() *cobra.Command {
	var org, repo string
	cmd := &cobra.Command{
		Use:     "export",
		Short:   "Print the audit trail as JSON Lines, oldest first",
		Example: "  server audit export > audit.jsonl\n  server audit export --org acme --repo acme/widgets",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.auditExport(cmd.Context(), org, repo) },
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default the only one)")
	cmd.Flags().StringVar(&repo, "repo", "", "only the chain of this repo")
	return cmd
}

func (p *program) auditExport(ctx context.Context, orgName, repo string) error {
	return p.withOrganization(ctx, orgName, func(s store.Store, org store.Organization) error {
		rules := p.rules(s)
		if err := rules.Record(ctx, organization.Operator(org.ID), audit.ActionExport, audit.Deed{Repo: repo}); err != nil {
			return fmt.Errorf("record the export: %w", err)
		}
		chains, err := rules.Chains(ctx, org.ID)
		if err != nil {
			return fmt.Errorf("list the chains: %w", err)
		}
		lines := json.NewEncoder(p.out)
		lines.SetEscapeHTML(false)
		for _, chain := range chains {
			if repo != "" && chain.Name() != repo {
				continue
			}
			err := rules.Walk(ctx, org.ID, chain, func(r audit.Record) error {
				return lines.Encode(api.AuditRecord{
					Chain: chain.Name(), Seq: r.Seq, At: api.NewTime(r.At), Action: r.Action, User: r.User, Token: r.TokenUID, Client: r.Client,
					Subject: json.RawMessage(r.Subject), Previous: hex.EncodeToString(r.Previous[:]), Hash: hex.EncodeToString(r.Hash[:]),
				})
			})
			if err != nil {
				return fmt.Errorf("read the chain of %s: %w", chain.Name(), err)
			}
		}
		return nil
	})
}
