package dashboard

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/figures"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

// overviewView is the state of the organization's memory at a glance, or where there is
// none yet how to begin.
type overviewView struct {
	frame
	Attention []attention
	Repos     []repoRow
	RepoCount int
	Stats     figures.Stats
	Days      float64 // of the range
	Ranges    []link
	Waiting   int
	Clients   int // online
	Lagging   int
	Empty     bool
	Server    string
	New       *newToken
	Self      string
}

// PerDay is how many edits were made a day in the range.
func (o overviewView) PerDay() int {
	t := o.Stats.Total
	return int(math.Round(float64(t.Created+t.Changed+t.Deleted) / o.Days))
}

// Edits is how many entries were written or deleted in a step.
func (overviewView) Edits(p figures.Point) int64 { return p.Created + p.Changed + p.Deleted }

// attention is something to be seen to, with what to do about it.
type attention struct {
	Class, Text, Action, Href string
}

func overview(v *visit) error { return v.overview(nil) }

// makeWelcomeToken makes a token for whoever begins on an empty server. It is a form's
// doing: a page that is only looked at makes nothing.
func makeWelcomeToken(v *visit) error {
	made, err := v.makeToken(organization.TokenAsk{
		Label: "first machine", Expires: v.h.parts.Orgs.Now().Add(organization.DefaultLife),
	})
	if err != nil {
		return err
	}
	return v.overview(made)
}

func (v *visit) overview(made *newToken) error {
	rows, err := v.repos()
	if err != nil {
		return err
	}
	v.Title = "Overview"
	view := overviewView{Empty: len(rows) == 0, Server: v.h.cfg.PublicURL, New: made, RepoCount: len(rows), Self: v.At("/", "range", v.query.Get("range"))}
	if !view.Empty {
		if err := v.figures(&view, rows); err != nil {
			return err
		}
		v.Charts = true
	}
	slices.SortStableFunc(rows, func(a, b repoRow) int { return b.Head.LastModified.Compare(a.Head.LastModified) })
	view.Repos = rows[:min(len(rows), 10)]
	if err := v.attend(&view); err != nil {
		return err
	}
	view.frame = v.frame
	view.Live = v.live()
	return v.show("overview", view)
}

// figures fills in what happened, and which clients there are.
func (v *visit) figures(view *overviewView, rows []repoRow) error {
	ctx := v.r.Context()
	r, err := figures.ParseRange(v.query.Get("range"))
	if err != nil {
		return &fault{http.StatusBadRequest, sentence(err.Error()), "The page offers those there are."}
	}
	for _, other := range figures.Ranges {
		view.Ranges = append(view.Ranges, link{Name: other.Name, Href: v.At("/", "range", other.Name), Here: other.Name == r.Name})
	}
	infos := make([]store.RepoInfo, len(rows))
	for i, row := range rows {
		infos[i] = row.RepoInfo
	}
	if view.Stats, err = v.h.parts.Figures.Stats(ctx, v.who.Org, infos, v.May(api.Administer), r); err != nil {
		return err
	}
	view.Days = r.Long.Hours() / 24
	clients, err := v.h.parts.Figures.Clients(ctx, v.who.Org, v.clientsOf(), infos, v.sees)
	if err != nil {
		return err
	}
	for _, c := range clients {
		if c.Online {
			view.Clients++
			if c.Lag > 0 {
				view.Lagging++
			}
		}
		view.Attention = append(view.Attention, v.troubles(c)...)
	}
	return nil
}

// troubles are what a client needs somebody for.
func (v *visit) troubles(c figures.Client) (all []attention) {
	whose := c.User + "’s " + cmp.Or(c.Machine, "client") + " in " + string(c.Repo)
	at := v.At("/clients")
	if c.Online && c.Trouble != "" {
		all = append(all, attention{"bad", whose + " is in trouble: " + c.Trouble, "See", at})
	}
	if c.Kept > 0 {
		all = append(all, attention{"warning", whose + " keeps " + count(c.Kept, "text") + " that could not be merged", "See", at})
	}
	if c.Held > 0 {
		all = append(all, attention{"warning", whose + " holds " + count(c.Held, "file") + " back", "See", at})
	}
	return all
}

// attend finds what is to be seen to, first what cannot wait.
func (v *visit) attend(view *overviewView) error {
	ctx := v.r.Context()
	waiting, older, err := v.proposals(store.ProposalQuery{State: api.ProposalOpen}, 50)
	if err != nil {
		return err
	}
	mine := 0
	for _, p := range waiting {
		if p.Reviewable {
			view.Waiting++
		} else {
			mine++
		}
	}
	add := func(class, text, action, href string) {
		view.Attention = append(view.Attention, attention{class, text, action, href})
	}
	if view.Waiting > 0 {
		last := waiting[len(waiting)-1]
		text := count(view.Waiting, "proposal") + " for you to review, the oldest from " + last.Author + " " + ago(v.h.cfg.Now(), last.At.Time)
		if older != "" {
			text = "50 proposals and more wait for you"
		}
		add("waiting", text, "Review", v.At("/review"))
	}
	if mine > 0 {
		add("waiting", count(mine, "proposal")+" of yours waits for approval", "See", v.At("/review"))
	}
	tokens, err := v.h.parts.Orgs.Tokens(ctx, v.who.Org, v.who.UserName)
	if err != nil {
		return err
	}
	now := v.h.cfg.Now()
	for _, t := range tokens {
		if usable(t, now) && !t.Expires.IsZero() && t.Expires.Sub(now) < 7*24*time.Hour {
			add("warning", fmt.Sprintf("your token %s… %s ends %s", t.Prefix, t.Label, ago(now, t.Expires)), "Make another", v.At("/tokens"))
		}
	}
	weight := []string{"bad", "waiting", "warning"}
	slices.SortStableFunc(view.Attention, func(a, b attention) int {
		return cmp.Compare(slices.Index(weight, a.Class), slices.Index(weight, b.Class))
	})
	if most := 20; len(view.Attention) > most {
		more := len(view.Attention) - most
		view.Attention = append(view.Attention[:most], attention{"warning", fmt.Sprintf("and %d more of clients", more), "See", v.At("/clients")})
	}
	return nil
}
