package dashboard

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/signon"
	"github.com/teammem/teammem/server/store"
)

// visit is one request of somebody who is signed in.
type visit struct {
	h      *Handler
	w      http.ResponseWriter
	r      *http.Request
	who    auth.Caller
	caller ledger.Caller
	repo   api.RepoSlug // that the address names, by its name of now
	query  url.Values   // of the address; what a form sent is asked of form
	frame
}

// signedIn finds out who asks, holds them against the route's right, and has them
// answered.
func (h *Handler) signedIn(route route) answer {
	return func(w http.ResponseWriter, r *http.Request) error {
		user, err := h.desk.Session(r.Context(), h.cookie(r, sessionCookie), route.word())
		if errors.Is(err, signon.ErrNoSession) {
			return h.signedOut(w, r)
		}
		if err != nil {
			return err
		}
		v, err := h.visit(w, r, user)
		if err != nil || v == nil {
			return err
		}
		err = v.authorize(route)
		if err == nil && route.right == api.Write && r.Method == http.MethodPost {
			err = h.parts.Orgs.AdmitWrite(v.who.Org, v.who.Limits.WritesPerMinute)
		}
		if err != nil {
			h.fail(w, r, v, err)
			return nil
		}
		if err := route.answer(v); err != nil {
			h.fail(w, r, v, err)
		}
		return nil
	}
}

// visit is what is known of somebody's request. It is nil where the browser was sent
// to the same page of one of their organizations.
func (h *Handler) visit(w http.ResponseWriter, r *http.Request, user store.UserID) (*visit, error) {
	in, err := h.callers.MembershipsOf(r.Context(), user)
	if err != nil {
		return nil, err
	}
	if len(in) == 0 {
		return nil, &fault{status: http.StatusForbidden, message: "You are signed in, and a member of no organization.", hint: "An admin of yours can take you in."}
	}
	query := r.URL.Query()
	name := query.Get("org")
	if name == "" && len(in) > 1 {
		if r.Method != http.MethodGet {
			return nil, &fault{status: http.StatusBadRequest, message: "You are in several organizations, and the form names none.", hint: "Open the page anew and send it from there."}
		}
		query.Set("org", in[0].OrgName)
		http.Redirect(w, r, r.URL.Path+"?"+query.Encode(), http.StatusSeeOther)
		return nil, nil
	}
	who, err := h.callers.CallerOf(r.Context(), user, auth.BySession, name)
	if err != nil {
		return nil, err
	}
	v := &visit{h: h, w: w, r: r, who: who, query: query}
	v.caller = callerOf(who, first(h.cfg.From(r)))
	v.frame = frame{path: r.URL.Path, who: who, User: who.UserName, Role: who.Role, Organization: who.OrgName}
	if len(in) > 1 {
		v.frame.org = who.OrgName
		for _, m := range in {
			v.Organizations = append(v.Organizations, link{Name: m.OrgName, Href: address("/", "org", m.OrgName), Here: m.OrgName == who.OrgName})
		}
	}
	v.Places = v.places()
	v.Said = h.heard(w, r)
	return v, nil
}

// callerOf is the caller as the ledger knows one.
func callerOf(who auth.Caller, from string) ledger.Caller {
	return ledger.Caller{
		Org: who.Org, OrgUID: who.OrgUID, MaxEntries: who.Limits.MaxEntries, MaxRepos: who.Limits.MaxRepos, MaxBytes: who.Limits.MaxBytes,
		User: who.User, UserName: who.UserName, Role: who.Role, How: string(who.How), From: from, Client: "browser",
	}
}

// by is who makes a change of the organization.
func (v *visit) by() organization.By {
	return organization.By{Org: v.who.Org, User: v.who.UserName, Client: "browser", How: string(v.who.How), From: v.caller.From}
}

// authorize holds the caller against the right that a route asks for, on the repo that
// the address names. This is the one place where that happens.
func (v *visit) authorize(route route) error {
	if !route.right.OfRepo() {
		if v.who.May(route.right) {
			return nil
		}
		return v.refused(route, "")
	}
	name := v.query.Get("repo")
	if name == "" {
		if route.repo {
			return &fault{status: http.StatusBadRequest, message: "The address names no repo.", hint: "The list of repos leads to each."}
		}
		if v.who.MaySomewhere(route.right) {
			return nil
		}
		return v.refused(route, "")
	}
	slug, err := api.ParseRepoSlug(name)
	if err != nil {
		return err
	}
	v.repo = v.who.Resolve(slug)
	v.caller.Role = v.who.RoleOn(v.repo)
	if v.who.MayOn(route.right, v.repo) {
		return nil
	}
	if route.right == api.Write && v.who.MayOn(api.Read, v.repo) {
		// A review rule may make a proposal of what they may not write.
		if proposes, err := v.h.parts.Ledger.MayPropose(v.r.Context(), v.caller); err != nil || proposes {
			return err
		}
	}
	return v.refused(route, v.repo)
}

// refused is the refusal of a right, which is recorded.
func (v *visit) refused(route route, repo api.RepoSlug) error {
	v.h.callers.Refused(auth.Refusal{
		Org: v.who.Org, User: v.who.UserName, How: v.who.How, Why: api.ErrorCodeRole, What: "page " + route.pattern, Repo: repo, From: v.caller.From,
	})
	role, where := v.who.Role, ""
	if repo != "" {
		role, where = v.who.RoleOn(repo), " on this repo"
	}
	return &fault{
		http.StatusForbidden, fmt.Sprintf("As %s you may not %s%s.", role, route.right, where),
		"An admin of the organization can give you a higher role.",
	}
}

// on makes the repo of a form, or of a proposal, the one that the visit is about, where
// the address did not name it. It asks for the right on it.
func (v *visit) on(repo api.RepoSlug, right api.Right) error {
	v.repo = v.who.Resolve(repo)
	v.caller.Role = v.who.RoleOn(v.repo)
	if v.who.MayOn(right, v.repo) {
		return nil
	}
	return v.refused(route{pattern: v.r.URL.Path, right: right}, v.repo)
}

// form is a field that a form sent.
func (v *visit) form(name string) string { return v.r.PostFormValue(name) }

// key reads the entry that an address names.
func (v *visit) key() (api.Key, error) {
	key, err := api.ParseKey(v.query.Get("key"))
	var bad *api.KeyError
	if errors.As(err, &bad) {
		return "", bad.Wire()
	}
	return key, err
}

// show renders a page.
func (v *visit) show(name string, view any) error {
	v.h.render(v.w, v.r, http.StatusOK, name, view)
	return nil
}

// said is what a form did, told by the page that comes next.
type said struct {
	Text   string      `json:"t"`
	Undo   string      `json:"u,omitempty"` // address to post to
	Fields [][2]string `json:"f,omitempty"`
	Short  bool        `json:"s,omitempty"` // the way back is offered for ten seconds
	Bad    bool        `json:"b,omitempty"`
}

// done sends the browser on to another page, which says what was done.
func (v *visit) done(to string, s said) error {
	if text, err := json.Marshal(s); err == nil && len(text) < 2500 {
		v.h.setCookie(v.w, saidCookie, base64.RawURLEncoding.EncodeToString(text), time.Minute)
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// heard takes what the last form did. The parts of a page that scripts ask for leave it
// to the page.
func (h *Handler) heard(w http.ResponseWriter, r *http.Request) *said {
	if r.Method != http.MethodGet || r.Header.Get("HX-Request") != "" || r.Header.Get("Sec-Fetch-Dest") == "empty" {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(h.cookie(r, saidCookie))
	if err != nil || len(text) == 0 {
		return nil
	}
	h.setCookie(w, saidCookie, "", -1)
	var s said
	if json.Unmarshal(text, &s) != nil || s.Undo != "" && !h.paths[s.Undo[:strings.IndexByte(s.Undo+"?", '?')]] {
		return nil
	}
	return &s
}
