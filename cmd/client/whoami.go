package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/remote"
)

func (a *app) whoAmICommand() *cobra.Command {
	return &cobra.Command{
		Use:     "whoami",
		Short:   "Show whose token is used, and what it may do",
		GroupID: groupLogin,
		Long:    "Whoami asks the server whose token this is.\n\n" + exitHelp,
		Example: `  client whoami
  client whoami --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := a.target(nil)
			if err != nil {
				return err
			}
			if err := t.needServer(); err != nil {
				return err
			}
			credential, err := t.token()
			if err != nil {
				return err
			}
			server, err := remote.New(t.remoteOptions())
			if err != nil {
				return asUsage(err)
			}
			defer server.Close()
			who, err := server.WhoAmI(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				a.term.Value(struct {
					Server string `json:"server"`
					Token  string `json:"tokenSource"`
					api.WhoAmI
				}{t.server, credential.Source, who})
				return nil
			}
			until := "without expiry"
			if credential.Grant != nil {
				until = "signed in with " + credential.Grant.Issuer
			}
			if who.Expires != nil {
				until = "until " + who.Expires.Local().Format("2006-01-02 15:04")
			}
			a.term.Print(fmt.Sprintf("%s, %s of %s at %s, %s", who.User, who.Role, who.Organization, t.server, until))
			if credential.Grant == nil && who.Expires != nil && time.Until(who.Expires.Time) < expiryNotice {
				a.term.Warn("the token ends within the week", "ask for a new one and log in with it: client login --token-file FILE")
			}
			return nil
		},
	}
}
