package rest

import (
	"net/http"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/figures"
	"github.com/teammem/teammem/server/reading"
	"github.com/teammem/teammem/server/store"
)

// seenRepos are the repos that the caller may read, or the one that the query names.
func (h *Handler) seenRepos(c *call) ([]store.RepoInfo, error) {
	values, err := c.query()
	if err != nil {
		return nil, err
	}
	may := func(slug api.RepoSlug) bool { return c.who.MayOn(api.Read, slug) }
	if values.Has("repo") {
		slug, err := api.ParseRepoSlug(values.Get("repo"))
		if err != nil {
			return nil, err
		}
		slug = c.resolve(slug)
		may = func(other api.RepoSlug) bool { return other == slug && c.who.MayOn(api.Read, slug) }
	}
	all, err := h.orgs.Repos(c.r.Context(), c.who.Org)
	return reading.Seen(all, may), err
}

// getStats tells what the repos that the caller may read hold, and what happened.
func (h *Handler) getStats(c *call) error {
	values, err := c.query()
	if err != nil {
		return err
	}
	span, err := figures.ParseRange(values.Get("range"))
	if err != nil {
		return badQuery(err.Error())
	}
	repos, err := h.seenRepos(c)
	if err != nil {
		return err
	}
	ctx, whole := c.r.Context(), c.who.May(api.Administer) && !values.Has("repo")
	s, err := h.figures.Stats(ctx, c.who.Org, repos, whole, span)
	if err != nil {
		return err
	}
	var sees func(api.RepoSlug) bool
	if whole {
		sees = func(repo api.RepoSlug) bool { return c.who.MayOn(api.Read, repo) }
	}
	clients, err := h.figures.Clients(ctx, c.who.Org, 0, repos, sees)
	if err != nil {
		return err
	}
	stats := api.Stats{
		Range: span.Name, StepSeconds: int(span.Step / time.Second), Entries: s.Entries, Bytes: s.Bytes, Versions: s.Versions, People: s.People,
		Proposals: s.Open, OldestProposal: wireTime(s.Oldest), Total: api.Counts(s.Total), Points: []api.StatsPoint{}, Repos: []api.RepoStats{},
	}
	if whole {
		stats.Storage = s.Storage
	}
	for _, one := range clients {
		if one.Online {
			stats.Clients++
		}
	}
	for _, p := range s.Points {
		stats.Points = append(stats.Points, api.StatsPoint{At: api.NewTime(p.At), Counts: api.Counts(p.Counts)})
	}
	for _, r := range shown(s.Repos) {
		stats.Repos = append(stats.Repos, api.RepoStats{
			Repo: r.Slug, Entries: r.Head.Entries, Bytes: r.Head.Bytes, Version: r.Head.Version, LastModified: api.NewTime(r.Head.LastModified),
			Proposals: r.Open, OldestProposal: wireTime(r.Oldest), Range: api.Counts(r.Range),
		})
	}
	return writeJSON(c, http.StatusOK, stats)
}

// reportClient notes what a client says of itself.
func (h *Handler) reportClient(c *call) error {
	repo, err := c.repoOf()
	if err != nil {
		return err
	}
	var report api.ClientReport
	if err := h.readInto(c, &report); err != nil {
		return err
	}
	if err := report.Check(); err != nil {
		return err
	}
	if err := h.figures.Report(c.caller, c.resolve(repo), report); err != nil {
		return err
	}
	return writeDone(c)
}

// listClients lists all clients to admins, and their own to others.
func (h *Handler) listClients(c *call) error {
	repos, err := h.orgs.Repos(c.r.Context(), c.who.Org)
	if err != nil {
		return err
	}
	of := c.caller.User
	if c.who.May(api.Administer) {
		of = 0
	}
	all, err := h.figures.Clients(c.r.Context(), c.who.Org, of, repos, func(repo api.RepoSlug) bool { return c.who.MayOn(api.Read, repo) })
	if err != nil {
		return err
	}
	page, next, err := paged(c, all)
	if err != nil {
		return err
	}
	list := api.ClientList{Clients: []api.ClientInfo{}, NextCursor: next}
	for _, one := range page {
		list.Clients = append(list.Clients, api.ClientInfo{
			ClientReport: one.ClientReport, User: one.User, Machine: one.Machine, Repo: one.Repo, Seen: api.NewTime(one.Seen), Online: one.Online, Lag: one.Lag,
		})
	}
	return writeJSON(c, http.StatusOK, list)
}
