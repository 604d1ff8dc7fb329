package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/checkout"
	"github.com/teammem/teammem/client/lint"
	"github.com/teammem/teammem/client/tui"
)

func (a *app) memoryLintCommand() *cobra.Command {
	var fix, strict bool
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Say what is wrong with the memories, and mend it",
		Long: `Lint looks at front matter, links, indexes, twins, scope, dates, and holds what is said
of paths, symbols and commits against the checkout one stands in. --fix mends what is
certain: it shows the diff and asks; --yes answers.

Exit status: 0 nothing to mend (notes aside), 1 errors or warnings remain, or it
failed, 2 usage.`,
		Example: `  client memory lint
  client memory lint --dir .memory --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.memoryLint(cmd.Context(), fix, strict) },
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "mend what is certain, as a diff first")
	cmd.Flags().BoolVar(&strict, "strict", false, "notes fail as well")
	return cmd
}

func (a *app) memoryLint(ctx context.Context, fix, strict bool) error {
	m, err := a.memories()
	if err != nil {
		return err
	}
	defer m.Close()
	a.warnMissed(m.List)
	findings, err := a.lint(ctx, m)
	if err != nil {
		return err
	}
	report := lintReport{Changed: []changed{}, Findings: findings}
	if fix {
		if report.Changed, err = a.mend(m, findings); err != nil {
			return err
		}
		if len(report.Changed) > 0 {
			m.scan()
			if report.Findings, err = a.lint(ctx, m); err != nil {
				return err
			}
		}
	}
	a.showFindings(report, fix)
	if slices.ContainsFunc(report.Findings, func(f lint.Finding) bool { return strict || f.Fails() }) {
		return &standing{exitFailed}
	}
	return nil
}

// lintReport is the answer with --fix, for programs; without, it is the findings alone.
type lintReport struct {
	Changed  []changed      `json:"changed"`
	Findings []lint.Finding `json:"findings"`
}

// lint looks at everything, against the checkout where there is one.
func (a *app) lint(ctx context.Context, m *memories) ([]lint.Finding, error) {
	in := lint.Input{Library: m.Library, Now: time.Now(), Scan: newScanner().Scan}
	if top := m.project.Worktree; top != "" {
		var own []string
		for _, r := range m.rooms {
			if r.dir != nil {
				own = append(own, r.dir.Path())
			}
		}
		tree, err := checkout.Open(ctx, top, own)
		if err != nil {
			return nil, err
		}
		defer func() { _ = tree.Close() }()
		in.Checkout = tree
	}
	findings, err := lint.Run(in)
	return filled(findings), err
}

// mend shows what is certain as a diff, asks, and does it.
func (a *app) mend(m *memories, findings []lint.Finding) ([]changed, error) {
	changes, err := lint.Fix(m.Library, findings)
	if err != nil || len(changes) == 0 {
		return []changed{}, err
	}
	if err := a.guard(m, changes); err != nil {
		return nil, err
	}
	if !a.json {
		a.showChanges("", changes)
	}
	question := fmt.Sprintf("Mend %s so?", tui.Count(len(changes), "file", "files"))
	if !a.term.Ask(question, false) {
		if !a.term.CanAsk() {
			return nil, &usageError{err: errors.New("mending wants a yes, and nobody can be asked here; nothing was changed"), hint: "say --yes"}
		}
		return []changed{}, nil
	}
	if err := m.change(time.Now(), changes); err != nil {
		return nil, err
	}
	return reportOf("", changes).Changed, nil
}

func (a *app) showFindings(report lintReport, fix bool) {
	switch {
	case a.json && fix:
		a.term.Value(report)
		return
	case a.json:
		a.term.Value(report.Findings)
		return
	}
	certain := 0
	for _, f := range report.Findings {
		a.term.Print(fmt.Sprintf("%s: %s: %s (%s)", placeOf(f.Key, f.Line), f.Severity, tui.Escape(f.Message), f.Rule))
		a.term.Print("  → " + tui.Escape(f.Cure))
		if f.Fixable {
			certain++
		}
	}
	switch {
	case len(report.Findings) == 0:
		a.term.Note("nothing is wrong")
	case certain > 0:
		a.term.Note(fmt.Sprintf("%s, of which client memory lint --fix mends %d", tui.Count(len(report.Findings), "finding", "findings"), certain))
	}
}

// placeOf is a file and a line, as editors jump to.
func placeOf(key api.Key, line int) string {
	if line == 0 {
		return tui.Escape(string(key))
	}
	return fmt.Sprintf("%s:%d", tui.Escape(string(key)), line)
}
