package dashboard

import (
	"cmp"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/figures"
	"github.com/teammem/teammem/server/store"
)

// clientsView is the clients that sync: everybody's for an admin, else one's own.
type clientsView struct {
	frame
	Clients []figures.Client
	All     bool
	Sort    string
	Online  int
	Self    string
	pages
}

// clientsOf is whose clients the visitor may see; zero is everybody's.
func (v *visit) clientsOf() store.UserID {
	if v.May(api.Administer) {
		return 0
	}
	return v.who.User
}

// sees reports whether the visitor may read a repo, which may have no memory yet.
func (v *visit) sees(repo api.RepoSlug) bool { return v.who.MayOn(api.Read, repo) }

func showClients(v *visit) error {
	v.Title = "Clients"
	infos, err := v.infos()
	if err != nil {
		return err
	}
	all, err := v.h.parts.Figures.Clients(v.r.Context(), v.who.Org, v.clientsOf(), infos, v.sees)
	if err != nil {
		return err
	}
	view := clientsView{All: v.May(api.Administer), Sort: v.query.Get("sort"), Self: v.r.URL.RequestURI()}
	for _, c := range all {
		if c.Online {
			view.Online++
		}
	}
	switch view.Sort {
	case "who":
		slices.SortStableFunc(all, func(a, b figures.Client) int { return cmp.Compare(a.User, b.User) })
	case "lag":
		slices.SortStableFunc(all, func(a, b figures.Client) int { return cmp.Compare(b.Lag, a.Lag) })
	case "repo":
		slices.SortStableFunc(all, func(a, b figures.Client) int { return cmp.Compare(a.Repo, b.Repo) })
	}
	view.Clients, view.pages = paged(v, all)
	view.frame = v.frame
	view.Live = v.live()
	return v.show("clients", view)
}
