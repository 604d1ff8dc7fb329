package dashboard

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/reading"
	"github.com/teammem/teammem/server/store"
)

// activityView is what changed in all repos that somebody may read.
type activityView struct {
	frame
	Events                           []reading.Event
	Repo                             api.RepoSlug
	Author, Prefix, Action, From, To string
	Actions                          []api.Action
	Newer, Older                     string
	Filtered                         bool
	Self                             string
}

// mostListed is how many changes of one version a page lists.
const mostListed = 20

func showActivity(v *visit) error {
	v.Title = "Activity"
	view := activityView{
		Repo: v.repo, Author: v.query.Get("author"), Prefix: v.query.Get("prefix"), Action: v.query.Get("action"), From: v.query.Get("from"), To: v.query.Get("to"),
		Actions: []api.Action{api.ActionCreated, api.ActionChanged, api.ActionDeleted}, Self: v.r.URL.RequestURI(),
	}
	view.Filtered = string(view.Repo)+view.Author+view.Prefix+view.Action+view.From+view.To != ""
	q := reading.ActivityQuery{Author: view.Author, Prefix: view.Prefix, Action: api.Action(view.Action), Cursor: v.query.Get("cursor"), Limit: 50}
	if view.Action != "" && !slices.Contains(view.Actions, q.Action) {
		return &fault{http.StatusBadRequest, "There is no such action.", "The filter has those there are."}
	}
	var err error
	if q.After, err = day(view.From, false); err != nil {
		return err
	}
	if q.Before, err = day(view.To, true); err != nil {
		return err
	}
	if !q.Before.IsZero() {
		q.Before = q.Before.Add(time.Millisecond)
	}
	repos, err := v.infos()
	if err != nil {
		return err
	}
	if v.repo != "" {
		repos = slices.DeleteFunc(repos, func(r store.RepoInfo) bool { return r.Slug != v.repo })
	}
	var next string
	if view.Events, next, err = v.h.parts.Reading.Activity(v.r.Context(), v.caller, repos, q); err != nil {
		return err
	}
	for i := range view.Events {
		e := &view.Events[i]
		e.Changes = e.Changes[:min(len(e.Changes), mostListed)]
	}
	if next != "" {
		view.Older = v.turned("cursor", next)
	}
	if q.Cursor != "" {
		view.Newer = v.turned("cursor", "")
	}
	view.frame = v.frame
	view.Live = v.live()
	return v.show("activity", view)
}

// infos are the repos that the visitor may read, as the store lists them.
func (v *visit) infos() ([]store.RepoInfo, error) {
	rows, err := v.repos()
	infos := make([]store.RepoInfo, 0, len(rows))
	for _, r := range rows {
		infos = append(infos, r.RepoInfo)
	}
	return infos, err
}

// verbOf says in a word what a change did.
func verbOf(p store.Past) string {
	return strings.Replace(string(reading.ActionOf(p)), "created", "wrote", 1)
}
