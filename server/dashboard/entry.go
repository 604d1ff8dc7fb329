package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/server/reading"
	"github.com/teammem/teammem/server/store"
)

// entryHead is what all pages of one entry have.
type entryHead struct {
	frame
	Repo     api.RepoSlug
	Key      api.Key
	Past     store.Past // the change that made it what is shown
	Tab      string
	Old      bool // it is an earlier version
	Gone     bool // it was deleted
	MayWrite bool
}

// entryView is one entry, rendered or as it stands.
type entryView struct {
	entryHead
	Entry    *reading.Entry // nil for an earlier version, and where it was deleted
	Head     memory.Head
	Fields   []memory.Field
	HTML     template.HTML
	Text     string
	Redacted *store.Redaction
	Findings []store.Finding
	Readers  []string
	Links    []reading.Link // each target once
}

func (v *visit) entryHead(tab string) (entryHead, error) {
	key, err := v.key()
	if err != nil {
		return entryHead{}, err
	}
	v.Title = string(key)
	head := entryHead{Repo: v.repo, Key: key, Tab: tab, MayWrite: v.mayWrite()}
	v.Live = v.live()
	head.frame = v.frame
	return head, nil
}

// mayWrite reports whether the visitor may write the repo, or propose to it.
func (v *visit) mayWrite() bool {
	if v.who.MayOn(api.Write, v.repo) {
		return true
	}
	proposes, err := v.h.parts.Ledger.MayPropose(v.r.Context(), v.caller)
	return err == nil && proposes
}

func (v *visit) version(name string) (api.Version, error) {
	text := v.query.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil {
		return 0, notANumber(name, text)
	}
	return api.Version(n), nil
}

func showEntry(v *visit) error {
	ctx := v.r.Context()
	tab := "text"
	if v.query.Get("view") == "raw" {
		tab = "raw"
	}
	head, err := v.entryHead(tab)
	if err != nil {
		return err
	}
	version, err := v.version("version")
	if err != nil {
		return err
	}
	view := entryView{entryHead: head}
	past, content, err := v.h.parts.Ledger.At(ctx, v.caller, v.repo, head.Key, version)
	if e, ours := api.AsError(err); ours && e.Details.ErrorCode == api.ErrorCodeRedacted {
		gone, failed := v.h.parts.Ledger.Redactions(ctx, v.caller, []api.Checksum{past.Checksum})
		if r, ok := gone[past.Checksum]; failed == nil && ok {
			view.Redacted = &r
			err = nil
		}
	}
	if err != nil {
		return err
	}
	view.Past, view.Gone, view.Old = past, past.Deleted, version > 0
	view.Text, view.Head, view.Fields = string(content), memory.Parse(content), memory.Fields(content)
	if err := v.around(&view, content); err != nil {
		return err
	}
	return v.show("entry", view)
}

// around adds to an entry what the repo says of it: where links lead, what was found in
// it, who was served it.
func (v *visit) around(view *entryView, content []byte) error {
	catalogue, err := v.h.parts.Reading.Catalogue(v.r.Context(), v.caller, v.repo)
	if isNoEntry(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if view.Redacted == nil {
		view.HTML = v.h.markdown.render(content[view.Head.Body:], v.linksOf(catalogue, view.Key))
	}
	e := catalogue.Get(view.Key)
	if e == nil || e.Version != view.Past.Version {
		return nil
	}
	view.Entry, view.Old, view.Links = e, false, once(e.Links)
	if view.Findings, err = v.findings(view.Key); err != nil {
		return err
	}
	view.Readers, err = v.readers(v.repo)
	return err
}

// once leaves of links to one place the first.
func once(links []reading.Link) (all []reading.Link) {
	seen := map[string]bool{}
	for _, l := range links {
		to := cmp.Or(string(l.To), l.Target)
		if !seen[to] {
			all = append(all, l)
		}
		seen[to] = true
	}
	return all
}

// findings are what the policy flagged in one entry.
func (v *visit) findings(key api.Key) (all []store.Finding, err error) {
	found, err := v.h.parts.Ledger.Findings(v.r.Context(), v.caller, v.repo, before(key), 1)
	for _, f := range found {
		if f.Key == key {
			all = append(all, f)
		}
	}
	return all, err
}

// before is a key that stands just before another in key order.
func before(key api.Key) api.Key {
	last := len(key) - 1
	return key[:last] + api.Key([]byte{key[last] - 1}) + "\xff"
}

// linksOf finds where the links of an entry lead, by what the repo holds now.
func (v *visit) linksOf(catalogue *reading.Catalogue, key api.Key) linkTo {
	folder := path.Dir(string(key))
	wiki := map[string]api.Key{}
	if e := catalogue.Get(key); e != nil {
		for _, l := range e.Links {
			if l.Wiki {
				wiki[l.Target] = l.To
			}
		}
	}
	at := func(to api.Key) string { return v.At("/entry", "repo", v.repo, "key", to) }
	return func(target string, isWiki bool) (string, bool) {
		if isWiki {
			to, known := wiki[target]
			if to == "" {
				return "", known
			}
			return at(to), true
		}
		if strings.Contains(target, ":") {
			return "", false
		}
		to := api.Key(joined(folder, target))
		if to == "" || catalogue.Get(to) == nil {
			return "", true
		}
		return at(to), true
	}
}

// rawEntry is the bytes of an entry, to be kept as a file.
func rawEntry(v *visit) error {
	key, err := v.key()
	if err != nil {
		return err
	}
	version, err := v.version("version")
	if err != nil {
		return err
	}
	past, content, err := v.h.parts.Ledger.At(v.r.Context(), v.caller, v.repo, key, version)
	if err != nil {
		return err
	}
	if past.Deleted {
		return &fault{http.StatusNotFound, "The entry was deleted.", "Its history has what it was."}
	}
	_, name := split(key)
	v.w.Header().Set("Content-Type", "application/octet-stream")
	v.w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''"+strings.ReplaceAll(template.URLQueryEscaper(name), "+", "%20"))
	_, _ = v.w.Write(content)
	return nil
}

// historyView is the changes of an entry.
type historyView struct {
	entryHead
	Changes []change
	Newer   string
	Older   string
}

// change is one change of a history, as a sentence.
type change struct {
	store.Past
	Verb     string
	Redacted *store.Redaction
	Base     api.Checksum // what stands now, for a restore
	Restore  bool         // it may be restored: it is not what stands
	Waiting  bool         // for approval
}

// showHistory lists the changes of an entry; those of a whole repo are its activity.
func showHistory(v *visit) error {
	ctx := v.r.Context()
	if v.query.Get("key") == "" {
		http.Redirect(v.w, v.r, v.At("/activity", "repo", v.repo), http.StatusSeeOther)
		return nil
	}
	head, err := v.entryHead("history")
	if err != nil {
		return err
	}
	before, err := v.version("before")
	if err != nil {
		return err
	}
	const most = 50
	past, err := v.h.parts.Ledger.History(ctx, v.caller, v.repo, head.Key, before, most+1)
	if err != nil {
		return err
	}
	view := historyView{}
	versions := 0
	for i, p := range past {
		if i == 0 || past[i-1].Version != p.Version {
			if versions++; versions > most {
				view.Older = v.turned("before", strconv.FormatInt(int64(past[i-1].Version), 10))
				past = past[:i]
				break
			}
		}
	}
	if before > 0 {
		view.Newer = v.turned("before", "")
	}
	if view.Changes, err = v.changes(past, before == 0); err != nil {
		return err
	}
	if before == 0 && len(past) > 0 {
		head.Past, head.Gone = past[0], past[0].Deleted
	}
	head.frame = v.frame
	view.entryHead = head
	return v.show("history", view)
}

// changes tells changes as sentences. newest says that the list begins with what stands.
func (v *visit) changes(past []store.Past, newest bool) ([]change, error) {
	sums := make([]api.Checksum, len(past))
	for i, p := range past {
		sums[i] = p.Checksum
	}
	gone, err := v.h.parts.Ledger.Redactions(v.r.Context(), v.caller, sums)
	if err != nil {
		return nil, err
	}
	seen := map[api.Key]bool{}
	all := make([]change, 0, len(past))
	for _, p := range past {
		c := change{Past: p, Verb: "changed", Restore: seen[p.Key] || !newest}
		seen[p.Key] = true
		switch {
		case p.Deleted:
			c.Verb = "deleted"
		case p.Previous == "":
			c.Verb = "wrote"
		}
		if r, ok := gone[p.Checksum]; ok {
			c.Redacted, c.Restore = &r, false
		}
		all = append(all, c)
	}
	return all, nil
}

// diffView is what changed in an entry from one version to another.
type diffView struct {
	entryHead
	From, To api.Version
	Before   *store.Past // nil: there was nothing
	Diff     []diffRow
	Versions []store.Past
	Restore  bool
	Added    int
	Removed  int
}

func showDiff(v *visit) error {
	ctx := v.r.Context()
	head, err := v.entryHead("history")
	if err != nil {
		return err
	}
	from, err := v.version("from")
	if err != nil {
		return err
	}
	to, err := v.version("to")
	if err != nil {
		return err
	}
	later, after, err := v.h.parts.Ledger.At(ctx, v.caller, v.repo, head.Key, to)
	if err != nil {
		return err
	}
	if from == 0 {
		from = later.Version - 1
	}
	view := diffView{From: from, To: later.Version}
	var old []byte
	if from > 0 {
		earlier, text, err := v.h.parts.Ledger.At(ctx, v.caller, v.repo, head.Key, from)
		switch {
		case err == nil:
			view.Before, view.From, old = &earlier, earlier.Version, text
		case api.CodeOf(err) != api.NotFound:
			return err
		}
	}
	view.compare(string(old), string(after))
	if view.Versions, err = v.h.parts.Ledger.History(ctx, v.caller, v.repo, head.Key, 0, 50); err != nil {
		return err
	}
	if len(view.Versions) > 0 {
		view.Restore = head.MayWrite && view.Before != nil && view.Versions[0].Version == later.Version
	}
	head.Past, head.Gone = later, later.Deleted
	view.entryHead = head
	return v.show("diff", view)
}

// compare fills in what changed, and counts it.
func (view *diffView) compare(old, new string) {
	view.Diff = diffRows(old, new)
	for _, row := range view.Diff {
		switch row.Class {
		case "add":
			view.Added++
		case "del":
			view.Removed++
		}
	}
}

// blameView says who wrote each line.
type blameView struct {
	entryHead
	Lines []blameRow
}

type blameRow struct {
	reading.Line
	First bool // of the lines that came with one change
}

func showBlame(v *visit) error {
	head, err := v.entryHead("lines")
	if err != nil {
		return err
	}
	lines, err := v.h.parts.Reading.Blame(v.r.Context(), v.caller, v.repo, head.Key)
	if err != nil {
		return err
	}
	view := blameView{}
	for i, l := range lines {
		l.Text = strings.TrimSuffix(strings.TrimSuffix(l.Text, "\n"), "\r")
		view.Lines = append(view.Lines, blameRow{l, i == 0 || lines[i-1].Version != l.Version})
	}
	if past, _, err := v.h.parts.Ledger.At(v.r.Context(), v.caller, v.repo, head.Key, 0); err == nil {
		head.Past = past
	}
	view.entryHead = head
	return v.show("blame", view)
}

// quicker says who was quicker than an edit.
func quicker(e *api.Error) string {
	q := e.Details.Quicker
	if q == nil {
		return "Somebody was quicker."
	}
	did := "changed"
	if q.Deleted {
		did = "deleted"
	}
	from := ""
	if q.Client != "" {
		from = " from " + q.Client
	}
	return fmt.Sprintf("%s was quicker: %s it with version %d%s.", q.User, did, q.Version, from)
}

// RawView is the tab as addresses name it.
func (e entryHead) RawView() string {
	if e.Tab == "raw" {
		return "raw"
	}
	return ""
}
