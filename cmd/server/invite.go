package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

func (p *program) inviteCommand() *cobra.Command {
	var org, user, role string
	var revoke, list bool
	cmd := &cobra.Command{
		Use:   "invite [ADDRESS]",
		Short: "Let somebody join by their first sign-in",
		Long: `Let whoever signs in with this address, vouched for by the identity provider,
become a member. With the name of a member who is there already they become that
member, and keep tokens and history. An invitation holds for 30 days.

Exit status: 0 done, 1 failed, 2 usage.`,
		Example: `  server invite dana@acme.example --org acme --role member
  server invite --list --org acme`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list && len(args) == 0 {
				return p.invitations(cmd.Context(), org)
			}
			if len(args) != 1 || list {
				return usagef("want one address, or --list")
			}
			return p.invite(cmd.Context(), org, args[0], user, role, revoke)
		},
	}
	cmd.Flags().StringVar(&org, "org", "", "organization, where there are several")
	cmd.Flags().StringVar(&user, "user", "", "what the member is called (default as the provider says)")
	cmd.Flags().StringVar(&role, "role", string(api.Member), "viewer, member, maintainer, admin, or none for what groups give")
	completeWords(cmd, "role", roleNames(api.NoRole)...)
	cmd.Flags().BoolVar(&revoke, "revoke", false, "take the invitation back")
	cmd.Flags().BoolVar(&list, "list", false, "show those that wait")
	return p.jsonFlag(cmd)
}

func (p *program) invite(ctx context.Context, orgName, email, user, role string, revoke bool) error {
	email = strings.ToLower(strings.TrimSpace(email))
	return p.withOrganization(ctx, orgName, func(s store.Store, org store.Organization) error {
		by := organization.Operator(org.ID)
		if revoke {
			return p.invited(p.rules(s).Uninvite(ctx, by, email), fmt.Sprintf("%s is not invited to %s any more", email, org.Name))
		}
		return p.invited(p.rules(s).Invite(ctx, by, email, user, api.Role(role)), fmt.Sprintf("%s may join %s", email, org.Name))
	})
}

func (p *program) invited(err error, done string) error {
	refused, ours := api.AsError(err)
	switch {
	case ours && refused.Code == api.NotFound:
		return server.WithHint(err, "server invite --list shows those there are")
	case ours:
		return &usageError{err}
	case err != nil:
		return err
	case !p.json:
		fmt.Fprintln(p.err, done)
	}
	return nil
}

// inviteResult is an invitation as --json shows it.
type inviteResult struct {
	Email string    `json:"email"`
	User  string    `json:"user"`
	Role  api.Role  `json:"role"`
	Until *api.Time `json:"until"`
}

func (p *program) invitations(ctx context.Context, orgName string) error {
	return p.withOrganization(ctx, orgName, func(s store.Store, org store.Organization) error {
		all, err := s.Invitations(ctx, org.ID, "")
		if err != nil {
			return err
		}
		results := make([]inviteResult, 0, len(all))
		for _, i := range all {
			results = append(results, inviteResult{Email: i.Email, User: i.Name, Role: i.Role, Until: wireTime(i.Until)})
		}
		if p.json {
			return p.printJSON(results)
		}
		for _, r := range results {
			fmt.Fprintf(p.out, "%s\t%s\t%s\n", r.Email, r.Role, r.User)
		}
		return nil
	})
}
