package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/signon"
)

// oidcSettings are how people sign in other than with tokens.
type oidcSettings struct {
	publicURL string
	provider  provider.Config
	bearer    string
	file      string
	join      []string
	idle      time.Duration
	life      time.Duration
	recheck   time.Duration
}

// oidcNames are those of them that the environment and the file may give as well.
var oidcNames = []string{
	"public-url", "oidc-issuer", "oidc-client-id", "oidc-client-secret-file", "oidc-cli-client-id", "oidc-file", "join",
	"oidc-name", "oidc-audience", "oidc-scopes", "oidc-bearer", "oidc-name-claim", "oidc-email-claim", "oidc-groups-claim",
	"session-idle", "session-life", "session-recheck",
}

func (s *oidcSettings) flags(f *pflag.FlagSet) {
	usual := signon.DefaultConfig()
	f.StringVar(&s.publicURL, "public-url", "", "where people reach the server (default where it listens)")
	f.StringVar(&s.provider.Issuer, "oidc-issuer", "", "identity provider to sign in with, exactly as it spells itself")
	f.StringVar(&s.provider.ClientID, "oidc-client-id", "", "what the provider calls this server")
	f.StringVar(&s.provider.SecretFile, "oidc-client-secret-file", "", "file with the secret of that client")
	f.StringVar(&s.provider.CLIClientID, "oidc-cli-client-id", "", "the public client of client login (default the same)")
	f.StringVar(&s.file, "oidc-file", "", "file with several providers, see docs/sign-on.md")
	f.StringSliceVar(&s.join, "join", nil, "who becomes a member by signing in: domain:acme.example=ORG:member, group:eng=ORG")
	f.StringVar(&s.provider.Name, "oidc-name", "", "what people call the provider")
	f.StringSliceVar(&s.provider.Audiences, "oidc-audience", nil, "audience of bearer tokens (default the client ids)")
	f.StringSliceVar(&s.provider.Scopes, "oidc-scopes", nil, "scopes to ask for")
	f.StringVar(&s.bearer, "oidc-bearer", "access", "which token the API takes: access or id")
	f.StringVar(&s.provider.NameClaim, "oidc-name-claim", "", "claim with a person's name")
	f.StringVar(&s.provider.EmailClaim, "oidc-email-claim", "email", "claim with the address")
	f.StringVar(&s.provider.GroupsClaim, "oidc-groups-claim", "groups", "claim with the groups, or a path with dots")
	f.DurationVar(&s.idle, "session-idle", usual.Idle, "a browser is signed out when it was not used for so long")
	f.DurationVar(&s.life, "session-life", usual.Life, "a browser is signed out after it, used or not")
	f.DurationVar(&s.recheck, "session-recheck", usual.Recheck, "how old the provider's word may be on a page that is only read")
	for _, rare := range oidcNames[7:] {
		// The help is one screen; docs/sign-on.md has them all.
		_ = f.MarkHidden(rare)
	}
}

// apply puts them into a server's configuration.
func (s *oidcSettings) apply(cfg *server.Config) error {
	cfg.PublicURL = s.publicURL
	cfg.SignOn.Idle, cfg.SignOn.Life, cfg.SignOn.Recheck = s.idle, s.life, s.recheck
	if s.idle <= 0 || s.life <= 0 {
		return usagef("--session-idle and --session-life: want a time such as 12h")
	}
	if s.recheck < 0 {
		return usagef("--session-recheck: want a time such as 2s, or 0 for every page")
	}
	for _, text := range s.join {
		rule, err := signon.ParseRule(text)
		if err != nil {
			return usagef("--join %w", err)
		}
		cfg.SignOn.Join = append(cfg.SignOn.Join, rule)
	}
	if s.provider.Issuer != "" {
		one := s.provider
		one.Bearer = provider.Kind(s.bearer)
		cfg.Providers = append(cfg.Providers, one)
	}
	if s.file != "" {
		more, err := readProviders(s.file)
		if err != nil {
			return err
		}
		cfg.Providers = append(cfg.Providers, more...)
	}
	for i := range cfg.Providers {
		if err := cfg.Providers[i].Check(); err != nil {
			return &usageError{err}
		}
		if err := readSecret(&cfg.Providers[i]); err != nil {
			return err
		}
	}
	return nil
}

// readProviders reads a list of providers in JSON.
func readProviders(path string) ([]provider.Config, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the identity providers: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	var list []provider.Config
	if err := d.Decode(&list); err != nil {
		return nil, usagef("%s: want a list of providers in JSON: %w", path, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, usagef("%s: there is text behind the list", path)
	}
	return list, nil
}

func readSecret(p *provider.Config) error {
	if p.SecretFile == "" {
		return nil
	}
	content, err := os.ReadFile(p.SecretFile)
	if err != nil {
		return fmt.Errorf("read the client secret: %w", err)
	}
	if p.ClientSecret = strings.TrimSpace(string(content)); p.ClientSecret == "" {
		return usagef("%s: it holds no client secret", p.SecretFile)
	}
	return nil
}
