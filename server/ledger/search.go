package ledger

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/search"
	"github.com/teammem/teammem/server/store"
)

const (
	// candidates is how many versions a search ranks: the newest of those that hold
	// all terms, and of those that hold them in the head.
	candidates = 200
	// countedAtMost is up to where it is counted how often a term is met.
	countedAtMost = 500
)

// Page is a part of a list, by places.
type Page struct {
	From, Limit int
}

// of is the part of a list of so many.
func (p Page) of(n int) (from, to int) {
	from = min(p.From, n)
	return from, min(from+p.Limit, n)
}

// Found is what a search found: one page of hits, best first.
type Found struct {
	Hits     []Hit
	Total    int  // of all pages
	More     bool // there are others, which were not ranked
	Complete bool // the index holds everything
}

// Hit is an entry at the newest version that a question fits.
type Hit struct {
	store.SearchHit
	Snippet api.Snippet
}

// Search finds the entries of the repos admitted that a question fits. Proposals are
// not looked at. What was written is added to the index first, within a bound.
func (l *Ledger) Search(ctx context.Context, caller Caller, admitted func(api.RepoSlug) bool, q search.Query, page Page) (Found, error) {
	ask, complete, err := l.among(ctx, caller, admitted, q)
	if err != nil || len(ask.Repos) == 0 {
		return Found{Complete: complete}, err
	}
	hits, more, err := l.candidates(ctx, caller, ask)
	if err != nil {
		return Found{}, err
	}
	hits = newestOfEach(hits)
	weights, err := l.weights(ctx, caller, ask)
	if err != nil {
		return Found{}, err
	}
	search.Rank(ask.Terms, weights, hits)
	found := Found{Total: len(hits), More: more, Complete: complete}
	from, to := page.of(len(hits))
	found.Hits, err = l.snippets(ctx, caller, ask.Terms, hits[from:to])
	return found, err
}

// among turns a question into one for the store: the repos that the caller may see,
// the index of which is brought up to date, and users for names.
func (l *Ledger) among(ctx context.Context, caller Caller, admitted func(api.RepoSlug) bool, q search.Query) (store.SearchQuery, bool, error) {
	ask := store.SearchQuery{Terms: q.Terms, Types: q.Types, After: q.After, Before: q.Before, Past: q.History, Limit: candidates}
	repos, err := l.store.Repos(ctx, caller.Org)
	if err != nil {
		return ask, false, l.explain(ctx, caller, "", "list the repos", err)
	}
	for _, repo := range repos {
		if admitted(repo.Slug) && q.Admits(repo.Slug) {
			ask.Repos = append(ask.Repos, repo.Slug)
		}
	}
	if ask.Authors, err = l.authors(ctx, caller, q.Authors); err != nil {
		return ask, false, err
	}
	complete, err := l.Index(ctx, caller, func(repo api.RepoSlug) bool { return slices.Contains(ask.Repos, repo) }, indexForSearch)
	return ask, complete, err
}

// authors finds the users of names, those who left included; nil stays nil.
func (l *Ledger) authors(ctx context.Context, caller Caller, names []string) ([]store.UserID, error) {
	if names == nil {
		return nil, nil
	}
	members, err := l.store.Members(ctx, caller.Org)
	if err != nil {
		return nil, l.explain(ctx, caller, "", "list the members", err)
	}
	users := []store.UserID{}
	for _, m := range members {
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, m.Name) }) {
			users = append(users, m.User)
		}
	}
	return users, nil
}

// candidates finds the versions that are ranked. Where there are more than that, those
// that hold the terms in their head are found first.
func (l *Ledger) candidates(ctx context.Context, caller Caller, ask store.SearchQuery) (hits []store.SearchHit, more bool, err error) {
	hits, err = l.store.Search(ctx, caller.Org, ask)
	if err == nil && len(hits) == ask.Limit {
		more = true
		if len(ask.Terms) > 0 {
			ask.Head = true
			var heads []store.SearchHit
			heads, err = l.store.Search(ctx, caller.Org, ask)
			hits = append(heads, hits...)
		}
	}
	if err != nil {
		return nil, false, l.explain(ctx, caller, "", "search", err)
	}
	return hits, more, nil
}

// newestOfEach leaves of each entry the newest version, in order of time.
func newestOfEach(hits []store.SearchHit) []store.SearchHit {
	type entry struct {
		repo api.RepoSlug
		key  api.Key
	}
	newest := map[entry]api.Version{}
	for _, h := range hits {
		e := entry{h.Repo, h.Key}
		newest[e] = max(newest[e], h.Version)
	}
	hits = slices.DeleteFunc(hits, func(h store.SearchHit) bool {
		e := entry{h.Repo, h.Key}
		if newest[e] != h.Version {
			return true
		}
		newest[e] = 0 // once
		return false
	})
	slices.SortStableFunc(hits, func(a, b store.SearchHit) int { return b.At.Compare(a.At) })
	return hits
}

// weights says how much each term counts; nil where there is one, or none.
func (l *Ledger) weights(ctx context.Context, caller Caller, ask store.SearchQuery) ([]float64, error) {
	if len(ask.Terms) < 2 {
		return nil, nil
	}
	weights := make([]float64, len(ask.Terms))
	for i, term := range ask.Terms {
		n, err := l.store.CountSearch(ctx, caller.Org, store.SearchQuery{
			Repos: ask.Repos, Terms: []store.SearchTerm{term}, Past: ask.Past, Limit: countedAtMost,
		})
		if err != nil {
			return nil, l.explain(ctx, caller, "", "count what is found", err)
		}
		weights[i] = search.Weight(n, countedAtMost)
	}
	return weights, nil
}

// snippets reads the texts of hits. One that went meanwhile, or is damaged, is a hit
// without a snippet.
func (l *Ledger) snippets(ctx context.Context, caller Caller, terms []store.SearchTerm, hits []store.SearchHit) ([]Hit, error) {
	all := make([]Hit, len(hits))
	sums := make([]api.Checksum, 0, len(hits))
	for i, h := range hits {
		all[i] = Hit{SearchHit: h, Snippet: api.Snippet{Marks: []api.Mark{}}}
		sums = append(sums, h.Checksum)
	}
	slices.Sort(sums)
	err := l.soundTexts(ctx, caller, "", slices.Compact(sums), func(sum api.Checksum, content []byte) error {
		for i := range all {
			if all[i].Checksum == sum {
				all[i].Snippet = search.Snippet(terms, string(content))
			}
		}
		return nil
	})
	return all, err
}

// digestAtMost is how many entries a digest tells of, the newest ones.
const digestAtMost = 2_000

// Learned is what a digest tells: entries that are new or were changed since a time, one
// page of them, by repo, type and key. Indexes are left out: what they list is in it.
type Learned struct {
	Entries  []store.SearchHit
	Total    int
	More     bool // older ones, since then
	Complete bool
}

// Digest tells what was learned in the repos admitted since a time.
func (l *Ledger) Digest(ctx context.Context, caller Caller, admitted func(api.RepoSlug) bool, since time.Time, page Page) (Learned, error) {
	ask, complete, err := l.among(ctx, caller, admitted, search.Query{After: since})
	if err != nil || len(ask.Repos) == 0 {
		return Learned{Complete: complete}, err
	}
	ask.Bare, ask.Limit = true, digestAtMost
	hits, err := l.store.Search(ctx, caller.Org, ask)
	if err != nil {
		return Learned{}, l.explain(ctx, caller, "", "look what was learned", err)
	}
	more := len(hits) == ask.Limit
	hits = slices.DeleteFunc(hits, func(h store.SearchHit) bool { return h.Key.IsIndex() })
	slices.SortFunc(hits, func(a, b store.SearchHit) int {
		return slices.Compare([]string{string(a.Repo), a.Type, string(a.Key)}, []string{string(b.Repo), b.Type, string(b.Key)})
	})
	from, to := page.of(len(hits))
	return Learned{Entries: hits[from:to], Total: len(hits), More: more, Complete: complete}, nil
}
