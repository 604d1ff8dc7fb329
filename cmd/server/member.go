package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

func (p *program) memberCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "member",
		Short: "List, set and remove the members of an organization",
		Args:  noArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(p.memberListCommand(), p.memberSetCommand(), p.memberRemoveCommand())
	return cmd
}

// rules make the changes of an organization. A server that runs beside finds them
// in the database.
func (p *program) rules(s store.Store) *organization.Rules { return organization.New(s, p.now, nil) }

// memberResult is a member as --json shows one.
type memberResult struct {
	Name         string    `json:"name"`
	Organization string    `json:"organization"`
	Role         api.Role  `json:"role"` // given by hand; "none" where only groups give one
	Groups       []string  `json:"groups"`
	Service      bool      `json:"service"`
	Created      *api.Time `json:"created"`
}

func (p *program) memberListCommand() *cobra.Command {
	var org string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List an organization's members",
		Example: "  server member list\n  server member list --org acme --json",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.memberList(cmd.Context(), org) },
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default the only one)")
	return p.jsonFlag(cmd)
}

func (p *program) memberList(ctx context.Context, orgName string) error {
	return p.withOrganization(ctx, orgName, func(s store.Store, org store.Organization) error {
		members, err := p.rules(s).Members(ctx, org.ID)
		if err != nil {
			return fmt.Errorf("list the members: %w", err)
		}
		results := make([]memberResult, len(members))
		rows := [][]string{{"NAME", "ROLE", "KIND", "CREATED"}}
		for i, m := range members {
			result := memberResultOf(m, org)
			kind := "person"
			if m.Service {
				kind = "service"
			}
			results[i] = result
			rows = append(rows, []string{m.Name, string(result.Role), kind, day(m.Created, "")})
		}
		if p.json {
			return p.printJSON(results)
		}
		return p.printTable(rows)
	})
}

func (p *program) memberSetCommand() *cobra.Command {
	var org, role string
	var service bool
	cmd := &cobra.Command{
		Use:   "set NAME --role ROLE",
		Short: "Make somebody a member, or give a member another role; in force within a second",
		Example: `  server member set dana --role maintainer
  server member set --org acme ci --role viewer --service`,
		Args: oneMember,
		RunE: func(cmd *cobra.Command, args []string) error {
			if role != string(api.NoRole) {
				if _, err := api.ParseRole(role); err != nil {
					return usagef("--role: %w", err)
				}
			}
			return p.withOrganization(cmd.Context(), org, func(s store.Store, o store.Organization) error {
				err := p.rules(s).SetMember(cmd.Context(), organization.Operator(o.ID), args[0], api.Role(role), service)
				if err != nil || !p.json {
					return p.memberDone(err, fmt.Sprintf("%s is %s in %s", args[0], role, o.Name))
				}
				return p.printMember(cmd.Context(), s, o, args[0])
			})
		},
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default the only one)")
	cmd.Flags().StringVar(&role, "role", "", "viewer, member, maintainer, admin, or none where groups give one")
	completeWords(cmd, "role", roleNames(api.NoRole)...)
	cmd.Flags().BoolVar(&service, "service", false, "a machine, not a person")
	return p.jsonFlag(cmd)
}

// printMember prints a member as --json shows one.
func (p *program) printMember(ctx context.Context, s store.Store, org store.Organization, name string) error {
	members, err := p.rules(s).Members(ctx, org.ID)
	if err != nil {
		return fmt.Errorf("list the members: %w", err)
	}
	for _, m := range members {
		if m.Name == name {
			return p.printJSON(memberResultOf(m, org))
		}
	}
	return fmt.Errorf("%s was taken out meanwhile", name)
}

func memberResultOf(m store.Member, org store.Organization) memberResult {
	result := memberResult{Name: m.Name, Organization: org.Name, Role: m.Role, Groups: m.Groups.List(), Service: m.Service, Created: wireTime(m.Created)}
	if result.Role == "" {
		result.Role = api.NoRole
	}
	if result.Groups == nil {
		result.Groups = []string{}
	}
	return result
}

func oneMember(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("want the member's name, and nothing else")
	}
	return nil
}

func (p *program) memberRemoveCommand() *cobra.Command {
	var org string
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Short:   "Take a member out; their tokens are void within a second",
		Example: "  server member remove dana\n  server member remove --org acme ci",
		Args:    oneMember,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withOrganization(cmd.Context(), org, func(s store.Store, o store.Organization) error {
				err := p.rules(s).RemoveMember(cmd.Context(), organization.Operator(o.ID), args[0])
				return p.memberDone(err, fmt.Sprintf("%s is no member of %s any more", args[0], o.Name))
			})
		},
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default the only one)")
	return cmd
}

func (p *program) memberDone(err error, done string) error {
	var refused *api.Error
	switch {
	case errors.As(err, &refused) && refused.Details.ErrorCode == api.ErrorCodeUnknown:
		return server.WithHint(err, "server member list shows those there are")
	case err != nil:
		return err
	}
	fmt.Fprintln(p.err, done)
	return nil
}
