package rest

import (
	"net/http"
	"strconv"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/search"
)

// mayRead admits the repos that the caller may read.
func (c *call) mayRead(repo api.RepoSlug) bool { return c.who.MayOn(api.Read, repo) }

// search finds entries by their words.
func (h *Handler) search(c *call) error {
	values, err := parseQuery(c.r)
	if err != nil {
		return err
	}
	q, err := search.Parse(values.Get("q"))
	if err != nil {
		return err
	}
	if q.Empty() {
		return badQuery("nothing is asked for: q=word, with filters such as type:feedback or author:dana")
	}
	for i, name := range q.Repos {
		if slug, err := api.ParseRepoSlug(name); err == nil {
			q.Repos[i] = string(c.who.Resolve(slug))
		}
	}
	switch history := values.Get("history"); history {
	case "", "false":
	case "true":
		q.History = true
	default:
		return badQuery("history " + strconv.Quote(clip(history)) + " is neither true nor false")
	}
	page, err := placesOf(values.Get("limit"), values.Get("cursor"), api.DefaultSearchPage, api.MaxSearchPage)
	if err != nil {
		return err
	}
	found, err := h.ledger.Search(c.r.Context(), c.caller, c.mayRead, q, page)
	if err != nil {
		return err
	}
	result := api.SearchResult{
		Hits: make([]api.SearchHit, len(found.Hits)), Found: found.Total, More: found.More, Complete: found.Complete,
		NextCursor: cursorAfter(page, found.Total),
	}
	for i, hit := range found.Hits {
		result.Hits[i] = api.SearchHit{
			Repo: hit.Repo, Key: hit.Key, Version: hit.Version, Checksum: hit.Checksum, Type: hit.Type, Name: hit.Name, Description: hit.Description,
			At: api.NewTime(hit.At), User: hit.UserName, Client: hit.Client, Current: hit.Live, Snippet: hit.Snippet,
		}
	}
	return writeJSON(c, http.StatusOK, result)
}

// digest tells what was learned since a time.
func (h *Handler) digest(c *call) error {
	values, err := parseQuery(c.r)
	if err != nil {
		return err
	}
	since, err := dayOrTime("since", values.Get("since"))
	if err != nil {
		return err
	}
	page, err := placesOf(values.Get("limit"), values.Get("cursor"), api.DefaultPage, api.MaxPage)
	if err != nil {
		return err
	}
	admitted := c.mayRead
	if values.Has("repo") {
		slug, err := api.ParseRepoSlug(values.Get("repo"))
		if err != nil {
			return err
		}
		c.resolve(slug)
		admitted = func(repo api.RepoSlug) bool { return repo == c.repo && c.mayRead(repo) }
	}
	learned, err := h.ledger.Digest(c.r.Context(), c.caller, admitted, since, page)
	if err != nil {
		return err
	}
	digest := api.Digest{
		Since: api.NewTime(since), Groups: []api.DigestGroup{}, Found: learned.Total, More: learned.More, Complete: learned.Complete,
		NextCursor: cursorAfter(page, learned.Total),
	}
	for _, e := range learned.Entries {
		last := len(digest.Groups) - 1
		if last < 0 || digest.Groups[last].Repo != e.Repo || digest.Groups[last].Type != e.Type {
			digest.Groups = append(digest.Groups, api.DigestGroup{Repo: e.Repo, Type: e.Type})
			last++
		}
		digest.Groups[last].Entries = append(digest.Groups[last].Entries, api.DigestEntry{
			Key: e.Key, Version: e.Version, Name: e.Name, Description: e.Description, New: !e.Existed, At: api.NewTime(e.At), User: e.UserName,
		})
	}
	return writeJSON(c, http.StatusOK, digest)
}

// dayOrTime reads a day, which begins at midnight UTC, or a time.
func dayOrTime(name, text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil && at.Year() > 0 {
			return at.UTC(), nil
		}
	}
	return time.Time{}, badQuery(name + " " + strconv.Quote(clip(text)) + " is no day such as 2026-11-30 and no time such as 2026-11-30T18:00:00Z")
}

// placesOf reads a page of a list whose cursors are places in it.
func placesOf(limit, cursor string, usual, most int) (page ledger.Page, err error) {
	page.Limit = usual
	if limit != "" {
		if page.Limit, err = strconv.Atoi(limit); err != nil || page.Limit < 1 || page.Limit > most {
			return page, badQuery("limit " + strconv.Quote(clip(limit)) + " is not a number from 1 to " + strconv.Itoa(most))
		}
	}
	if cursor != "" {
		n, err := strconv.ParseUint(cursor, 36, 31)
		if err != nil || n == 0 {
			return page, badQuery("the cursor is not one of an earlier answer")
		}
		page.From = int(n)
	}
	return page, nil
}

// cursorAfter is the cursor of the next page of a list of so many; empty for none.
func cursorAfter(page ledger.Page, total int) string {
	if next := page.From + page.Limit; next < total {
		return strconv.FormatInt(int64(next), 36)
	}
	return ""
}
