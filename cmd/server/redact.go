package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/leak"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// redactFlags are what server redact is told.
type redactFlags struct {
	org, repo, key, fingerprint, checksum, reason string
	yes, dryRun, rewrite                          bool
}

func (p *program) redactCommand() *cobra.Command {
	var f redactFlags
	cmd := &cobra.Command{
		Use:   "redact",
		Short: "Withdraw a text, or every text that holds a value, so that nothing is left of it",
		Long: `Withdraw the text of one version (--key KEY@VERSION with --repo, or KEY for what
stands), of a checksum, or every text of the organization that holds the value with a
fingerprint (server scan shows them). The rows stay, with who, when and why; the bytes
go from the database. What stands becomes a tombstone, clients are told and remove it
from their files, base texts, keep and trash, and it cannot be pushed again.

What was withdrawn is noted in redactions.jsonl in the data directory, or where
--redactions says, by checksum and never with a text. Keep that file when you restore a
backup: the next start withdraws again what is on it, and server redact apply does so
at once.

Copies that others made, backups and the blocks of disks are beyond it; the output says
what may be left. Replace what was real where it is in use.

Exit status: 0 done, 1 failed, 2 usage.`,
		Example: `  server redact --org acme --fingerprint 1f2e3d4c5b6a7980 --reason "token of the deploy bot" --dry-run
  server redact --org acme --repo acme/widgets --key notes/deploy.md@12 --reason "customer data" --yes`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.redact(cmd.Context(), f, cmd.InOrStdin()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.org, "org", "", "organization (default the only one)")
	flags.StringVar(&f.repo, "repo", "", "repo of --key")
	flags.StringVar(&f.key, "key", "", "KEY@VERSION, or KEY for what stands")
	flags.StringVar(&f.fingerprint, "fingerprint", "", "of a value, as server scan shows it")
	flags.StringVar(&f.checksum, "checksum", "", "of a text")
	flags.StringVar(&f.reason, "reason", "", "why, for the history and for whoever asks for the text")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would go, and change nothing")
	flags.BoolVar(&f.rewrite, "rewrite", false, "write the database's file or table anew, whatever its size")
	cmd.AddCommand(p.redactApplyCommand(), p.redactListCommand())
	return p.jsonFlag(cmd)
}

func (f redactFlags) ask(slug api.RepoSlug) (api.Redact, error) {
	ask := api.Redact{Checksum: api.Checksum(f.checksum), Fingerprint: f.fingerprint, Reason: f.reason, Repo: slug}
	ask.Key = api.Key(f.key)
	if i := strings.LastIndexByte(f.key, '@'); i >= 0 {
		if version, err := strconv.ParseUint(f.key[i+1:], 10, 63); err == nil && version > 0 {
			ask.Key, ask.Version = api.Key(f.key[:i]), api.Version(version)
		}
	}
	if err := ask.Check(); err != nil {
		return ask, &usageError{err}
	}
	return ask, nil
}

func (p *program) redact(ctx context.Context, f redactFlags, stdin io.Reader) error {
	if !f.yes && !f.dryRun && !p.terminal {
		return usagef("nobody can be asked here: say --yes, or --dry-run to see what would go")
	}
	return p.withLeakDesk(ctx, f.org, f.repo, func(desk *leak.Desk, caller ledger.Caller, slug api.RepoSlug) error {
		ask, err := f.ask(slug)
		if err != nil {
			return err
		}
		if !f.yes && !f.dryRun {
			if err := p.confirmRedact(ctx, desk, caller, ask, stdin); err != nil {
				return err
			}
		}
		ask.DryRun = f.dryRun
		done, err := desk.Redact(ctx, caller, ask, f.rewrite, func(done, of int64) { p.progress(done, of, "") })
		p.endProgress()
		if err != nil {
			return err
		}
		return p.printRedacted(done)
	})
}

// confirmRedact shows what would go and asks.
func (p *program) confirmRedact(ctx context.Context, desk *leak.Desk, caller ledger.Caller, ask api.Redact, stdin io.Reader) error {
	ask.DryRun = true
	would, err := desk.Redact(ctx, caller, ask, false, func(done, of int64) { p.progress(done, of, "") })
	p.endProgress()
	if err != nil {
		return err
	}
	if err := printTableTo(p.err, recordRows(would.Versions)); err != nil {
		return err
	}
	fmt.Fprintf(p.err, "the texts of these go for good; type yes to go on: ")
	answer, err := bufio.NewReader(stdin).ReadString('\n')
	if strings.TrimSpace(answer) != "yes" {
		return server.WithHint(fmt.Errorf("nothing was redacted"), "type yes, or give --yes")
	}
	if err == io.EOF {
		err = nil
	}
	return err
}

func recordRows(records []api.RedactedRecord) [][]string {
	rows := [][]string{{"REPO", "WHERE", "WRITTEN BY", "WHEN", "STOOD"}}
	for _, r := range records {
		where, stood := fmt.Sprintf("%s@%d", r.Key, r.Version), "no"
		if r.Proposal != "" {
			where += " (" + r.Proposal + ")"
		}
		if r.Current {
			stood = "yes"
		}
		rows = append(rows, []string{string(r.Repo), where, by(r.User, r.Client), day(r.At.Time, ""), stood})
	}
	return rows
}

func (p *program) printRedacted(done api.Redacted) error {
	if p.json {
		return p.printJSON(done)
	}
	if err := p.printTable(recordRows(done.Versions)); err != nil {
		return err
	}
	if done.DryRun {
		_, err := fmt.Fprintf(p.err, "would redact %s in %s; nothing was changed\n", counted(len(done.Checksums), "text"), counted(len(done.Versions), "place"))
		return err
	}
	fmt.Fprintf(p.err, "redacted %s in %s\n", counted(len(done.Checksums), "text"), counted(len(done.Versions), "place"))
	p.tellRemains(done.Remains)
	return nil
}

// tellRemains says what the command could not reach.
func (p *program) tellRemains(remains []string) {
	for _, where := range remains {
		fmt.Fprintf(p.err, "may be left in: %s\n", where)
	}
	fmt.Fprintln(p.err, "may be left in: backups that were made before, and what readers copied")
}

func (p *program) redactApplyCommand() *cobra.Command {
	var rewrite bool
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Withdraw again what the list names, after a restore",
		Long: `Hold the list of redactions against the database, both ways: what is on it and in the
database, as after the restore of an older backup, is withdrawn again; what was withdrawn
and is not on it is put there. Every start of a server does the same first.`,
		Example: `  server redact apply
  server redact apply --rewrite`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.redactApply(cmd.Context(), rewrite) },
	}
	cmd.Flags().BoolVar(&rewrite, "rewrite", false, "write the database's file or table anew, whatever its size")
	return p.jsonFlag(cmd)
}

func (p *program) redactApply(ctx context.Context, rewrite bool) error {
	return p.withStore(ctx, func(s store.Store) error {
		desk, err := server.LeakDesk(p.quietLogger(), s, p.settings.server(), p.now)
		if err != nil {
			return err
		}
		n, scrubbed, err := desk.Apply(ctx, rewrite)
		if err != nil {
			return err
		}
		if p.json {
			return p.printJSON(struct {
				Redacted  int      `json:"redacted"`
				Rewritten bool     `json:"rewritten"`
				Remains   []string `json:"remains"`
			}{n, scrubbed.Rewritten, append([]string{}, scrubbed.Remains...)})
		}
		fmt.Fprintf(p.err, "redacted %d texts that the list names\n", n)
		if n > 0 || rewrite {
			p.tellRemains(scrubbed.Remains)
		}
		return nil
	})
}

func (p *program) redactListCommand() *cobra.Command {
	var org string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List what was withdrawn, by checksum",
		Example: "  server redact list --org acme\n  server redact list --json",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.redactList(cmd.Context(), org) },
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default the only one)")
	return p.jsonFlag(cmd)
}

func (p *program) redactList(ctx context.Context, orgName string) error {
	return p.withLeakDesk(ctx, orgName, "", func(desk *leak.Desk, caller ledger.Caller, _ api.RepoSlug) error {
		all, err := desk.Redactions(ctx, caller)
		if err != nil {
			return err
		}
		list, rows := make([]api.Redaction, len(all)), [][]string{{"CHECKSUM", "WHEN", "BY", "REASON"}}
		for i, r := range all {
			list[i] = api.Redaction{Checksum: r.Checksum, At: api.NewTime(r.At), User: r.User, Reason: r.Reason}
			rows = append(rows, []string{string(r.Checksum), day(r.At, ""), r.User, r.Reason})
		}
		if p.json {
			return p.printJSON(list)
		}
		return p.printTable(rows)
	})
}
