package servertest

import (
	"net/http"
	"strings"

	"github.com/teammem/teammem/api"
)

var figureCases = []conformanceCase{
	{"stats count what happened in a repo, at once", func(w *wire) {
		r := storied(w)
		w.wantError(r.putText(`{"entries":{"b.md":"other"},"baseChecksums":{"b.md":null}}`), http.StatusPreconditionFailed, api.ErrorCodeConflict)
		stats := ask[api.Stats](r, api.PathStats, "")
		want := api.Counts{Versions: 3, Created: 2, Changed: 1, Deleted: 1, Conflicts: 1, Bytes: 10}
		if stats.Total != want || stats.Entries != 1 || stats.Versions != 3 || stats.People == 0 || len(stats.Points) != 24 || stats.StepSeconds != 3600 {
			w.Errorf("%+v", stats)
		}
		if len(stats.Repos) != 1 || string(stats.Repos[0].Repo) != r.slug || stats.Repos[0].Range != want || stats.Storage != 0 {
			w.Errorf("%+v", stats.Repos)
		}
		if month := ask[api.Stats](r, api.PathStats, "&range=30d"); len(month.Points) != 30 || month.Total != want || month.Points[29].Counts != want {
			w.Errorf("%+v", month)
		}
		w.wantError(r.do(http.MethodGet, r.under(api.PathStats, "&range=1y"), r.target.Viewer, nil), http.StatusBadRequest, api.ErrorCodeBadQuery)
		foreign := into[api.Stats](w, r.wantStatus(r.do(http.MethodGet, r.under(api.PathStats, ""), r.target.Foreign, nil), http.StatusOK))
		if foreign.Entries != 0 || foreign.Total != (api.Counts{}) || len(foreign.Repos) != 0 {
			w.Errorf("another organization is told %+v", foreign)
		}
	}},
	{"clients are listed to admins, and one's own to others", func(w *wire) {
		r := storied(w)
		report := api.ClientReport{ID: "dir of " + r.slug, State: api.ClientRunning, Version: "v1", Watch: "inotify", Files: 1, At: 1, Pending: 2, Kept: 3, Held: 4}
		r.wantStatus(r.send(http.MethodPost, api.PathClients, report), http.StatusOK)
		find := func(token string) (found []api.ClientInfo) {
			list := into[api.ClientList](w, w.wantStatus(w.do(http.MethodGet, api.PathClients+"?limit=500", token, nil), http.StatusOK))
			for _, c := range list.Clients {
				if c.ID == report.ID {
					found = append(found, c)
				}
			}
			return found
		}
		own, all := find(r.target.Member), find(r.target.Admin)
		if len(own) != 1 || len(all) != 1 || len(find(r.target.Viewer)) != 0 || len(find(r.target.Foreign)) != 0 {
			w.Fatalf("its user is told %+v, an admin %+v", own, all)
		}
		if c := all[0]; !c.Online || c.Lag != 2 || string(c.Repo) != r.slug || c.User == "" || c.Kept != 3 || c.Watch != "inotify" {
			w.Errorf("%+v", c)
		}
		report.State, report.At = api.ClientStopped, 3
		r.wantStatus(r.send(http.MethodPost, api.PathClients, report), http.StatusOK)
		if c := find(r.target.Member); len(c) != 1 || c[0].Online || c[0].Lag != 0 {
			w.Errorf("after its end: %+v", c)
		}
		for _, body := range []string{`{"id":"a"}`, `{"state":"running"}`, `{"id":"a","state":"running","pending":-1}`, `{"id":"a","state":"running","trouble":"\u001b"}`, `[]`} {
			w.wantError(r.do(http.MethodPost, r.under(api.PathClients, ""), r.target.Member, strings.NewReader(body)), http.StatusBadRequest, api.ErrorCodeBadBody)
		}
	}},
}
