package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/server/reading"
	"github.com/teammem/teammem/server/store"
)

// reposView is the repos that somebody may read.
type reposView struct {
	frame
	Repos []repoRow
	Sort  string
	Q     string
	pages
}

type repoRow struct {
	store.RepoInfo
	Role    api.Role
	Waiting int
}

func listRepos(v *visit) error {
	rows, err := v.repos()
	if err != nil {
		return err
	}
	v.Title = "Repos"
	view := reposView{Sort: v.query.Get("sort"), Q: strings.TrimSpace(v.query.Get("q"))}
	rows = slices.DeleteFunc(rows, func(r repoRow) bool { return !strings.Contains(string(r.Slug), strings.ToLower(view.Q)) })
	switch view.Sort {
	case "entries":
		slices.SortStableFunc(rows, func(a, b repoRow) int { return cmp.Compare(b.Head.Entries, a.Head.Entries) })
	case "size":
		slices.SortStableFunc(rows, func(a, b repoRow) int { return cmp.Compare(b.Head.Bytes, a.Head.Bytes) })
	case "changed":
		slices.SortStableFunc(rows, func(a, b repoRow) int { return b.Head.LastModified.Compare(a.Head.LastModified) })
	}
	view.Repos, view.pages = paged(v, rows)
	view.frame = v.frame
	view.Live = v.live()
	return v.show("repos", view)
}

// repos are those that the visitor may read, by name.
func (v *visit) repos() ([]repoRow, error) {
	all, err := v.h.parts.Orgs.Repos(v.r.Context(), v.who.Org)
	if err != nil {
		return nil, err
	}
	var rows []repoRow
	for _, r := range all {
		if v.who.MayOn(api.Read, r.Slug) {
			rows = append(rows, repoRow{RepoInfo: r, Role: v.who.RoleOn(r.Slug), Waiting: r.Head.Proposals})
		}
	}
	return rows, nil
}

func renameRepo(v *visit) error {
	from, err := api.ParseRepoSlug(v.form("from"))
	if err != nil {
		return err
	}
	to, err := api.ParseRepoSlug(strings.TrimSpace(v.form("to")))
	if err != nil {
		return err
	}
	if err := v.h.parts.Orgs.Rename(v.r.Context(), v.by(), from, to); err != nil {
		return err
	}
	return v.done(v.At("/repo", "repo", to), said{
		Text: fmt.Sprintf("%s is called %s now, and answers under both names.", from, to),
		Undo: v.At("/repos/rename"), Fields: [][2]string{{"from", string(to)}, {"to", string(from)}},
	})
}

// repoView is one repo: its entries as a tree.
type repoView struct {
	frame
	Repo      api.RepoSlug
	Head      store.Head
	Rows      []treeRow
	Types     []string
	Authors   []string
	Filter    reading.Filter
	Age       string
	Q         string
	Filtered  bool
	Dangling  int
	Orphans   int
	Findings  int
	HasIndex  bool
	MayWrite  bool
	MayReview bool
	Self      string
	pages
}

// treeRow is an entry, with the folder above it where that begins.
type treeRow struct {
	*reading.Entry
	Folder string // that begins with this row
	Depth  int
	Name   string
	Type   string
	Reads  int64
}

// ages that the filter offers, by how it names them.
var ages = map[string]time.Duration{"day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "month": 30 * 24 * time.Hour, "quarter": 91 * 24 * time.Hour}

func showRepo(v *visit) error {
	ctx := v.r.Context()
	catalogue, err := v.h.parts.Reading.Catalogue(ctx, v.caller, v.repo)
	if err != nil {
		return err
	}
	findings, err := v.h.parts.Ledger.Findings(ctx, v.caller, v.repo, "", 500)
	if err != nil {
		return err
	}
	v.Title = string(v.repo)
	view := repoView{
		Repo: v.repo, Head: catalogue.Head, Age: v.query.Get("age"), Q: strings.TrimSpace(v.query.Get("q")), Self: v.r.URL.RequestURI(),
		Filter:   reading.Filter{Type: v.query.Get("type"), Author: v.query.Get("author"), Prefix: v.query.Get("in")},
		HasIndex: len(catalogue.Indexes) > 0, Findings: len(findings), Orphans: len(catalogue.Orphans()),
		MayWrite: v.who.MayOn(api.Write, v.repo), MayReview: v.who.MayOn(api.Review, v.repo),
	}
	for _, links := range catalogue.Dangling() {
		view.Dangling += len(links)
	}
	now := v.h.cfg.Now()
	if d, ok := ages[view.Age]; ok {
		view.Filter.After = now.Add(-d)
	} else if view.Age == "older" {
		view.Filter.Before = now.Add(-ages["quarter"])
	}
	view.Filtered = view.Filter != (reading.Filter{}) || view.Q != ""
	view.fill(v, catalogue)
	if err := view.countReads(v); err != nil {
		return err
	}
	view.frame = v.frame
	view.Live = v.live()
	return v.show("repo", view)
}

// fill takes the entries that the filter admits, a page of them, and brings them into
// folders.
func (view *repoView) fill(v *visit, catalogue *reading.Catalogue) {
	authors, types := map[string]bool{}, map[string]bool{}
	var rows []*reading.Entry
	needle := strings.ToLower(view.Q)
	for _, e := range catalogue.Entries {
		authors[e.User], types[typeOf(e)] = true, true
		text := strings.ToLower(string(e.Key) + "\n" + e.Head.Name + "\n" + e.Head.Description)
		if view.Filter.Admits(e) && strings.Contains(text, needle) {
			rows = append(rows, e)
		}
	}
	view.Authors, view.Types = sorted(authors), sorted(types)
	// Files of a folder stand before its folders, as people expect of a tree.
	slices.SortStableFunc(rows, func(a, b *reading.Entry) int { return cmp.Compare(treeKey(a.Key), treeKey(b.Key)) })
	rows, view.pages = paged(v, rows)
	folder := ""
	for _, e := range rows {
		in, name := split(e.Key)
		row := treeRow{Entry: e, Name: name, Depth: min(3, strings.Count(in, "/")), Type: typeOf(e)}
		if in != folder {
			row.Folder, folder = in, in
		}
		view.Rows = append(view.Rows, row)
	}
}

// countReads fills in how often the entries of the page were read.
func (view *repoView) countReads(v *visit) error {
	keys := make([]api.Key, len(view.Rows))
	for i, row := range view.Rows {
		keys[i] = row.Key
	}
	reads, err := v.h.parts.Figures.Reads(v.r.Context(), view.Head.ID, keys)
	for i := range view.Rows {
		view.Rows[i].Reads = reads[view.Rows[i].Key]
	}
	return err
}

func typeOf(e *reading.Entry) string {
	switch {
	case e.Index:
		return "index"
	case e.Head.Type == memory.None:
		return "none"
	}
	return string(e.Head.Type)
}

func sorted(set map[string]bool) []string {
	var all []string
	for s := range set {
		if s != "" {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return all
}

// split takes a key apart into its folder, with its slash, and its name.
func split(key api.Key) (folder, name string) {
	at := strings.LastIndexByte(string(key), '/') + 1
	return string(key[:at]), string(key[at:])
}

func treeKey(key api.Key) string {
	folder, name := split(key)
	return strings.ReplaceAll(folder, "/", "\x01") + "\x00" + name
}

// indexView is the index as agents see it, and what is wrong with the links.
type indexView struct {
	frame
	Repo     api.RepoSlug
	Indexes  []indexRow
	Dangling []danglingRow
	Orphans  []api.Key
	MaxLines int
	MaxBytes int
}

type indexRow struct {
	*reading.Index
	Lines, Bytes int // of the budget, in percent
	Beyond       string
}

type danglingRow struct {
	Key   api.Key
	Links []reading.Link
}

func showIndex(v *visit) error {
	catalogue, err := v.h.parts.Reading.Catalogue(v.r.Context(), v.caller, v.repo)
	if err != nil {
		return err
	}
	v.Title = "Index of " + string(v.repo)
	view := indexView{Repo: v.repo, Orphans: catalogue.Orphans(), MaxLines: memory.IndexLines, MaxBytes: memory.IndexBytes}
	for _, x := range catalogue.Indexes {
		row := indexRow{Index: x, Lines: percent(x.Cut.Lines, memory.IndexLines), Bytes: percent(x.Cut.Bytes, memory.IndexBytes)}
		if x.Cut.Over() {
			_, text, err := v.h.parts.Ledger.At(v.r.Context(), v.caller, v.repo, x.Entry.Key, 0)
			if err != nil {
				return err
			}
			row.Beyond = strings.TrimPrefix(string(text), x.Cut.Text)
			if len(row.Beyond) > 20_000 {
				row.Beyond = strings.ToValidUTF8(row.Beyond[:20_000], "") + "\n…"
			}
		}
		view.Indexes = append(view.Indexes, row)
	}
	dangling := catalogue.Dangling()
	for _, e := range catalogue.Entries {
		if links := dangling[e.Key]; len(links) > 0 {
			view.Dangling = append(view.Dangling, danglingRow{e.Key, links})
		}
	}
	view.frame = v.frame
	return v.show("index", view)
}

// exportRepo streams a repo as an archive.
func exportRepo(v *visit) error {
	form, err := reading.ParseFormat(v.query.Get("format"))
	if err != nil {
		return &fault{http.StatusBadRequest, sentence(err.Error()), "The page of the repo has both."}
	}
	export, err := v.h.parts.Reading.Export(v.r.Context(), v.caller, v.repo, form)
	if err != nil {
		return err
	}
	v.h.parts.Leaks.Pulled(v.caller, export.Head.ID, export.Head.Version)
	v.w.Header().Set("Content-Type", form.ContentType())
	v.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", export.Name))
	if err := export.Write(v.r.Context(), v.w); err != nil {
		// The header is out: an archive that ends early is broken, and shows it.
		panic(http.ErrAbortHandler)
	}
	return nil
}
