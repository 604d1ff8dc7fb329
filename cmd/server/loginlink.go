package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/signon"
	"github.com/teammem/teammem/server/store"
)

func (p *program) loginLinkCommand() *cobra.Command {
	var org, user string
	cmd := &cobra.Command{
		Use:   "login-link",
		Short: "Make a link that signs somebody in once, in a browser",
		Long: `Make a link that signs a member in, in a browser, without an identity provider.
It works once, for a quarter of an hour, also beside a running server. Opening it
shows a page with a button, and the button uses it up: a program that looks ahead at
addresses, as mail and chat do, leaves it whole.

Exit status: 0 done, 1 failed, 2 usage.`,
		Example: `  server login-link --user dana
  server login-link --org acme --user dana --public-url https://memory.acme.example`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if user == "" {
				return usagef("whose link? give --user NAME")
			}
			return p.loginLink(cmd.Context(), org, user)
		},
	}
	cmd.Flags().StringVar(&org, "org", "", "organization, where there are several")
	cmd.Flags().StringVar(&user, "user", "", "the member")
	cmd.Flags().StringVar(&p.settings.oidc.publicURL, "public-url", "", "where people reach the server (default where it listens)")
	cmd.Flags().StringVar(&p.settings.listen, "listen", server.DefaultConfig("").Listen, "address that the server listens on")
	cmd.Flags().StringVar(&p.settings.tlsCert, "tls-cert", "", "certificate that the server shows")
	return p.jsonFlag(cmd)
}

// public is where a link leads: the address that people know, else the server's own.
func (p *program) public() (string, error) {
	if public := p.settings.oidc.publicURL; public != "" {
		return public, nil
	}
	return p.settings.here("give where people reach it: --public-url http://127.0.0.1:PORT")
}

func (p *program) loginLink(ctx context.Context, org, user string) error {
	public, err := p.public()
	if err != nil {
		return err
	}
	base, err := url.Parse(public)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return usagef("--public-url %q: want https://host", public)
	}
	return p.withOrganization(ctx, org, func(s store.Store, found store.Organization) error {
		members, err := s.Members(ctx, found.ID)
		if err != nil {
			return err
		}
		for _, m := range members {
			if m.Name != user || !m.Removed.IsZero() {
				continue
			}
			providers, err := provider.New(slog.New(slog.DiscardHandler), nil, nil, p.now)
			if err != nil {
				return err
			}
			desk := signon.New(slog.New(slog.DiscardHandler), s, providers, p.now, signon.DefaultConfig(), func() {})
			// It lets somebody in, so it is in the trail before it is out.
			if err := p.rules(s).Record(ctx, organization.Operator(found.ID), audit.ActionLink, audit.Deed{Of: user}); err != nil {
				return err
			}
			secret, err := desk.Link(ctx, m.User)
			if err != nil {
				return err
			}
			link := strings.TrimSuffix(public, "/") + "/sign-in/link?" + url.Values{"t": {secret}}.Encode()
			if p.json {
				return p.printJSON(map[string]string{"link": link, "user": user, "organization": found.Name})
			}
			fmt.Fprintln(p.out, link)
			return nil
		}
		return server.WithHint(fmt.Errorf("there is no member %s of %s", user, found.Name), "server member set makes one, and server token create as well")
	})
}
