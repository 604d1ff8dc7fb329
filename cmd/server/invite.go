package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/store"
)

// inviteLife is how long an invitation holds.
const inviteLife = 30 * 24 * time.Hour

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
	cmd.Flags().BoolVar(&revoke, "revoke", false, "take the invitation back")
	cmd.Flags().BoolVar(&list, "list", false, "show those that wait")
	return p.jsonFlag(cmd)
}

func (p *program) invite(ctx context.Context, orgName, email, user, role string, revoke bool) error {
	email = strings.ToLower(strings.TrimSpace(email))
	if name, domain, ok := strings.Cut(email, "@"); !ok || name == "" || domain == "" || auth.CheckName("address", email) != nil {
		return usagef("%q is no address", email)
	}
	if role == string(api.NoRole) {
		role = ""
	}
	if role != "" && !slices.Contains(api.Roles, api.Role(role)) {
		return usagef("there is no role %q: want viewer, member, maintainer, admin or none", role)
	}
	if user != "" && auth.CheckName("member's name", user) != nil {
		return usagef("%q is no name for a member", user)
	}
	return p.withOrganization(ctx, orgName, func(s store.Store, org store.Organization) error {
		if revoke {
			err := s.Uninvite(ctx, org.ID, email)
			if errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("%s is not invited to %s", email, org.Name)
			}
			return err
		}
		now := p.now()
		return s.Invite(ctx, store.Invitation{Org: org.ID, Email: email, Name: user, Role: api.Role(role), Created: now, Until: now.Add(inviteLife)})
	})
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
