package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/archive"
	"github.com/teammem/teammem/client/carry"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/tui"
)

func (a *app) importCommand() *cobra.Command {
	var opts carry.Options
	cmd := &cobra.Command{
		Use:     "import FILE",
		Short:   "Put what client export kept into a repo",
		GroupID: groupHistory,
		Long: `Import reads an archive to its end, scans it, and pushes what the repo does not have,
as you. Nothing is overwritten: what differs there, or was deleted there, is named and
left, unless --replace. Done again it sends what is missing. - is standard input.

` + exitHelp + `
4 is also for entries that were left because they differ or were deleted there.`,
		Example: `  client import widgets.tar.gz --repo acme/widgets --dry-run
  client import widgets.tar.gz --server https://new.example --repo acme/widgets`,
		Args:              oneArchive,
		ValidArgsFunction: archivesOnly,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.importArchive(cmd.Context(), args[0], opts) },
	}
	cmd.Flags().BoolVar(&opts.Replace, "replace", false, "also write over entries that differ there, and bring back deleted ones")
	cmd.Flags().BoolVar(&opts.DryRun, "dry-run", false, "send nothing, and show what would be")
	return cmd
}

func (a *app) importArchive(ctx context.Context, name string, opts carry.Options) error {
	from, err := a.readArchive(name)
	if err != nil {
		return err
	}
	r, err := a.reader()
	if err != nil {
		return err
	}
	defer r.server.Close()
	defer collectLate()()
	// The policy that holds is that of the server at hand; what a directory here knows
	// may be another's.
	judge := guard.New(guard.ScanRules, guard.Defaults(), r.server, time.Now)
	if _, err := judge.Refresh(ctx); err != nil {
		return err
	}
	opts.Progress = a.newProgress().step
	result, err := carry.Import(ctx, r.server, judge, r.repo, from, opts)
	if len(result.Outcomes) > 0 {
		a.showImport(r.repo, result, opts.DryRun)
	}
	if err != nil {
		return err
	}
	if code := importStatus(result); code != exitDone {
		return &standing{code}
	}
	return nil
}

// readArchive reads the file to its end before anything is asked of a server.
func (a *app) readArchive(name string) (archive.Archive, error) {
	var from io.Reader = a.stdin
	if name != standard {
		path, err := a.env.Abs(name)
		if err != nil {
			return archive.Archive{}, asUsage(err)
		}
		file, err := os.Open(path)
		if err != nil {
			return archive.Archive{}, asUsage(err)
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	read, err := archive.Read(from, archive.DefaultBounds)
	var damaged *archive.DamagedError
	if errors.As(err, &damaged) {
		return read, fmt.Errorf("%s: nothing was imported: %w", name, err)
	}
	return read, err
}

// imported is client import --json.
type imported struct {
	Repo     api.RepoSlug       `json:"repo"`
	Version  api.Version        `json:"version"` // of the repo, afterwards
	DryRun   bool               `json:"dryRun"`
	Counts   map[carry.What]int `json:"counts"`
	Entries  []carry.Outcome    `json:"entries"`
	ExitCode exitCode           `json:"exitStatus"` // unless the import ended before
}

// tidings is how a person is told of each outcome.
var tidings = []struct {
	what carry.What
	kind tui.Kind
	text string
	hint string
}{
	{carry.Differs, tui.Left, "another text stands there", "--replace writes over it"},
	{carry.Deleted, tui.Left, "was deleted there", "--replace brings it back"},
	{carry.Proposed, tui.Proposed, "", ""},
	{carry.Held, tui.Held, "", ""},
	{carry.Refused, tui.Held, "", ""},
}

func (a *app) showImport(repo api.RepoSlug, result carry.Result, dryRun bool) {
	counts := map[carry.What]int{}
	for _, o := range result.Outcomes {
		counts[o.What]++
	}
	if a.json {
		a.term.Value(imported{repo, result.Version, dryRun, counts, result.Outcomes, importStatus(result)})
		return
	}
	for _, tiding := range tidings {
		for _, o := range result.Outcomes {
			if o.What != tiding.what {
				continue
			}
			text := tiding.text
			switch {
			case o.What == carry.Held:
				text = "held back: " + foundText(o.Rule, o.Line)
			case text == "":
				text = o.Why
			}
			a.term.Event(tui.Event{Kind: tiding.kind, Keys: []api.Key{o.Key}, Text: text, Hint: tiding.hint})
		}
	}
	if !a.quiet {
		a.term.Print(importSummary(repo, result.Version, counts, dryRun))
	}
}

func importSummary(repo api.RepoSlug, version api.Version, counts map[carry.What]int, dryRun bool) string {
	verb := "imported"
	if dryRun {
		verb = "would import"
	}
	text := fmt.Sprintf("%s %s into %s", verb, tui.Count(counts[carry.Written], "entry", "entries"), repo)
	for _, part := range []struct {
		n    int
		text string
	}{
		{counts[carry.Same], "there already"},
		{counts[carry.Differs] + counts[carry.Deleted], "left as they stand there"},
		{counts[carry.Proposed], "waiting for approval"},
		{counts[carry.Held], "held back"},
		{counts[carry.Refused], "refused"},
		{counts[carry.Unsent], "not sent"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(", %s %s", tui.Number(part.n), part.text)
		}
	}
	if version > 0 && !dryRun {
		text += "; version " + tui.Number(version)
	}
	return text
}

// importStatus is the exit status of an import that came to its end.
func importStatus(result carry.Result) exitCode {
	var codes []exitCode
	for _, o := range result.Outcomes {
		switch o.What {
		case carry.Differs, carry.Deleted:
			codes = append(codes, exitConflicts)
		case carry.Held:
			codes = append(codes, exitHeld)
		case carry.Refused:
			codes = append(codes, exitFailed)
		}
	}
	return worst(codes...)
}
