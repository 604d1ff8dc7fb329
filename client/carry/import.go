package carry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/archive"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/remote"
)

// What is what became of an entry.
type What string

// The outcomes.
const (
	Written  What = "written"
	Proposed What = "proposed" // it waits for approval
	Same     What = "same"     // it stands there already
	Differs  What = "differs"  // another text stands there, and is left
	Deleted  What = "deleted"  // it was deleted there, and stays so
	Held     What = "held"     // by the scanner, here or there
	Refused  What = "refused"  // by the server, for another reason
	Unsent   What = "unsent"   // the import ended before
)

// Outcome is what became of one entry, or what would.
type Outcome struct {
	Key  api.Key `json:"key"`
	What What    `json:"what"`
	Rule string  `json:"rule,omitempty"` // of what is held
	Line int     `json:"line,omitempty"`
	Why  string  `json:"why,omitempty"`
}

// Result is an import.
type Result struct {
	Outcomes []Outcome   // by key
	Version  api.Version // of the repo, afterwards; 0: it has no memory
}

// Of are the keys with an outcome.
func (r Result) Of(what What) (keys []api.Key) {
	for _, o := range r.Outcomes {
		if o.What == what {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// Options say how to import.
type Options struct {
	Replace  bool // also what differs there, and what was deleted there
	DryRun   bool // send nothing; Written is then what would be
	Progress Progress
}

// rounds is how often the import looks anew because others write to the repo.
const rounds = 8

// Import writes an archive to a repo. On an error the result says what was written
// before.
func Import(ctx context.Context, server Server, judge Judge, repo api.RepoSlug, from archive.Archive, opts Options) (Result, error) {
	i := &importer{server: server, judge: judge, repo: repo, from: from, opts: opts, became: map[api.Key]Outcome{}}
	err := i.run(ctx)
	result := Result{Version: i.version}
	for _, e := range from.Entries {
		o, ok := i.became[e.Key]
		if !ok {
			o = Outcome{What: Unsent}
		}
		o.Key = e.Key
		result.Outcomes = append(result.Outcomes, o)
	}
	return result, err
}

type importer struct {
	server  Server
	judge   Judge
	repo    api.RepoSlug
	from    archive.Archive
	opts    Options
	limits  api.Limits
	version api.Version
	became  map[api.Key]Outcome
	full    *api.Error // there is no room for what is new
	done    int
}

func (i *importer) run(ctx context.Context) error {
	known, err := i.server.WellKnown(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(known.Extensions, api.ExtensionBaseChecksums) {
		return errors.New("this server takes no checksum for each key, so that an import might overwrite what others write meanwhile")
	}
	if i.limits = known.Limits; i.limits.BatchBytes <= 0 {
		i.limits.BatchBytes = api.DefaultLimits.BatchBytes
	}
	if err := i.scan(); err != nil {
		return err
	}
	for round := 0; ; round++ {
		err := i.round(ctx)
		if e, ok := api.AsError(err); ok && e.Code == api.Conflict && !e.Foreign && round+1 < rounds {
			continue // somebody wrote to one of the keys: look again
		}
		return err
	}
}

// scan holds back what must not leave, before anything does.
func (i *importer) scan() error {
	for n, e := range i.from.Entries {
		judged, err := i.judge.Judge(e.Key, i.from.Texts[e.Key])
		if err != nil {
			return fmt.Errorf("scan %s: %w", e.Key, err)
		}
		worst := guard.Worst(judged)
		if worst != nil && (worst.Verdict == api.VerdictRefuse || worst.Verdict == api.VerdictHold && !i.judge.Reviews()) {
			i.became[e.Key] = Outcome{What: Held, Rule: worst.Rule, Line: worst.Line}
		}
		i.opts.Progress("scanning", n+1, len(i.from.Entries))
	}
	return nil
}

// round looks at what stands there, and sends what is still to be sent.
func (i *importer) round(ctx context.Context) error {
	answer, err := i.server.Get(ctx, i.repo, remote.Query{Hashes: true})
	if err != nil {
		return err
	}
	stands := answer.Memory
	i.version = stands.Version
	var items []item
	for _, e := range i.from.Entries {
		if _, settled := i.became[e.Key]; settled {
			continue
		}
		base, exists := stands.Content.EntryChecksums[e.Key]
		_, deleted := stands.Deleted[e.Key]
		switch {
		case base == e.Checksum:
			i.became[e.Key] = Outcome{What: Same}
		case exists && !i.opts.Replace:
			i.became[e.Key] = Outcome{What: Differs}
		case deleted && !i.opts.Replace:
			i.became[e.Key] = Outcome{What: Deleted}
		case i.opts.DryRun:
			i.became[e.Key] = Outcome{What: Written}
		default:
			it, err := i.item(e, base, exists)
			if err != nil {
				return err
			}
			items = append(items, it)
		}
	}
	// Topics before the indexes that lead to them, as a sync sends them.
	slices.SortStableFunc(items, func(a, b item) int { return b2i(a.IsIndex()) - b2i(b.IsIndex()) })
	i.done = len(i.from.Entries) - len(items)
	for batch := range batches(items, i.limits.BatchBytes) {
		if err := i.send(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// item is an entry on its way.
type item struct {
	archive.Entry
	base *api.Checksum // nil: nothing stands there
	size int           // of its part of the body
}

// IsIndex reports whether others are listed in it.
func (it item) IsIndex() bool { return it.Key.IsIndex() }

// overhead is what an entry takes in a body beside its key and its text.
const overhead = 160

func (i *importer) item(e archive.Entry, base api.Checksum, exists bool) (item, error) {
	quoted, err := json.Marshal(string(i.from.Texts[e.Key]))
	if err != nil {
		return item{}, fmt.Errorf("encode %s: %w", e.Key, err)
	}
	it := item{Entry: e, size: len(quoted) + 2*len(e.Key) + overhead}
	if exists {
		it.base = &base
	}
	return it, nil
}

// batches fills bodies up to most bytes, in order. What is larger travels alone.
func batches(items []item, most int) func(yield func([]item) bool) {
	return func(yield func([]item) bool) {
		from, size := 0, 0
		for n, it := range items {
			if n > from && size+it.size > most {
				if !yield(items[from:n]) {
					return
				}
				from, size = n, 0
			}
			size += it.size
		}
		if from < len(items) {
			yield(items[from:])
		}
	}
}

// send sends a batch. Of one that is refused for good it finds the entries that are to
// blame, so that the others still get in.
func (i *importer) send(ctx context.Context, batch []item) error {
	if i.full != nil {
		batch = i.withoutNew(batch)
	}
	if len(batch) == 0 {
		return nil
	}
	result, err := i.server.Put(ctx, i.repo, i.body(batch), "")
	if err == nil {
		i.sent(batch, result)
		return nil
	}
	e, ok := api.AsError(err)
	if !ok || e.Foreign || !blamesEntry(e) {
		return err
	}
	if rest := i.withoutHeld(batch, e); len(rest) < len(batch) {
		return i.send(ctx, rest)
	}
	if len(batch) > 1 {
		half := len(batch) / 2
		if err := i.send(ctx, batch[:half]); err != nil {
			return err
		}
		return i.send(ctx, batch[half:])
	}
	switch e.Details.ErrorCode {
	case api.ErrorCodeTooManyEntries, api.ErrorCodeTooManyRepos:
		i.full = e // nothing that is new fits any more
	}
	i.settle(batch[0], Outcome{What: Refused, Why: e.Message})
	return nil
}

func blamesEntry(e *api.Error) bool {
	switch e.Code {
	case api.RequestTooLarge, api.Refused:
		return true
	case api.InvalidRequest:
		return e.Details.ErrorCode != api.ErrorCodeBadRepo && e.Status == 0
	}
	return false
}

func (i *importer) body(batch []item) api.Push {
	push := api.Push{Entries: map[api.Key]string{}, BaseChecksums: map[api.Key]*api.Checksum{}, Modified: map[api.Key]api.Time{}}
	for _, it := range batch {
		push.Entries[it.Key] = string(i.from.Texts[it.Key])
		push.BaseChecksums[it.Key] = it.base
		if !it.Modified.IsZero() {
			push.Modified[it.Key] = it.Modified
		}
	}
	return push
}

func (i *importer) settle(it item, o Outcome) {
	i.became[it.Key] = o
	i.done++
	i.opts.Progress("importing", i.done, len(i.from.Entries))
}

func (i *importer) sent(batch []item, result api.PushResult) {
	i.version = result.Version
	held := make(map[api.Key]api.Held, len(result.Held))
	for _, h := range result.Held {
		held[h.Key] = h
	}
	for _, it := range batch {
		h, waits := held[it.Key]
		switch {
		case waits && h.State == api.ProposalRejected:
			i.settle(it, Outcome{What: Refused, Why: strings.TrimSpace("it was proposed and rejected before: " + h.Reason)})
		case waits:
			i.settle(it, Outcome{What: Proposed, Rule: h.Rule, Line: h.Line, Why: h.Reason})
		default:
			i.settle(it, Outcome{What: Written})
		}
	}
}

// withoutHeld notes what the server's scan refused, and gives the rest of the batch.
func (i *importer) withoutHeld(batch []item, e *api.Error) (rest []item) {
	first := make(map[api.Key]api.EntryFinding, len(e.Details.Refused))
	for _, f := range e.Details.Refused {
		if _, ok := first[f.Key]; !ok {
			first[f.Key] = f
		}
	}
	for _, it := range batch {
		if f, ok := first[it.Key]; ok {
			i.settle(it, Outcome{What: Held, Rule: f.Rule, Line: f.Line, Why: "the server refuses it"})
		} else {
			rest = append(rest, it)
		}
	}
	return rest
}

// withoutNew refuses what there is no room for, without asking once more for each.
func (i *importer) withoutNew(batch []item) (rest []item) {
	for _, it := range batch {
		if it.base == nil {
			i.settle(it, Outcome{What: Refused, Why: i.full.Message})
		} else {
			rest = append(rest, it)
		}
	}
	return rest
}
