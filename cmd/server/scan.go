package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/leak"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// errFound ends a scan that found something: it is a result and not a fault.
var errFound = errors.New("the scan found something")

func (p *program) scanCommand() *cobra.Command {
	var org, repo string
	var restart bool
	cmd := &cobra.Command{
		Use:   "scan",
		Short: "Look through all that an organization holds and held, with today's rules",
		Long: `Look through every version of every entry, and every proposal, with today's rules and
the organization's policy. What the policy does not accept is reported: the rule, where
it stands, who wrote it when and from which client, which clients were served the repo
while it stood, and whether it stands still. No text is shown; a fingerprint is the same
for the same value wherever it stands.

It may run beside a server: it works in batches and rests as long as each took. When it
is broken off, the next one goes on from there.

Exit status: 0 nothing was found, 1 failed, 2 usage, 5 something was found.`,
		Example: `  server scan
  server scan --org acme --repo acme/widgets --json
  server scan --restart`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.scan(cmd.Context(), org, repo, restart) },
	}
	cmd.Flags().StringVar(&org, "org", "", "organization (default the only one)")
	cmd.Flags().StringVar(&repo, "repo", "", "look at this repo only")
	cmd.Flags().BoolVar(&restart, "restart", false, "begin anew, also when one was broken off")
	return p.jsonFlag(cmd)
}

func (p *program) scan(ctx context.Context, orgName, repo string, restart bool) error {
	return p.withLeakDesk(ctx, orgName, repo, func(desk *leak.Desk, caller ledger.Caller, slug api.RepoSlug) error {
		scan, err := desk.StartScan(ctx, caller, api.StartScan{Repo: slug, Restart: restart}, leak.ByCommand)
		if err != nil {
			return err
		}
		if scan.Step > 0 && !p.json {
			fmt.Fprintf(p.err, "going on with the scan of %s; --restart begins anew\n", day(scan.At, ""))
		}
		scan, err = desk.RunScan(ctx, caller, scan, p.scanProgress)
		p.endProgress()
		switch {
		case errors.Is(err, store.ErrExists):
			return server.WithHint(errors.New("somebody else goes on with this scan"), "wait for that one, or begin another with --restart")
		case err != nil && ctx.Err() != nil:
			return server.WithHint(errors.New("the scan was broken off"), "server scan goes on from there; --restart begins anew")
		case err != nil:
			return err
		}
		return p.scanReport(ctx, desk, caller, scan)
	})
}

// scanProgress shows a person how far a scan is, on one line.
func (p *program) scanProgress(s api.Scan) {
	p.progress(s.Versions.Done, s.Versions.Of, fmt.Sprintf(", %d found", s.Found))
}

func (p *program) progress(done, of int64, more string) {
	if p.terminal && !p.json {
		fmt.Fprintf(p.err, "\r%d of %d versions%s ", done, of, more)
	}
}

func (p *program) endProgress() {
	if p.terminal && !p.json {
		fmt.Fprintln(p.err)
	}
}

// reportPage is how many findings are read in one go.
const reportPage = 1000

func (p *program) scanReport(ctx context.Context, desk *leak.Desk, caller ledger.Caller, scan store.Scan) error {
	report, err := desk.Scan(ctx, caller, scan.UID, 0, reportPage)
	if err != nil {
		return err
	}
	for len(report.Findings) < report.Found {
		more, err := desk.Scan(ctx, caller, scan.UID, len(report.Findings), reportPage)
		if err != nil {
			return err
		}
		if len(more.Findings) == 0 {
			break
		}
		report.Findings = append(report.Findings, more.Findings...)
	}
	if err := p.printScan(report); err != nil {
		return err
	}
	if report.Found > 0 {
		return errFound
	}
	return nil
}

func (p *program) printScan(report api.Scan) error {
	if p.json {
		return p.printJSON(report)
	}
	fmt.Fprintf(p.err, "%d texts of %d versions, %d bytes: %d findings\n", report.Texts, report.Versions.Done, report.Bytes, report.Found)
	if report.Found == 0 {
		return nil
	}
	rows := [][]string{{"RULE", "CLASS", "VERDICT", "REPO", "WHERE", "FINGERPRINT", "WRITTEN BY", "WHEN", "STANDS", "SERVED TO"}}
	for _, f := range report.Findings {
		where := fmt.Sprintf("%s@%d:%d", f.Key, f.Version, f.Line)
		if f.Proposal != "" {
			where += " (" + f.Proposal + ")"
		}
		stands := "no"
		if f.Current {
			stands = "yes"
		}
		rows = append(rows, []string{
			f.Rule, string(f.Class), string(f.Verdict), string(f.Repo), where, f.Fingerprint, by(f.User, f.Client), day(f.At.Time, ""), stands, served(f.Pulled),
		})
	}
	if err := p.printTable(rows); err != nil {
		return err
	}
	fmt.Fprintln(p.err, "hint: replace what was real where it is in use; then server redact --fingerprint F --reason R takes it out")
	return nil
}

func by(user, client string) string {
	if client == "" {
		return user
	}
	return user + " on " + client
}

// mostShown is how many clients are named in a table.
const mostShown = 3

func served(pulled []api.PulledBy) string {
	if len(pulled) == 0 {
		return "nobody known"
	}
	var names []string
	for i, p := range pulled {
		if i == mostShown {
			names = append(names, "and "+strconv.Itoa(len(pulled)-i)+" more")
			break
		}
		names = append(names, by(p.User, p.Client))
	}
	return strings.Join(names, ", ")
}

// withLeakDesk opens what the commands about leaks need. A repo may be given by a name
// that it had before.
func (p *program) withLeakDesk(ctx context.Context, orgName, repo string, fn func(desk *leak.Desk, caller ledger.Caller, slug api.RepoSlug) error) error {
	var slug api.RepoSlug
	if repo != "" {
		var err error
		if slug, err = api.ParseRepoSlug(repo); err != nil {
			return usagef("--repo: %w", err)
		}
	}
	return p.withOrganization(ctx, orgName, func(s store.Store, org store.Organization) error {
		access, err := s.Access(ctx, org.ID)
		if err != nil {
			return fmt.Errorf("read the repos' names: %w", err)
		}
		if now, renamed := access.Aliases[slug]; renamed {
			slug = now
		}
		desk, err := server.LeakDesk(p.quietLogger(), s, p.settings.server(), p.now)
		if err != nil {
			return err
		}
		return fn(desk, leak.Operator(org), slug)
	})
}
