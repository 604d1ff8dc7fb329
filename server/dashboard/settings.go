package dashboard

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

// settingsView is what one is here, and what the organization may use.
type settingsView struct {
	frame
	Org     store.Organization // not embedded: the frame's own name of it would be hidden
	Aliases []alias
	Groups  []string
}

type alias struct{ Old, Now api.RepoSlug }

func showSettings(v *visit) error {
	access, err := v.h.parts.Orgs.Get(v.r.Context(), v.who.Org)
	if err != nil {
		return err
	}
	v.Title = "Settings"
	view := settingsView{Org: access.Organization, Groups: v.who.Groups}
	for old, now := range access.Aliases {
		if v.who.MayOn(api.Read, now) {
			view.Aliases = append(view.Aliases, alias{old, now})
		}
	}
	slices.SortFunc(view.Aliases, func(a, b alias) int { return strings.Compare(string(a.Old), string(b.Old)) })
	view.frame = v.frame
	return v.show("settings", view)
}

func changeSettings(v *visit) error {
	name := strings.TrimSpace(v.form("name"))
	set := organization.Settings{Name: &name}
	for field, into := range map[string]**int{"entries": &set.MaxEntries, "repos": &set.MaxRepos, "writes": &set.WritesPerMinute, "days": &set.AuditDays, "history-days": &set.HistoryDays, "history-keep": &set.HistoryKeep, "trash-days": &set.TrashDays} {
		if !v.r.PostForm.Has(field) && strings.Contains(field, "-") {
			continue // a page from before the server knew it
		}
		n, err := strconv.Atoi(strings.TrimSpace(v.form(field)))
		if err != nil {
			return notANumber(field, v.form(field))
		}
		*into = &n
	}
	bytes, err := strconv.ParseInt(strings.TrimSpace(v.form("bytes")), 10, 64)
	if err != nil {
		return notANumber("bytes", v.form("bytes"))
	}
	set.MaxBytes = &bytes
	if _, err := v.h.parts.Orgs.Set(v.r.Context(), v.by(), set); err != nil {
		return err
	}
	return v.done(v.At("/settings"), said{Text: "The settings are kept; the audit has what they were."})
}

func notANumber(field, text string) error {
	return &fault{http.StatusBadRequest, sentence("the field " + field + " holds " + strconv.Quote(text) + ", which is not a number"), "Go back and give a number; 0 is the server's default."}
}

// tokensView is one's own tokens, or as an admin everybody's.
type tokensView struct {
	frame
	Tokens  []tokenRow
	All     bool
	Roles   []api.Role
	Members []string
	New     *newToken
	pages
}

type tokenRow struct {
	store.Token
	State string // usable, expired, revoked
	Soon  bool   // it ends within a week
	Can   string // what it may do, in words
}

// newToken is a token with its secret, which is shown once.
type newToken struct {
	Secret, Server string
	store.Token
}

func showTokens(v *visit) error { return v.tokens(nil) }

func (v *visit) tokens(made *newToken) error {
	ctx := v.r.Context()
	v.Title = "Tokens"
	view := tokensView{New: made, All: v.May(api.Administer) && v.query.Get("all") != ""}
	user := v.who.UserName
	if view.All {
		user = ""
	}
	all, err := v.h.parts.Orgs.Tokens(ctx, v.who.Org, user)
	if err != nil {
		return err
	}
	now := v.h.cfg.Now()
	var rows []tokenRow
	for _, t := range all {
		row := tokenRow{Token: t, State: "usable", Can: canOf(t)}
		switch {
		case !t.Revoked.IsZero():
			row.State = "revoked"
		case !usable(t, now):
			row.State = "expired"
		case !t.Expires.IsZero():
			row.Soon = t.Expires.Sub(now) < 7*24*time.Hour
		}
		rows = append(rows, row)
	}
	view.Tokens, view.pages = paged(v, rows)
	for _, r := range api.Roles {
		if v.who.Cap().Lesser(r) == r {
			view.Roles = append(view.Roles, r)
		}
	}
	if v.May(api.Administer) {
		view.Roles = api.Roles
		members, err := v.h.parts.Orgs.Members(ctx, v.who.Org)
		if err != nil {
			return err
		}
		for _, m := range members {
			view.Members = append(view.Members, m.Name)
		}
	}
	view.frame = v.frame
	return v.show("tokens", view)
}

func canOf(t store.Token) string {
	can := "as " + string(t.Role)
	if t.Scope != "" {
		can += ", only " + string(t.Scope)
	}
	if t.Repos != "" {
		can += ", on " + strings.Join(t.Repos.List(), " ")
	}
	return can
}

// makeToken makes a token of the visitor's own, or as an admin of another member.
func (v *visit) makeToken(ask organization.TokenAsk) (*newToken, error) {
	if ask.User == "" {
		ask.User = v.who.UserName
	}
	if ask.User != v.who.UserName && !v.May(api.Administer) {
		return nil, &fault{http.StatusForbidden, "The tokens of others are an admin's business.", "Make one of your own."}
	}
	if ask.User == v.who.UserName {
		ask.Most = v.who.Cap()
	}
	secret, token, err := v.h.parts.Orgs.CreateToken(v.r.Context(), v.by(), ask)
	if err != nil {
		return nil, err
	}
	return &newToken{Secret: secret, Server: v.h.cfg.PublicURL, Token: token}, nil
}

func createToken(v *visit) error {
	scope, err := api.ParseScope(v.form("scope"))
	if err != nil {
		return &fault{http.StatusBadRequest, sentence(err.Error()), "Go back and choose one."}
	}
	ask := organization.TokenAsk{
		User: v.form("user"), Role: api.Role(v.form("role")), Label: strings.TrimSpace(v.form("label")), Scope: scope,
		Repos: strings.Fields(v.form("repos")), Expires: v.h.parts.Orgs.Now().Add(organization.DefaultLife),
	}
	if ask.Role != "" {
		if _, err := api.ParseRole(string(ask.Role)); err != nil {
			return &fault{http.StatusBadRequest, sentence(err.Error()), "Go back and choose one."}
		}
	}
	days, err := strconv.Atoi(v.form("days"))
	switch {
	case err != nil || days < 0 || days > 3660:
		return notANumber("days", v.form("days"))
	case days == 0:
		ask.Expires = time.Time{}
	default:
		ask.Expires = v.h.parts.Orgs.Now().Add(time.Duration(days) * 24 * time.Hour)
	}
	made, err := v.makeToken(ask)
	if err != nil {
		return err
	}
	return v.tokens(made)
}

func revokeToken(v *visit) error {
	user := v.who.UserName
	if v.May(api.Administer) {
		user = ""
	}
	id := v.form("id")
	if err := v.h.parts.Orgs.RevokeToken(v.r.Context(), v.by(), id, user); err != nil {
		return err
	}
	back := v.At("/tokens")
	if v.form("all") != "" {
		back = v.At("/tokens", "all", "true")
	}
	return v.done(back, said{Text: "The token " + id + " is void, at once."})
}
