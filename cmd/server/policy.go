package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/store"
)

func (p *program) policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Show and set what an organization does about secrets, hidden text and reviews",
		Args:  noArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(p.policyShowCommand(), p.policySetCommand())
	return cmd
}

func (p *program) policyShowCommand() *cobra.Command {
	var org string
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the policy in force",
		Long: `Show the policy in force: what is done about each class of finding, which values
are accepted, and which changes are reviewed. With --json it is what set reads.`,
		Example: `  server policy show
  server policy show --org acme --json > policy.json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.policyShow(cmd.Context(), org) },
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default the only one)")
	return p.jsonFlag(cmd)
}

func (p *program) policyShow(ctx context.Context, orgName string) error {
	return p.withOrganization(ctx, orgName, func(s store.Store, org store.Organization) error {
		policy, err := server.Policy(ctx, p.quietLogger(), s, org)
		if err != nil {
			return fmt.Errorf("read the policy: %w", err)
		}
		return p.printPolicy(policy)
	})
}

// printPolicy leaves the fingerprint key out: who has it can try values against
// fingerprints.
func (p *program) printPolicy(policy api.OrgPolicy) error {
	policy.FingerprintKey = ""
	if p.json {
		return p.printJSON(policy)
	}
	rows := [][]string{{"CLASS", "VERDICT"}}
	for _, class := range api.Classes {
		rows = append(rows, []string{string(class), string(policy.Verdicts[class])})
	}
	if err := p.printTable(rows); err != nil {
		return err
	}
	if len(policy.Review) > 0 {
		fmt.Fprintln(p.out)
		rows = [][]string{{"ROLE", "PROPOSES", "APPROVALS"}}
		for _, rule := range policy.Review {
			rows = append(rows, []string{string(rule.Role), string(rule.Pattern), strconv.Itoa(rule.Approvals)})
		}
		if err := p.printTable(rows); err != nil {
			return err
		}
	}
	if len(policy.Accepted) > 0 {
		fmt.Fprintln(p.out)
		rows = [][]string{{"ACCEPTED", "RULE", "BY", "REASON"}}
		for _, a := range policy.Accepted {
			rows = append(rows, []string{a.Fingerprint, a.Rule, a.User, a.Reason})
		}
		return p.printTable(rows)
	}
	return nil
}

func (p *program) policySetCommand() *cobra.Command {
	var org string
	cmd := &cobra.Command{
		Use:   "set FILE",
		Short: "Put the policy in a JSON file in force; it holds within a second",
		Long: `Put the policy in a JSON file in force, - for standard input. A running server takes
it up within a second. Classes that the file does not name have their defaults;
accepted values stay as they are when it has no "accepted". A file that names a
"version", as show --json writes it, is refused when the policy has changed since.`,
		Example: `  server policy set policy.json
  echo '{"verdicts":{"instruction":"hold"},"review":[{"role":"member","pattern":"MEMORY.md"}]}' | server policy set -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want the file that holds the policy, or -, and nothing else")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.policySet(cmd.Context(), org, args[0], cmd.InOrStdin())
		},
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default the only one)")
	return p.jsonFlag(cmd)
}

// mostPolicyBytes bounds what is read of a file: a policy has its own bounds.
const mostPolicyBytes = 8 << 20

func (p *program) policySet(ctx context.Context, orgName, file string, stdin io.Reader) error {
	document, err := readPolicyFile(file, stdin)
	if err != nil {
		return err
	}
	return p.withOrganization(ctx, orgName, func(s store.Store, org store.Organization) error {
		policy, err := server.SetPolicy(ctx, p.quietLogger(), s, org, document, p.now)
		switch api.CodeOf(err) {
		case "":
			return p.printPolicy(policy)
		case api.InvalidRequest:
			return server.WithHint(fmt.Errorf("%s is not a policy: %w", file, err), "server policy show --json shows one")
		case api.Conflict:
			return server.WithHint(fmt.Errorf("the policy of %s has changed since %s was written", org.Name, file), "run server policy show --json again and make the change there")
		}
		return fmt.Errorf("set the policy: %w", err)
	})
}

func readPolicyFile(file string, stdin io.Reader) ([]byte, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("read the policy: %w", err)
		}
		defer f.Close()
		stdin = f
	}
	document, err := io.ReadAll(io.LimitReader(stdin, mostPolicyBytes))
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	return document, nil
}
