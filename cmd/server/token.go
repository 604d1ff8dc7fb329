package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

func (p *program) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens of an organization",
		Args:  noArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(p.tokenCreateCommand(), p.tokenListCommand(), p.tokenRevokeCommand())
	return cmd
}

// needsCommand answers a command that only has subcommands.
func needsCommand(cmd *cobra.Command, _ []string) error {
	return usagef("%s needs a command", cmd.CommandPath())
}

// tokenResult is a token as --json shows it.
type tokenResult struct {
	ID           string    `json:"id"`
	Organization string    `json:"organization"`
	User         string    `json:"user"`
	Role         api.Role  `json:"role"`
	Label        string    `json:"label"`
	Scope        string    `json:"scope"` // read, write, all
	Repos        []string  `json:"repos"` // patterns; empty: all
	Prefix       string    `json:"prefix"`
	Created      *api.Time `json:"created"`
	Expires      *api.Time `json:"expires"`  // null: never
	Revoked      *api.Time `json:"revoked"`  // null: not
	LastUsed     *api.Time `json:"lastUsed"` // null: never
	Token        string    `json:"token,omitempty"`
}

func resultOf(org string, t store.Token) tokenResult {
	scope, repos := string(t.Scope), t.Repos.List()
	if scope == "" {
		scope = "all"
	}
	if repos == nil {
		repos = []string{}
	}
	return tokenResult{
		Label:        t.Label,
		Scope:        scope,
		Repos:        repos,
		ID:           t.UID,
		Organization: org,
		User:         t.UserName,
		Role:         t.Role,
		Prefix:       t.Prefix,
		Created:      wireTime(t.Created),
		Expires:      wireTime(t.Expires),
		Revoked:      wireTime(t.Revoked),
		LastUsed:     wireTime(t.LastUsed),
	}
}

func (p *program) tokenCreateCommand() *cobra.Command {
	var ask tokenFlags
	cmd := &cobra.Command{
		Use:   "create --user NAME",
		Short: "Make a token and print it, alone, on standard output; it is shown once",
		Example: `  server token create --user dana
  server token create --org acme --user ci --role viewer --scope read --repos 'acme/*' --expires never`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask.raise = cmd.Flags().Changed("role")
			return p.tokenCreate(cmd.Context(), ask)
		},
	}
	cmd.Flags().StringVar(&ask.org, "org", "", "organization (default the only one)")
	cmd.Flags().StringVar(&ask.user, "user", "", "whom the token speaks for; made a member where they are none")
	cmd.Flags().StringVar(&ask.role, "role", string(api.Member), "viewer, member, maintainer or admin; a user of a lower role is raised to it")
	cmd.Flags().StringVar(&ask.expires, "expires", "90d", "90d, 12h, never, or a time such as 2027-03-01T00:00:00Z")
	cmd.Flags().StringVar(&ask.scope, "scope", "all", "read, write, or all that the role holds")
	completeWords(cmd, "role", roleNames()...)
	completeWords(cmd, "scope", "read", "write", "all")
	cmd.Flags().StringSliceVar(&ask.repos, "repos", nil, "patterns of the repos it is for (default all)")
	cmd.Flags().StringVar(&ask.label, "label", "", "what it is for")
	cmd.Flags().BoolVar(&ask.service, "service", false, "a new user is a machine, not a person")
	return p.jsonFlag(cmd)
}

// tokenFlags are what token create is told.
type tokenFlags struct {
	org, user, role, expires, scope, label string
	repos                                  []string
	service, raise                         bool
}

func (p *program) tokenCreate(ctx context.Context, f tokenFlags) error {
	if err := auth.CheckName("user's name, --user", f.user); err != nil {
		return &usageError{err}
	}
	role, err := api.ParseRole(f.role)
	if err != nil {
		return usagef("--role: %w", err)
	}
	scope, err := api.ParseScope(f.scope)
	if err != nil {
		return usagef("--scope: %w", err)
	}
	until, err := parseExpiry(f.expires, p.now())
	if err != nil {
		return &usageError{err}
	}
	user := f.user
	return p.withOrganization(ctx, f.org, func(s store.Store, org store.Organization) error {
		secret, created, err := p.rules(s).CreateToken(ctx, organization.Operator(org.ID), organization.TokenAsk{
			User: f.user, Role: role, Label: f.label, Scope: scope, Repos: f.repos, Expires: until, Join: true, Raise: f.raise, Service: f.service,
		})
		if err != nil {
			return fmt.Errorf("create the token: %w", err)
		}
		if p.json {
			result := resultOf(org.Name, created)
			result.Token = secret
			return p.printJSON(result)
		}
		fmt.Fprintf(p.err, "token %s of %s, %s in %s, expires %s\n", created.UID, user, role, org.Name, day(until, "never"))
		_, err = fmt.Fprintln(p.out, secret)
		return err
	})
}

// parseExpiry reads "never", a number of days or any Go duration from now, or an
// RFC 3339 time. The zero time means never.
func parseExpiry(s string, now time.Time) (time.Time, error) {
	bad := fmt.Errorf("--expires %q: want 90d, 12h, never, or a time such as 2027-03-01T00:00:00Z", s)
	if s == "never" {
		return time.Time{}, nil
	}
	until, err := time.Parse(time.RFC3339, s)
	if err != nil {
		lasts, err := parseLasting(s)
		if err != nil {
			return time.Time{}, bad
		}
		until = now.Add(lasts)
	}
	if !until.After(now) {
		return time.Time{}, fmt.Errorf("--expires %q is in the past", s)
	}
	return until, nil
}

func parseLasting(s string) (time.Duration, error) {
	days, ok := strings.CutSuffix(s, "d")
	if !ok {
		return time.ParseDuration(s)
	}
	const most = 100 * 365 // a hundred years; more would overflow
	n, err := strconv.Atoi(days)
	if err != nil || n > most {
		return 0, errors.New("not a number of days")
	}
	return time.Duration(n) * 24 * time.Hour, nil
}

func (p *program) tokenListCommand() *cobra.Command {
	var org string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List an organization's tokens, newest first, expired and revoked ones included",
		Example: `  server token list
  server token list --org acme --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.tokenList(cmd.Context(), org) },
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default the only one)")
	return p.jsonFlag(cmd)
}

func (p *program) tokenList(ctx context.Context, orgName string) error {
	return p.withOrganization(ctx, orgName, func(s store.Store, org store.Organization) error {
		tokens, err := s.Tokens(ctx, org.ID)
		if err != nil {
			return fmt.Errorf("list the tokens: %w", err)
		}
		results := make([]tokenResult, len(tokens))
		rows := [][]string{{"ID", "USER", "ROLE", "TOKEN", "CREATED", "EXPIRES", "REVOKED", "LAST USED", "SCOPE", "REPOS", "LABEL"}}
		for i, t := range tokens {
			results[i] = resultOf(org.Name, t)
			rows = append(rows, []string{
				t.UID, t.UserName, string(t.Role), t.Prefix + "…",
				day(t.Created, ""), day(t.Expires, "never"), day(t.Revoked, "-"), day(t.LastUsed, "never"),
				cmp.Or(string(t.Scope), "all"), cmp.Or(strings.Join(t.Repos.List(), " "), "all"), t.Label,
			})
		}
		if p.json {
			return p.printJSON(results)
		}
		return p.printTable(rows)
	})
}

func (p *program) tokenRevokeCommand() *cobra.Command {
	var org string
	cmd := &cobra.Command{
		Use:   "revoke ID…",
		Short: "Revoke tokens by the id that list shows; in force within a second",
		Example: `  server token revoke tok_7q2mzk4h5x6a2b3c
  server token revoke --org acme tok_7q2mzk4h5x6a2b3c`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("which token? name it by the id that token list shows")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, ids []string) error { return p.tokenRevoke(cmd.Context(), org, ids) },
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default the only one)")
	return p.jsonFlag(cmd)
}

func (p *program) tokenRevoke(ctx context.Context, orgName string, ids []string) error {
	return p.withOrganization(ctx, orgName, func(s store.Store, org store.Organization) error {
		for _, id := range ids {
			err := p.rules(s).RevokeToken(ctx, organization.Operator(org.ID), id, "")
			if errors.Is(err, store.ErrNotFound) {
				return server.WithHint(fmt.Errorf("organization %s has no token %s", org.Name, id), "server token list shows the ids")
			}
			if err != nil {
				return fmt.Errorf("revoke %s: %w", id, err)
			}
			if !p.json {
				fmt.Fprintf(p.err, "revoked %s\n", id)
			}
		}
		if p.json {
			return p.printJSON(map[string][]string{"revoked": ids})
		}
		return nil
	})
}
