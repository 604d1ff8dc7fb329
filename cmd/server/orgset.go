package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

func (p *program) orgSetCommand() *cobra.Command {
	var name string
	var entries, repos, writes, days, history, keep, trash int
	var bytes int64
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Change an organization's name or limits; in force within a second",
		Example: `  server org set acme --max-repos 50 --writes-per-minute 600
  server org set acme --audit-days 400 --history-days 365 --history-keep 20 --trash-days 90`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want the organization's name, and nothing else")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			given := settingsOf(cmd.Flags(), map[string]any{
				"name": &name, "max-entries": &entries, "max-repos": &repos, "max-bytes": &bytes, "writes-per-minute": &writes, "audit-days": &days,
				"history-days": &history, "history-keep": &keep, "trash-days": &trash,
			})
			if given == (organization.Settings{}) {
				return usagef("nothing is to be changed: give a flag")
			}
			if min(int64(min(entries, repos, writes, days, history, keep, trash)), bytes) < 0 {
				return usagef("a limit is negative: 0 takes it away")
			}
			return p.withOrganization(cmd.Context(), args[0], func(s store.Store, org store.Organization) error {
				after, err := p.rules(s).Set(cmd.Context(), organization.Operator(org.ID), given)
				if err != nil {
					return fmt.Errorf("change the organization: %w", err)
				}
				if p.json {
					return p.printJSON(orgResultOf(after))
				}
				fmt.Fprintf(p.err, "changed %s\n", after.Name)
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "another name")
	f.IntVar(&entries, "max-entries", 0, "entries a repo may hold; 0 the server's limit")
	f.IntVar(&repos, "max-repos", 0, "repos; 0 any number")
	f.Int64Var(&bytes, "max-bytes", 0, "bytes of live contents a repo may hold; 0 any number")
	f.IntVar(&writes, "writes-per-minute", 0, "writes of all its members together, on each server; 0 any number")
	f.IntVar(&days, "audit-days", 0, "days for which audit records are kept; 0 for ever")
	f.IntVar(&history, "history-days", 0, "days for which earlier texts of entries are kept; 0 for ever")
	f.IntVar(&keep, "history-keep", 0, "changes of each entry that stay however old they are")
	f.IntVar(&trash, "trash-days", 0, "days for which the texts of deleted entries are kept; 0 as earlier texts")
	return p.jsonFlag(cmd)
}

// settingsOf takes those flags that were given.
func settingsOf(f *pflag.FlagSet, values map[string]any) (s organization.Settings) {
	for name, value := range values {
		if !f.Changed(name) {
			continue
		}
		switch name {
		case "name":
			s.Name = value.(*string)
		case "max-entries":
			s.MaxEntries = value.(*int)
		case "max-repos":
			s.MaxRepos = value.(*int)
		case "max-bytes":
			s.MaxBytes = value.(*int64)
		case "writes-per-minute":
			s.WritesPerMinute = value.(*int)
		case "audit-days":
			s.AuditDays = value.(*int)
		case "history-days":
			s.HistoryDays = value.(*int)
		case "history-keep":
			s.HistoryKeep = value.(*int)
		case "trash-days":
			s.TrashDays = value.(*int)
		}
	}
	return s
}
