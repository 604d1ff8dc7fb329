package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/teammem/teammem/server"
)

func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Look at the configuration",
		Args:  noArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(p.configCheckCommand())
	return cmd
}

func (p *program) configCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Show every setting and where it comes from, and check what can be checked",
		Long: `Show every setting with its value and where that came from, and check what can be
checked without serving: paths, the certificate, addresses, providers. Nothing is
changed, and the database and the providers are not asked. The flags are those of
serving; secrets in addresses are not shown.

Exit status: 0 done, 1 failed, 2 a setting cannot be used.`,
		Example: `  server config check --config /etc/teammem/server.yaml
  server config check --listen 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.configCheck(cmd) },
	}
	p.settings.serveFlags(cmd.Flags())
	return p.jsonFlag(cmd)
}

// settingResult is a setting as --json shows it.
type settingResult struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`  // flag, variable, secret file, file, default
	Where string `json:"where"` // the flag, the variable, file:line
}

// configResult is what config check found.
type configResult struct {
	Settings []settingResult `json:"settings"`
	Problems []problem       `json:"problems"`
}

func (p *program) configCheck(cmd *cobra.Command) error {
	result := configResult{Settings: []settingResult{}, Problems: []problem{}}
	for _, name := range allSettings() {
		flag := cmd.Flag(name)
		from := p.settings.sources[name]
		result.Settings = append(result.Settings, settingResult{name, shownValue(flag), from.kind, from.where})
	}
	result.Problems = append(result.Problems, p.problems()...)
	if p.json {
		if err := p.printJSON(result); err != nil {
			return err
		}
	} else if err := p.printSettings(result); err != nil {
		return err
	}
	return p.verdict(result.Problems)
}

// printSettings prints the settings in columns, and then what is to be said of them.
func (p *program) printSettings(result configResult) error {
	rows := [][]string{{"SETTING", "VALUE", "FROM"}}
	for _, s := range result.Settings {
		value := s.Value
		if value == "" {
			value = "-"
		}
		rows = append(rows, []string{s.Name, value, s.Where})
	}
	if err := p.printTable(rows); err != nil {
		return err
	}
	for _, found := range result.Problems {
		if _, err := fmt.Fprintf(p.out, "\n%s  %s: %s\n      %s\n", found.Level, found.Setting, found.Text, found.Cure); err != nil {
			return err
		}
	}
	return nil
}

// verdict is the error for what cannot be used. The first of it is named with its
// cure, the others by their settings.
func (p *program) verdict(problems []problem) error {
	var failed []problem
	for _, found := range problems {
		if found.Level == levelFail {
			failed = append(failed, found)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	first := failed[0]
	text := fmt.Sprintf("%s (%s): %s", first.Setting, p.settings.where(first.Setting), first.Text)
	var others []string
	for _, found := range failed[1:] {
		others = append(others, found.Setting)
	}
	if len(others) > 0 {
		text += "; and " + strings.Join(others, ", ")
	}
	return server.WithHint(usagef("%s", text), first.Cure)
}

// where says where a setting came from.
func (s *settings) where(name string) string {
	if from, ok := s.sources[name]; ok {
		return from.where
	}
	return fromDefault
}

// shownValue is the value of a setting without the secrets that an address may hold.
func shownValue(flag *pflag.Flag) string {
	value := flag.Value.String()
	if flag.Value.Type() == "stringSlice" {
		value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
	}
	switch flag.Name {
	case "database", "database-replica", "oidc-issuer", "public-url":
		return withoutSecrets(value)
	}
	return value
}

// What is shown in place of a secret, and of an address that cannot be read.
const (
	hidden    = "xxxxx"
	noAddress = "(not shown: it is no address)"
)

// withoutSecrets takes the password out of an address, wherever Postgres takes one. An
// address that cannot be read is not shown: nobody can say where its secret is.
func withoutSecrets(address string) string {
	if address == "" || strings.HasPrefix(address, "sqlite:///") {
		return address
	}
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.Fragment != "" || !strings.Contains(address, "://") {
		return noAddress
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), hidden)
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(strings.ToLower(name), "password") {
			query.Set(name, hidden)
			u.RawQuery = query.Encode()
		}
	}
	return u.String()
}
