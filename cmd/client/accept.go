package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/tui"
)

func (a *app) secretsRedactCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "redact FILE",
		Short: "Print a text with each secret replaced by its rule's name",
		Long: `Redact prints a file, or with - what comes in on standard input, with each secret
replaced by the name of the rule that found it. The file stays as it is.`,
		Example: `  client secrets redact notes.md >notes.clean.md
  client secrets redact - <notes.md`,
		Args: oneOf("a file, a key, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error { return a.redact(args[0]) },
	}
}

// redactedText is a text without its secrets, for programs.
type redactedText struct {
	File    string `json:"file"`
	Content string `json:"content"`
}

func (a *app) redact(name string) error {
	content, err := a.redactable(name)
	if err != nil {
		return err
	}
	scanner, err := guard.ScanRules(nil)
	if err != nil {
		return err
	}
	found, err := scanner.Scan(api.Key("text"), content)
	if err != nil {
		return fmt.Errorf("%s is not printed: %w", name, err)
	}
	clean := scan.Redact(content, found, api.ClassSecret, api.ClassSecretGeneric)
	if a.json {
		return a.jsonText(name, clean, redactedText{File: name, Content: string(clean)})
	}
	a.term.Raw(clean)
	return nil
}

func (a *app) redactable(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(a.stdin, scan.MaxBytes+1))
	}
	path, err := a.env.Abs(name)
	if err != nil {
		return nil, asUsage(err)
	}
	if !exists(path) {
		if s, err := a.shelf(); err == nil {
			if path, err = (&examiner{shelf: s}).existing(name); err != nil {
				return nil, err
			}
		}
	}
	content, err := readFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &usageError{err: fmt.Errorf("there is no file %s", name), hint: "name a file, or a key of the memory directory"}
	}
	return content, err
}

func (a *app) secretsAcceptCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "accept FINGERPRINT",
		Short: "Let a finding through, with a reason",
		Long: `Accept lets one value through, wherever it stands; another value in its place is
found again. A maintainer accepts it for the organization. Anybody else accepts it on
this machine, and the server may still refuse it. Private keys are never accepted.`,
		Example: `  client secrets accept 8f3a1c9d2e4b5a60 --reason "sample from the vendor's manual"
  client secrets accepted`,
		Args: oneOf("the fingerprint of a finding, as client secrets shows it"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.accept(cmd.Context(), args[0], reason) },
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why it is harmless, for those who look later")
	return cmd
}

// acceptedFinding is a line of client secrets accepted --json.
type acceptedFinding struct {
	Fingerprint string   `json:"fingerprint"`
	Rule        string   `json:"rule"`
	Reason      string   `json:"reason"`
	User        string   `json:"user,omitempty"`
	At          api.Time `json:"at"`
	Where       string   `json:"where"` // organization or here
}

func (a *app) accept(ctx context.Context, fingerprint, reason string) error {
	if err := api.CheckReason(reason); err != nil {
		return &usageError{err: err, hint: `say why it is harmless: --reason "…"`}
	}
	e, err := a.examiner(ctx)
	if err != nil {
		return err
	}
	defer e.close()
	rule, err := e.ruleOf(fingerprint)
	if err != nil {
		return err
	}
	if !api.Accepts(rule) {
		return &usageError{err: fmt.Errorf("findings of %s are never accepted", rule), hint: "take the private key out and replace it where it is in use"}
	}
	done := acceptedFinding{Fingerprint: fingerprint, Rule: rule, Reason: reason, At: api.NewTime(time.Now()), Where: guard.ByOrganization}
	why, err := e.acceptThere(ctx, done)
	if err != nil {
		return err
	}
	if why != "" {
		done.Where = guard.Here
		if err := e.acceptHere(done); err != nil {
			return err
		}
	}
	if a.json {
		a.term.Value(done)
		return nil
	}
	if why == "" {
		a.term.Print(fmt.Sprintf("accepted %s (%s) for the organization", fingerprint, rule))
		return nil
	}
	a.term.Print(fmt.Sprintf("accepted %s (%s) on this machine only: %s. The server may still refuse it.", fingerprint, rule, why))
	return nil
}

// ruleOf finds the rule of a finding by its fingerprint: among those shown before, or
// in the memory directory.
func (e *examiner) ruleOf(fingerprint string) (string, error) {
	advice, err := e.store.Advice()
	if err != nil && !errors.Is(err, state.ErrDamaged) {
		return "", err
	}
	for _, s := range advice.Seen {
		if s.Fingerprint == fingerprint {
			return s.Rule, nil
		}
	}
	report := scanReport{}
	if err := e.eachFile(nil, &report, func(name string, key api.Key, content []byte) { e.judge(&report, name, key, content) }); err != nil {
		return "", err
	}
	for _, f := range report.Findings {
		if f.Fingerprint == fingerprint {
			return f.Rule, nil
		}
	}
	return "", &usageError{err: fmt.Errorf("no finding has the fingerprint %q", fingerprint), hint: "client secrets shows findings with their fingerprints"}
}

// acceptThere accepts a finding for the organization. why says why that could not be,
// where accepting it on this machine is what is left.
func (e *examiner) acceptThere(ctx context.Context, f acceptedFinding) (why string, err error) {
	policy, policyErr := e.guard.Policy()
	switch {
	case e.server == nil:
		return "no server is known here", nil
	case policyErr != nil || policy.FingerprintKey == "":
		return "the organization's policy has not been heard yet", nil
	}
	policy, err = e.server.AcceptFinding(ctx, api.Acceptance{Fingerprint: f.Fingerprint, Rule: f.Rule, Reason: f.Reason})
	var unreachable *remote.Unreachable
	switch {
	case err == nil:
		return "", e.guard.Learn(policy)
	case api.CodeOf(err) == api.Permission:
		return "your role may not accept for the organization; a maintainer may", nil
	case errors.As(err, &unreachable):
		return "the server cannot be reached", nil
	case api.CodeOf(err) == api.NotFound:
		return "this server has no policies", nil
	}
	return "", err
}

func (e *examiner) acceptHere(f acceptedFinding) error {
	advice, err := e.store.Advice()
	if err != nil && !errors.Is(err, state.ErrDamaged) {
		return err
	}
	policy, _ := e.guard.Policy()
	advice.Accepted = append(withoutFinding(advice.Accepted, f.Fingerprint), state.LocallyAllowed{
		Acceptance: api.Acceptance{Fingerprint: f.Fingerprint, Rule: f.Rule, Reason: f.Reason, At: f.At},
		OwnKey:     policy.FingerprintKey == "",
	})
	return e.store.SaveAdvice(advice)
}

func withoutFinding(list []state.LocallyAllowed, fingerprint string) []state.LocallyAllowed {
	return slices.DeleteFunc(list, func(l state.LocallyAllowed) bool { return l.Fingerprint == fingerprint })
}

func (a *app) secretsAcceptedCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "accepted",
		Short: "List the findings that are let through",
		Long:  `Accepted lists what the organization lets through, and what this machine does.`,
		Example: `  client secrets accepted
  client secrets accepted --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.accepted(cmd.Context()) },
	}
}

func (a *app) accepted(ctx context.Context) error {
	e, err := a.examiner(ctx)
	if err != nil {
		return err
	}
	defer e.close()
	policy, err := e.guard.Policy()
	if err != nil {
		return err
	}
	advice, err := e.store.Advice()
	if err != nil {
		return err
	}
	list := []acceptedFinding{}
	for _, p := range policy.Accepted {
		list = append(list, acceptedFinding{p.Fingerprint, p.Rule, p.Reason, p.User, p.At, guard.ByOrganization})
	}
	for _, l := range advice.Accepted {
		list = append(list, acceptedFinding{l.Fingerprint, l.Rule, l.Reason, "", l.At, guard.Here})
	}
	if a.json {
		a.term.Value(list)
		return nil
	}
	var rows []tui.Row
	for _, f := range list {
		by := "on this machine only"
		if f.Where == guard.ByOrganization {
			by = "by " + f.User
		}
		rows = append(rows, tui.Row{Label: f.Fingerprint, Text: f.Rule, Note: fmt.Sprintf("%s, %s: %s", by, tui.Age(time.Since(f.At.Time)), f.Reason)})
	}
	a.term.Rows(rows)
	if len(list) == 0 {
		a.term.Note("nothing is accepted")
	}
	return nil
}

func (a *app) secretsForgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forget FINGERPRINT",
		Short: "Take back what was accepted",
		Long:  `Forget lets the scan find an accepted value again, here and, for a maintainer, for all.`,
		Example: `  client secrets accepted
  client secrets forget 8f3a1c9d2e4b5a60`,
		Args:              oneOf("a fingerprint, as client secrets accepted shows it"),
		ValidArgsFunction: a.completing(acceptedHere),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.forget(cmd.Context(), args[0]) },
	}
}

func (a *app) forget(ctx context.Context, fingerprint string) error {
	e, err := a.examiner(ctx)
	if err != nil {
		return err
	}
	defer e.close()
	advice, err := e.store.Advice()
	if err != nil {
		return err
	}
	before := len(advice.Accepted)
	advice.Accepted = withoutFinding(advice.Accepted, fingerprint)
	here := len(advice.Accepted) < before
	if here {
		if err := e.store.SaveAdvice(advice); err != nil {
			return err
		}
	}
	policy, err := e.guard.Policy()
	if err != nil {
		return err
	}
	there := slices.ContainsFunc(policy.Accepted, func(p api.Acceptance) bool { return p.Fingerprint == fingerprint })
	if there && e.server != nil {
		if policy, err = e.server.ForgetFinding(ctx, fingerprint); err != nil {
			return err
		}
		if err := e.guard.Learn(policy); err != nil {
			return err
		}
	}
	if !here && !there {
		return &usageError{err: fmt.Errorf("nothing with the fingerprint %q is accepted", fingerprint), hint: "client secrets accepted lists what is"}
	}
	if a.json {
		a.term.Value(map[string]any{"fingerprint": fingerprint, "forgotten": true})
		return nil
	}
	a.term.Print(fingerprint + " is found again from now on")
	return nil
}
