package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/remote"
)

// loginAsk is how a person wants to sign in.
type loginAsk struct {
	fromStdin bool
	browser   bool   // by a browser on this machine
	provider  string // one of several
}

func (a *app) loginCommand() *cobra.Command {
	var ask loginAsk
	cmd := &cobra.Command{
		Use:     "login",
		Short:   "Sign in to a server",
		GroupID: groupLogin,
		Long: `Login signs you in with what the server signs in with: it shows an address and a
code to confirm there, on any machine. With a token of a file or a pipe it asks
nobody. What it gets is for this server alone, in the system's keyring or a file
that only you can read. The first server becomes the usual one.

` + exitHelp,
		Example: `  client login --server https://memory.acme.example
  pass show teammem | client login --server https://memory.acme.example --token-stdin`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.login(cmd.Context(), ask) },
	}
	cmd.Flags().BoolVar(&ask.fromStdin, "token-stdin", false, "read a token from standard input")
	cmd.Flags().BoolVar(&ask.browser, "browser", false, "sign in by a browser on this machine, without a code")
	cmd.Flags().StringVar(&ask.provider, "provider", "", "identity provider, where the server has several")
	return cmd
}

func (a *app) login(ctx context.Context, ask loginAsk) error {
	t, err := a.target(nil)
	if err != nil {
		return err
	}
	if err := t.needServer(); err != nil {
		return err
	}
	token, given, err := a.newToken(t, ask.fromStdin)
	if err != nil {
		return err
	}
	if !given {
		return a.signIn(ctx, t, ask)
	}
	server, err := t.remoteWith(token)
	if err != nil {
		return err
	}
	defer server.Close()
	who, err := server.WhoAmI(ctx)
	if err != nil {
		return err
	}
	return a.loggedIn(ctx, t, who, func() error { return t.paths.SaveToken(t.origin, token) })
}

// remoteWith speaks to the server with a token that is not saved yet.
func (t *target) remoteWith(token string) (*remote.Client, error) {
	opts := t.remoteOptions()
	opts.Token = func() string { return token }
	server, err := remote.New(opts)
	return server, asUsage(err)
}

// loggedIn saves what was got, and tells.
func (a *app) loggedIn(ctx context.Context, t *target, who api.WhoAmI, save func() error) error {
	unlock, err := t.paths.LockCredentials(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := save(); err != nil {
		return err
	}
	usual, err := t.paths.Remember(config.Server, t.server)
	if err != nil {
		return err
	}
	if ca := t.settings.Text(config.CA); ca != "" && usual {
		// Without it the server that was just logged in to could not be reached.
		if _, err := t.paths.Remember(config.CA, ca); err != nil {
			return err
		}
	}
	if a.json {
		a.term.Value(struct {
			Server string `json:"server"`
			Usual  bool   `json:"usual"`
			User   string `json:"user"`
			Role   string `json:"role"`
		}{t.server, usual, who.User, string(who.Role)})
		return nil
	}
	a.term.Print(fmt.Sprintf("logged in to %s as %s, %s of %s", t.server, who.User, who.Role, who.Organization))
	return nil
}

// newToken reads the token that is to be saved: from the file or the stream that
// the person names, not from where it would be found again anyway. given is false
// where they name none.
func (a *app) newToken(t *target, fromStdin bool) (token string, given bool, err error) {
	file := t.settings.Text(config.TokenFile)
	switch {
	case fromStdin && a.flags.Changed(string(config.TokenFile)):
		return "", true, usagef("--token-file and --token-stdin are both given")
	case fromStdin:
		token, err := config.ReadToken(a.stdin)
		if err != nil {
			return "", true, fmt.Errorf("standard input: %w", err)
		}
		return token, true, nil
	case file != "":
		token, _, err := config.TokenFromFile(file)
		return token, true, err
	}
	return "", false, nil
}

func (a *app) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "logout",
		Short:   "Sign out of a server",
		GroupID: groupLogin,
		Long: `Logout ends a sign-in, at the server and at the identity provider, and removes it
from this machine. A token that was saved is removed and stays valid: an admin
revokes it.

` + exitHelp,
		Example: `  client logout
  client logout --server https://memory.acme.example`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.logout(cmd.Context()) },
	}
}

func (a *app) logout(ctx context.Context) error {
	t, err := a.target(nil)
	if err != nil {
		return err
	}
	if err := t.needServer(); err != nil {
		return err
	}
	unlock, err := t.paths.LockCredentials(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	_, had, err := t.paths.Token(t.origin)
	if err != nil {
		return err
	}
	grant, signedIn, err := t.paths.Grant(t.origin)
	if err != nil {
		return err
	}
	revoked := true
	if signedIn {
		revoked = a.endGrant(ctx, t, grant)
	}
	if err := t.paths.RemoveToken(t.origin); err != nil {
		return err
	}
	switch {
	case a.json:
		a.term.Value(map[string]any{"server": t.server, "removed": had, "revoked": signedIn && revoked})
	case !had:
		a.term.Print("no token was saved for " + t.server)
	default:
		a.term.Print("logged out of " + t.server)
	}
	return nil
}
