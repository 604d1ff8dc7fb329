package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/tui"
)

// shownFinding is a finding in client secrets --json and client status --json. It
// holds no text.
type shownFinding struct {
	File        string      `json:"file"`
	Rule        string      `json:"rule"`
	Class       api.Class   `json:"class"`
	Verdict     api.Verdict `json:"verdict"`
	Severity    string      `json:"severity,omitempty"`
	Line        int         `json:"line"` // from 1; 0: in the name
	Column      int         `json:"column"`
	EndLine     int         `json:"endLine"`
	Fingerprint string      `json:"fingerprint,omitempty"`
	Accepted    string      `json:"accepted,omitempty"` // organization or here
	Cure        string      `json:"cure,omitempty"`
}

// scanReport is client secrets --json.
type scanReport struct {
	Files      int            `json:"files"`
	Refused    int            `json:"refused"` // findings that keep a file here
	Held       int            `json:"held"`    // findings that make a file a proposal
	Findings   []shownFinding `json:"findings"`
	Unread     []unreadFile   `json:"unread"`
	ExitStatus exitCode       `json:"exitStatus"`
}

type unreadFile struct {
	File  string `json:"file"`
	Error string `json:"error"`
}

func (a *app) secretsCommand() *cobra.Command {
	var staged bool
	cmd := &cobra.Command{
		Use:     "secrets [PATH...]",
		Short:   "Show what must not leave, and accept what may",
		GroupID: groupSecrets,
		Long: `Secrets scans files and directories (default: the memory directory) as a push does.
It shows rule, place and cure, never the text. It is a tripwire, not a wall.
Exit status: 0 nothing is refused, 5 something is, 1 a file could not be read, 2 usage.`,
		Example: `  client secrets notes.md
  client secrets --staged --quiet     # as git's pre-commit hook`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.secrets(cmd.Context(), args, staged) },
	}
	cmd.Flags().BoolVar(&staged, "staged", false, "scan what git has staged, not what lies in the directory")
	cmd.AddCommand(a.secretsRedactCommand(), a.secretsAcceptCommand(), a.secretsAcceptedCommand(), a.secretsForgetCommand())
	return cmd
}

// examiner is what the commands about findings work with.
type examiner struct {
	*shelf
	guard  *guard.Guard
	server *remote.Client // nil: none is known, or nobody is logged in
}

// policyWait is how long a command waits for the policy before it takes the last one.
const policyWait = 2 * time.Second

// examiner opens what is known of policy and advice, and asks the server, if there is
// one, for the policy of today. Without an answer the last one holds.
func (a *app) examiner(ctx context.Context) (*examiner, error) {
	s, err := a.shelf()
	if err != nil {
		return nil, err
	}
	e := &examiner{shelf: s}
	if _, err := s.token(); err == nil && s.server != "" {
		opts := s.remoteOptions()
		opts.Tries = 1
		if e.server, err = remote.New(opts); err != nil {
			return nil, asUsage(err)
		}
		e.guard = guard.New(guard.ScanRules, s.store, e.server, time.Now)
		ctx, cancel := context.WithTimeout(ctx, policyWait)
		defer cancel()
		if _, err := e.guard.Refresh(ctx); err != nil {
			a.term.Note("the policy of the organization could not be asked for; the last one known holds: " + err.Error())
		}
		return e, nil
	}
	e.guard = guard.New(guard.ScanRules, s.store, nil, time.Now)
	return e, nil
}

func (e *examiner) close() {
	if e.server != nil {
		e.server.Close()
	}
}

func (a *app) secrets(ctx context.Context, args []string, staged bool) error {
	defer collectLate()()
	e, err := a.examiner(ctx)
	if err != nil {
		return err
	}
	defer e.close()
	report := scanReport{Findings: []shownFinding{}, Unread: []unreadFile{}}
	look := func(name string, key api.Key, content []byte) { e.judge(&report, name, key, content) }
	if staged {
		err = e.eachStaged(ctx, args, look)
	} else {
		err = e.eachFile(args, &report, look)
	}
	if err != nil {
		return err
	}
	if err := e.remember(report.Findings); err != nil {
		return err
	}
	return a.showScan(&report)
}

// judge scans one file and adds what was found to the report.
func (e *examiner) judge(report *scanReport, name string, key api.Key, content []byte) {
	report.Files++
	judged, err := e.guard.Judge(key, content)
	if err != nil {
		// What cannot be scanned is not sent either.
		report.Refused++
		report.Findings = append(report.Findings, shownFinding{
			File: name, Rule: unscannable, Class: api.ClassSecret, Verdict: api.VerdictRefuse, Cure: err.Error(),
		})
		return
	}
	name = nameWithout(name, judged)
	for _, j := range textFindings(judged, content) {
		report.Findings = append(report.Findings, shown(name, j))
		switch j.Verdict {
		case api.VerdictRefuse:
			report.Refused++
		case api.VerdictHold:
			report.Held++
		}
	}
}

func shown(name string, j guard.Judged) shownFinding {
	return shownFinding{
		File: name, Rule: j.Rule, Class: j.Class, Verdict: j.Verdict, Severity: string(j.Severity),
		Line: j.Line, Column: j.Column, EndLine: j.EndLine, Fingerprint: j.Fingerprint, Accepted: j.Accepted, Cure: cureOf(j),
	}
}

// cureOf is what a person can do about a finding.
func cureOf(j guard.Judged) string {
	accept := ", or where it is harmless: client secrets accept " + j.Fingerprint + " --reason WHY"
	if j.Fingerprint == "" || !api.Accepts(j.Rule) {
		accept = "; it is never accepted"
	}
	switch {
	case j.Accepted == guard.Here:
		return "accepted here; the server may still refuse it"
	case j.Accepted != "":
		return "accepted by the organization"
	case j.Verdict == api.VerdictRefuse && j.Line == 0:
		return "rename the file" + accept
	case j.Verdict == api.VerdictRefuse:
		return "take it out" + accept
	case j.Verdict == api.VerdictHold:
		return "it goes out as a proposal; take it out" + accept
	case j.Verdict == api.VerdictFlag:
		return "it goes out; take it out if it does not belong there"
	}
	return ""
}

// mostSeen bounds how many findings are remembered for accepting.
const mostSeen = 2000

// remember notes what was shown, so that a fingerprint can be accepted by itself.
func (e *examiner) remember(found []shownFinding) error {
	if len(found) == 0 {
		return nil
	}
	advice, err := e.store.Advice()
	if err != nil && !errors.Is(err, state.ErrDamaged) {
		return err
	}
	known := map[string]bool{}
	for _, s := range advice.Seen {
		known[s.Fingerprint] = true
	}
	before := len(advice.Seen)
	for _, f := range found {
		if f.Fingerprint != "" && f.Verdict != api.VerdictAccept && !known[f.Fingerprint] {
			known[f.Fingerprint] = true
			advice.Seen = append(advice.Seen, state.SeenFinding{Fingerprint: f.Fingerprint, Rule: f.Rule, Class: f.Class})
		}
	}
	if len(advice.Seen) == before {
		return nil
	}
	advice.Seen = advice.Seen[max(0, len(advice.Seen)-mostSeen):]
	return e.store.SaveAdvice(advice)
}

func (a *app) showScan(report *scanReport) error {
	switch {
	case report.Refused > 0:
		report.ExitStatus = exitHeld
	case len(report.Unread) > 0:
		report.ExitStatus = exitFailed
	}
	if len(report.Unread) > 0 {
		report.ExitStatus = worst(report.ExitStatus, exitFailed)
	}
	if a.json {
		a.term.Value(report)
	} else {
		a.term.Rows(scanRows(report.Findings, a.quiet))
		for _, u := range report.Unread {
			a.term.Warn(u.File+" was not scanned: "+u.Error, "")
		}
		a.term.Note(fmt.Sprintf("%s scanned, %s, %s refused, %s held",
			tui.Count(report.Files, "file", "files"), tui.Count(len(report.Findings), "finding", "findings"), tui.Number(report.Refused), tui.Number(report.Held)))
	}
	if report.ExitStatus != exitDone {
		return &standing{report.ExitStatus}
	}
	return nil
}

// levelOf is how a verdict is graded in a table.
var levelOf = map[api.Verdict]tui.Level{
	api.VerdictRefuse: tui.Failed, api.VerdictHold: tui.Warn, api.VerdictFlag: tui.Warn, api.VerdictAccept: tui.OK,
}

// scanRows are the findings as a table; quiet leaves those that keep a file here.
func scanRows(findings []shownFinding, quiet bool) (rows []tui.Row) {
	for _, f := range findings {
		if quiet && f.Verdict != api.VerdictRefuse {
			continue
		}
		place := f.File
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
		}
		rows = append(rows, tui.Row{
			Level: levelOf[f.Verdict], Label: place, Text: f.Rule,
			Note: fmt.Sprintf("%s, %s  %s", f.Class, verdictWords[f.Verdict], f.Fingerprint), Cure: f.Cure,
		})
	}
	return rows
}

var verdictWords = map[api.Verdict]string{
	api.VerdictRefuse: "refused", api.VerdictHold: "held for review", api.VerdictFlag: "flagged", api.VerdictAccept: "let through",
}
