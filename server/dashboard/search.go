package dashboard

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/search"
	"github.com/teammem/teammem/server/store"
)

// searchView is what a question found.
type searchView struct {
	frame
	Q        string
	History  bool
	Asked    bool
	Problem  string // why the question cannot be asked
	Hits     []hit
	Total    int
	More     bool
	Complete bool
	pages
}

// hit is an entry that was found, with where it was found in its text.
type hit struct {
	ledger.Hit
	Pieces []piece // of the snippet; those that were asked for are marked
}

func showSearch(v *visit) error {
	v.Title = "Search"
	view := searchView{Q: strings.TrimSpace(v.query.Get("q")), History: v.query.Get("history") != "", Complete: true}
	if len(view.Q) > 1000 {
		return &fault{http.StatusBadRequest, "The question is longer than 1,000 bytes.", "Ask with fewer words."}
	}
	q, err := search.Parse(view.Q)
	if e, ours := api.AsError(err); ours {
		view.Problem = sentence(e.Message)
	} else if err != nil {
		return err
	}
	if view.Problem == "" && !q.Empty() {
		if err := v.find(&view, q); err != nil {
			return err
		}
	}
	view.frame = v.frame
	return v.show("search", view)
}

func (v *visit) find(view *searchView, q search.Query) error {
	view.Asked = true
	q.History = view.History
	for i, name := range q.Repos {
		if slug, err := api.ParseRepoSlug(name); err == nil {
			q.Repos[i] = string(v.who.Resolve(slug))
		}
	}
	page := ledger.Page{Limit: 20}
	page.From, _ = strconv.Atoi(v.query.Get("cursor"))
	page.From = max(0, page.From)
	found, err := v.h.parts.Ledger.Search(v.r.Context(), v.caller, v.mayRead, q, page)
	if err != nil {
		return err
	}
	view.Total, view.More, view.Complete = found.Total, found.More, found.Complete
	for _, h := range found.Hits {
		view.Hits = append(view.Hits, hit{h, marked(h.Snippet)})
	}
	view.pages = v.turns(page, found.Total)
	return nil
}

func (v *visit) mayRead(repo api.RepoSlug) bool { return v.who.MayOn(api.Read, repo) }

// turns are the ways to the pages of a list whose cursors are places.
func (v *visit) turns(page ledger.Page, total int) (p pages) {
	if next := page.From + page.Limit; next < total {
		p.Older = v.turned("cursor", strconv.Itoa(next))
	}
	if page.From > 0 {
		p.Newer = v.turned("cursor", "")
	}
	return p
}

// marked takes a snippet apart at its marks.
func marked(s api.Snippet) (pieces []piece) {
	at := 0
	add := func(kind string, to int) {
		if to = min(to, len(s.Text)); to > at {
			pieces = append(pieces, piece{kind, s.Text[at:to]})
			at = to
		}
	}
	for _, m := range s.Marks {
		add("", m.Start)
		add("mark", m.End)
	}
	add("", len(s.Text))
	return pieces
}

// digestView is what the team learned since a date.
type digestView struct {
	frame
	Repo     api.RepoSlug // empty: all
	Since    string
	Ranges   []link
	Groups   []digestGroup
	Total    int
	More     bool
	Complete bool
	pages
}

type digestGroup struct {
	Repo    api.RepoSlug
	Type    string
	Entries []store.SearchHit
}

func showDigest(v *visit) error {
	v.Title = "What the team learned"
	now := v.h.cfg.Now().UTC()
	view := digestView{Since: v.query.Get("since"), Repo: v.repo}
	for _, r := range []struct {
		name string
		days int
	}{{"a week", 7}, {"a month", 30}, {"a quarter", 91}, {"a year", 365}} {
		since := now.AddDate(0, 0, -r.days).Format(time.DateOnly)
		view.Ranges = append(view.Ranges, link{Name: r.name, Href: v.At("/digest", "since", since, "repo", v.repo), Here: view.Since == since})
	}
	if view.Since == "" {
		view.Since = now.AddDate(0, 0, -30).Format(time.DateOnly)
	}
	since, err := day(view.Since, false)
	if err != nil {
		return err
	}
	page := ledger.Page{Limit: perPage}
	page.From, _ = strconv.Atoi(v.query.Get("cursor"))
	page.From = max(0, page.From)
	admitted := v.mayRead
	if v.repo != "" {
		admitted = func(repo api.RepoSlug) bool { return repo == v.repo && v.mayRead(repo) }
	}
	learned, err := v.h.parts.Ledger.Digest(v.r.Context(), v.caller, admitted, since, page)
	if err != nil {
		return err
	}
	for _, e := range learned.Entries {
		last := len(view.Groups) - 1
		if last < 0 || view.Groups[last].Repo != e.Repo || view.Groups[last].Type != e.Type {
			view.Groups = append(view.Groups, digestGroup{Repo: e.Repo, Type: e.Type})
			last++
		}
		view.Groups[last].Entries = append(view.Groups[last].Entries, e)
	}
	view.Total, view.More, view.Complete, view.pages = learned.Total, learned.More, learned.Complete, v.turns(page, learned.Total)
	view.frame = v.frame
	return v.show("digest", view)
}
