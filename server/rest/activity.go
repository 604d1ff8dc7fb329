package rest

import (
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/events"
	"github.com/teammem/teammem/server/reading"
)

// listActivity lists what changed in the repos that the caller may read, newest first.
func (h *Handler) listActivity(c *call) error {
	values, err := c.query()
	if err != nil {
		return err
	}
	q := reading.ActivityQuery{Author: values.Get("author"), Prefix: values.Get("prefix"), Cursor: values.Get("cursor")}
	if q.Limit, err = limitOf(values); err != nil {
		return err
	}
	if q.Action, err = api.ParseAction(values.Get("action")); err != nil {
		return badQuery(err.Error())
	}
	if q.After, err = timeOf(values, "after"); err != nil {
		return err
	}
	if q.Before, err = timeOf(values, "before"); err != nil {
		return err
	}
	may := func(slug api.RepoSlug) bool { return c.who.MayOn(api.Read, slug) }
	if values.Has("repo") {
		slug, err := api.ParseRepoSlug(values.Get("repo"))
		if err != nil {
			return err
		}
		slug = c.resolve(slug)
		may = func(other api.RepoSlug) bool { return other == slug }
	}
	all, err := h.orgs.Repos(c.r.Context(), c.who.Org)
	if err != nil {
		return err
	}
	found, next, err := h.reads.Activity(c.r.Context(), c.caller, reading.Seen(all, may), q)
	if err != nil {
		return err
	}
	list := api.Activity{Events: []api.ActivityEvent{}, NextCursor: next}
	for _, e := range found {
		event := api.ActivityEvent{Repo: e.Repo, Version: e.Version, At: api.NewTime(e.At), User: e.User, Client: e.Client, Total: e.Total}
		for _, p := range e.Changes {
			event.Changes = append(event.Changes, api.ActivityChange{
				Key: p.Key, Action: reading.ActionOf(p), Checksum: p.Checksum, Previous: p.Previous, Bytes: p.Size,
			})
		}
		list.Events = append(list.Events, event)
	}
	return writeJSON(c, http.StatusOK, list)
}

// liveActivity opens a stream of the changes of all repos that the caller may read. What
// they may read is asked anew at every heartbeat.
func (h *Handler) liveActivity(c *call) error {
	var who atomic.Pointer[auth.Caller]
	who.Store(&c.who)
	stream := events.Stream{
		Organization: c.caller.OrgUID,
		Sees:         func(slug api.RepoSlug) bool { return who.Load().MayOn(api.Read, slug) },
		Allowed:      h.askAgain(c.credentials(), c.route.Right, &who),
	}
	if c.r.Method == http.MethodHead {
		c.w.Header().Set("Content-Type", typeEvents)
		return nil
	}
	return h.openStream(c, stream)
}

// askAgain finds the caller anew; a caller that may not read anything any more is one
// whose stream ends.
func (h *Handler) askAgain(given auth.Credentials, right api.Right, who *atomic.Pointer[auth.Caller]) func() bool {
	return func() bool {
		now, err := h.authenticateAgain(given)
		switch {
		case errors.Is(err, errRightGone):
			return false
		case err != nil:
			return true // a database that is busy takes nobody's right away
		}
		who.Store(&now)
		return now.MaySomewhere(right)
	}
}
