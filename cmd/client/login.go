package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/remote"
)

func (a *app) loginCommand() *cobra.Command {
	var fromStdin bool
	cmd := &cobra.Command{
		Use:     "login",
		Short:   "Save a token for a server",
		GroupID: groupLogin,
		Long: `Login checks a token with the server and saves it, for this server alone, in a
file that only you can read. The first server becomes the usual one, with the --ca
that it needs.

` + exitHelp,
		Example: `  client login --server https://memory.acme.example --token-file token
  pass show teammem | client login --server https://memory.acme.example --token-stdin`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.login(cmd, fromStdin) },
	}
	cmd.Flags().BoolVar(&fromStdin, "token-stdin", false, "read the token from standard input")
	return cmd
}

func (a *app) login(cmd *cobra.Command, fromStdin bool) error {
	t, err := a.target(nil)
	if err != nil {
		return err
	}
	if err := t.needServer(); err != nil {
		return err
	}
	token, err := a.newToken(t, fromStdin)
	if err != nil {
		return err
	}
	opts := t.remoteOptions()
	opts.Token = func() string { return token }
	server, err := remote.New(opts)
	if err != nil {
		return asUsage(err)
	}
	defer server.Close()
	who, err := server.WhoAmI(cmd.Context())
	if err != nil {
		return err
	}
	if err := t.paths.SaveToken(t.origin, token); err != nil {
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
// the person names, not from where it would be found again anyway.
func (a *app) newToken(t *target, fromStdin bool) (string, error) {
	file := t.settings.Text(config.TokenFile)
	switch {
	case fromStdin && a.flags.Changed(string(config.TokenFile)):
		return "", usagef("--token-file and --token-stdin are both given")
	case fromStdin:
		token, err := config.ReadToken(a.stdin)
		if err != nil {
			return "", fmt.Errorf("standard input: %w", err)
		}
		return token, nil
	case file != "":
		token, _, err := config.TokenFromFile(file)
		return token, err
	}
	return "", &usageError{err: errors.New("no token is given"), hint: "name a file with --token-file FILE, or pipe it in with --token-stdin; an administrator makes one with server token create"}
}

func (a *app) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "logout",
		Short:   "Forget the token for a server",
		GroupID: groupLogin,
		Long: `Logout removes the saved token of a server from this machine. The token itself
stays valid until it is revoked at the server.

` + exitHelp,
		Example: `  client logout
  client logout --server https://memory.acme.example`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			t, err := a.target(nil)
			if err != nil {
				return err
			}
			if err := t.needServer(); err != nil {
				return err
			}
			_, had, err := t.paths.Token(t.origin)
			if err != nil {
				return err
			}
			if err := t.paths.RemoveToken(t.origin); err != nil {
				return err
			}
			if a.json {
				a.term.Value(map[string]any{"server": t.server, "removed": had})
				return nil
			}
			if !had {
				a.term.Print("no token was saved for " + t.server)
				return nil
			}
			a.term.Print("logged out of " + t.server)
			return nil
		},
	}
}
