package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/reading"
	"github.com/teammem/teammem/server/store"
)

// listCatalogue lists live entries with what is known of them. The cursor is the last
// key.
func (h *Handler) listCatalogue(c *call) error {
	q, err := parseHistoryQuery(c)
	if err != nil {
		return err
	}
	filter := reading.Filter{Type: q.values.Get("type"), Author: q.values.Get("author"), Prefix: q.values.Get("prefix")}
	if filter.Type != "" && filter.Type != "none" && memory.TypeOf(filter.Type) == memory.None {
		return badQuery(fmt.Sprintf("there is no type %q: want user, feedback, project, reference or none", clip(filter.Type)))
	}
	if filter.After, err = timeOf(q.values, "after"); err != nil {
		return err
	}
	if filter.Before, err = timeOf(q.values, "before"); err != nil {
		return err
	}
	catalogue, err := h.reads.Catalogue(c.r.Context(), c.caller, q.repo)
	if err != nil {
		return err
	}
	list := api.Catalogue{Entries: []api.EntryFacts{}}
	for _, e := range catalogue.Entries {
		if !filter.Admits(e) {
			continue
		}
		list.Total++
		switch {
		case string(e.Key) <= q.cursor:
		case len(list.Entries) < q.limit:
			list.Entries = append(list.Entries, wireFacts(e))
		default:
			list.NextCursor = string(list.Entries[q.limit-1].Key)
		}
	}
	if err := h.countReads(c, catalogue.Head.ID, list.Entries); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, list)
}

// countReads fills in how often entries were read, which no version says.
func (h *Handler) countReads(c *call, repo store.RepoID, all []api.EntryFacts) error {
	keys := make([]api.Key, len(all))
	for i := range all {
		keys[i] = all[i].Key
	}
	reads, err := h.figures.Reads(c.r.Context(), repo, keys)
	for i := range all {
		all[i].Reads = reads[all[i].Key]
	}
	return err
}

// timeOf reads a time from a query; the zero time when it is absent.
func timeOf(values url.Values, name string) (time.Time, error) {
	text := values.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := api.ParseTime(text)
	if err != nil {
		return time.Time{}, badQuery(fmt.Sprintf("%s %q is not a time such as 2026-11-30T12:00:00Z", name, clip(text)))
	}
	return at.Time, nil
}

func wireFacts(e *reading.Entry) api.EntryFacts {
	facts := api.EntryFacts{
		EntryInfo: api.EntryInfo{Key: e.Key, Checksum: e.Checksum, Bytes: e.Size, Modified: api.NewTime(e.Modified), Version: e.Version},
		Name:      e.Head.Name, Description: e.Head.Description, Type: string(e.Head.Type),
		User: e.User, Client: e.Client, At: api.NewTime(e.At), Index: e.Index, Orphan: e.Orphan, Links: len(e.Links), LinkedBy: len(e.LinkedBy),
	}
	for _, l := range e.Links {
		if l.Dangles {
			facts.Dangling++
		}
	}
	return facts
}

func wireLinks(from api.Key, links []reading.Link) []api.EntryLink {
	all := make([]api.EntryLink, 0, len(links))
	for _, l := range links {
		all = append(all, api.EntryLink{From: from, To: l.To, Target: l.Target, Line: l.Line, Wiki: l.Wiki})
	}
	return all
}

// getLinks tells of one entry how it is linked.
func (h *Handler) getLinks(c *call) error {
	q, err := parseHistoryQuery(c)
	if err != nil {
		return err
	}
	if err := q.needKey(); err != nil {
		return err
	}
	catalogue, err := h.reads.Catalogue(c.r.Context(), c.caller, q.repo)
	if err != nil {
		return err
	}
	e := catalogue.Get(q.key)
	if e == nil {
		return &api.Error{
			Code: api.NotFound, Message: fmt.Sprintf("there is no entry %q", q.key),
			Details: api.Details{ErrorCode: api.ErrorCodeNoEntry, Key: q.key},
		}
	}
	facts := []api.EntryFacts{wireFacts(e)}
	if err := h.countReads(c, catalogue.Head.ID, facts); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, api.EntryLinks{EntryFacts: facts[0], Out: wireLinks(e.Key, e.Links), In: shown(e.LinkedBy)})
}

// shown is a list as JSON has it: never null, and no longer than a page.
func shown[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all[:min(len(all), api.MaxPage)]
}

// getIndexes tells what agents are told of by themselves, and what they are not.
func (h *Handler) getIndexes(c *call) error {
	q, err := parseHistoryQuery(c)
	if err != nil {
		return err
	}
	catalogue, err := h.reads.Catalogue(c.r.Context(), c.caller, q.repo)
	if err != nil {
		return err
	}
	orphans := catalogue.Orphans()
	report := api.IndexReport{Indexes: []api.IndexFacts{}, Orphans: shown(orphans), TotalOrphans: len(orphans)}
	for _, x := range catalogue.Indexes {
		report.Indexes = append(report.Indexes, api.IndexFacts{
			Key: x.Entry.Key, Lines: x.Cut.Lines, Bytes: x.Cut.Bytes, LoadedLines: x.Cut.Kept, LoadedBytes: len(x.Cut.Text),
			MaxLines: memory.IndexLines, MaxBytes: memory.IndexBytes, Warning: x.Cut.Warning(),
			Outside: shown(wireLinks(x.Entry.Key, x.Outside)), Missing: shown(x.Missing),
		})
	}
	dangling := []api.EntryLink{}
	for _, e := range catalogue.Entries {
		for _, l := range wireLinks(e.Key, e.Links) {
			if l.To == "" {
				dangling = append(dangling, l)
			}
		}
	}
	report.Dangling, report.TotalDangling = shown(dangling), len(dangling)
	report.Indexes = shown(report.Indexes)
	return writeJSON(c, http.StatusOK, report)
}

// getBlame says who wrote each line.
func (h *Handler) getBlame(c *call) error {
	q, err := parseHistoryQuery(c)
	if err != nil {
		return err
	}
	if err := q.needKey(); err != nil {
		return err
	}
	lines, err := h.reads.Blame(c.r.Context(), c.caller, q.repo, q.key)
	if err != nil {
		return err
	}
	blame := api.Blame{Key: q.key, Lines: make([]api.BlameLine, 0, len(lines))}
	for _, l := range lines {
		blame.Lines = append(blame.Lines, api.BlameLine{
			Line: l.Number, Text: l.Text, Version: l.Version, At: api.NewTime(l.At), User: l.User, Client: l.Client, Older: l.Older,
		})
	}
	return writeJSON(c, http.StatusOK, blame)
}

func wireHunks(hunks []reading.Hunk) []api.DiffHunk {
	all := make([]api.DiffHunk, 0, len(hunks))
	for _, h := range hunks {
		hunk := api.DiffHunk{Old: h.Old, New: h.New}
		for _, l := range h.Lines {
			line := api.DiffLine{Old: l.Old, New: l.New, Spans: []api.DiffSpan{}}
			for _, s := range l.Spans {
				line.Spans = append(line.Spans, api.DiffSpan(s))
			}
			hunk.Lines = append(hunk.Lines, line)
		}
		all = append(all, hunk)
	}
	return all
}

// exportRepo writes a repo as an archive.
func (h *Handler) exportRepo(c *call) error {
	q, err := parseHistoryQuery(c)
	if err != nil {
		return err
	}
	form, err := reading.ParseFormat(q.values.Get("format"))
	if err != nil {
		return badQuery(err.Error())
	}
	export, err := h.reads.Export(c.r.Context(), c.caller, q.repo, form)
	if err != nil {
		return err
	}
	header := c.w.Header()
	header.Set("Content-Type", form.ContentType())
	header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", export.Name))
	if c.r.Method == http.MethodHead {
		return nil
	}
	c.begun = true
	h.leaks.Pulled(c.caller, export.Head.ID, export.Head.Version)
	return export.Write(c.r.Context(), c.w)
}

// editEntry writes one entry on the text that was seen.
func (h *Handler) editEntry(c *call) error {
	return h.change(c, func(repo api.RepoSlug, body []byte) (ledger.Result, error) {
		ask, err := api.DecodeEdit(body)
		if err != nil {
			return ledger.Result{}, err
		}
		return h.ledger.Edit(c.r.Context(), c.caller, repo, ask)
	})
}

// moveEntry gives an entry another key.
func (h *Handler) moveEntry(c *call) error {
	return h.change(c, func(repo api.RepoSlug, body []byte) (ledger.Result, error) {
		ask, err := api.DecodeMove(body)
		if err != nil {
			return ledger.Result{}, err
		}
		return h.ledger.Move(c.r.Context(), c.caller, repo, ask)
	})
}

// change carries out a change of a repo that a body asks for.
func (h *Handler) change(c *call, carryOut func(repo api.RepoSlug, body []byte) (ledger.Result, error)) error {
	q, err := parseHistoryQuery(c)
	if err != nil {
		return err
	}
	body, err := h.readBody(c)
	if err != nil {
		return err
	}
	epoch, err := h.db.Epoch(c.r.Context())
	if err != nil {
		return err
	}
	c.caller.Role = c.roleOn(c.who.Resolve(q.repo))
	done, err := carryOut(q.repo, body)
	if err != nil {
		return err
	}
	return writeResult(c, epoch, done)
}
