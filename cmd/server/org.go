package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

func (p *program) orgCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "org",
		Short: "Make, list, change and move organizations",
		Args:  noArgs,
		RunE:  needsCommand,
	}
	cmd.AddCommand(p.orgCreateCommand(), p.orgListCommand(), p.orgSetCommand(), p.orgExportCommand(), p.orgImportCommand())
	return cmd
}

// orgResult is an organization as --json shows it.
type orgResult struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	MaxEntries int       `json:"maxEntries"` // 0: the server's default
	MaxRepos   int       `json:"maxRepos"`   // 0: any number, as for the others
	MaxBytes   int64     `json:"maxBytes"`
	Writes     int       `json:"writesPerMinute"`
	AuditDays  int       `json:"auditDays"`
	History    int       `json:"historyDays"`
	Keep       int       `json:"historyKeep"`
	Trash      int       `json:"trashDays"`
	Created    *api.Time `json:"created"`
}

func orgResultOf(o store.Organization) orgResult {
	return orgResult{
		ID: o.UID, Name: o.Name, MaxEntries: o.MaxEntries, MaxRepos: o.MaxRepos, MaxBytes: o.MaxBytes, Writes: o.WritesPerMinute,
		AuditDays: o.AuditDays, History: o.HistoryDays, Keep: o.HistoryKeep, Trash: o.TrashDays, Created: wireTime(o.Created),
	}
}

func (p *program) orgCreateCommand() *cobra.Command {
	var maxEntries int
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make an organization",
		Example: `  server org create acme
  server org create acme --max-entries 20000`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want the organization's name, and nothing else")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.orgCreate(cmd.Context(), args[0], maxEntries)
		},
	}
	cmd.Flags().IntVar(&maxEntries, "max-entries", 0, "entries a repo may hold (default the server's limit)")
	return p.jsonFlag(cmd)
}

func (p *program) orgCreate(ctx context.Context, name string, maxEntries int) error {
	if err := auth.CheckName("organization's name", name); err != nil {
		return &usageError{err}
	}
	if maxEntries < 0 {
		return usagef("--max-entries is negative")
	}
	return p.withStore(ctx, func(s store.Store) error {
		org := auth.NewOrganization(name, p.now())
		org.MaxEntries = maxEntries
		created, err := organization.Create(ctx, s, org)
		if errors.Is(err, store.ErrExists) {
			return fmt.Errorf("there is an organization %s already", name)
		}
		if err != nil {
			return fmt.Errorf("create the organization: %w", err)
		}
		if p.json {
			return p.printJSON(orgResultOf(created))
		}
		_, err = fmt.Fprintln(p.out, created.UID)
		return err
	})
}

func (p *program) orgListCommand() *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use:     "list",
		Short:   "List the organizations",
		Example: "  server org list\n  server org list --json",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.orgList(cmd.Context()) },
	})
}

func (p *program) orgList(ctx context.Context) error {
	return p.withStore(ctx, func(s store.Store) error {
		all, err := s.Organizations(ctx)
		if err != nil {
			return fmt.Errorf("list the organizations: %w", err)
		}
		results := make([]orgResult, len(all))
		rows := [][]string{{"ID", "NAME", "CREATED"}}
		for i, o := range all {
			results[i] = orgResultOf(o)
			rows = append(rows, []string{o.UID, o.Name, day(o.Created, "")})
		}
		if p.json {
			return p.printJSON(results)
		}
		return p.printTable(rows)
	})
}

// withStore opens the database for one command.
func (p *program) withStore(ctx context.Context, fn func(store.Store) error) error {
	s, err := server.OpenStore(ctx, p.quietLogger(), p.settings.server().DatabaseURL())
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}

// withOrganization finds the organization a command is about: the one named, or
// the only one there is.
func (p *program) withOrganization(ctx context.Context, name string, fn func(store.Store, store.Organization) error) error {
	return p.withStore(ctx, func(s store.Store) error {
		all, err := s.Organizations(ctx)
		if err != nil {
			return fmt.Errorf("list the organizations: %w", err)
		}
		if name == "" && len(all) == 1 {
			return fn(s, all[0])
		}
		names := make([]string, len(all))
		for i, org := range all {
			if org.Name == name {
				return fn(s, org)
			}
			names[i] = org.Name
		}
		switch {
		case len(all) == 0:
			return server.WithHint(errors.New("there is no organization yet"), "start the server once, or run server org create NAME")
		case name == "":
			return server.WithHint(usagef("which organization?"), "give --org: "+strings.Join(names, ", "))
		}
		return server.WithHint(fmt.Errorf("there is no organization %s", name), "server org list shows those there are")
	})
}
