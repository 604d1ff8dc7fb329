package dashboard

import (
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
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
	Entries   int
	Bytes     int64
	Members   int
	Waiting   int
	Empty     bool
	Server    string
	New       *newToken
}

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
	view := overviewView{Empty: len(rows) == 0, Server: v.h.cfg.PublicURL, New: made, RepoCount: len(rows)}
	for _, r := range rows {
		view.Entries += r.Head.Entries
		view.Bytes += r.Head.Bytes
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

// attend finds what is to be seen to, first what cannot wait.
func (v *visit) attend(view *overviewView) error {
	ctx := v.r.Context()
	waiting, older, err := v.proposals(store.ProposalQuery{State: api.ProposalOpen}, 50)
	if err != nil {
		return err
	}
	mine := 0
	for _, p := range waiting {
		if p.May {
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
	if !v.May(api.Administer) {
		return nil
	}
	members, err := v.h.parts.Orgs.Members(ctx, v.who.Org)
	view.Members = len(members)
	return err
}
