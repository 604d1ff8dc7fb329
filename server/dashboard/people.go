package dashboard

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// peopleView is the members of an organization, and who is invited.
type peopleView struct {
	frame
	Members []person
	Invited []store.Invitation
	Roles   []api.Role
	Sort    string
	pages
}

type person struct {
	store.Member
	Tokens   int
	LastUsed time.Time
	Self     bool
	LastRole bool // the only admin: they cannot be made less
}

func showPeople(v *visit) error {
	ctx := v.r.Context()
	members, err := v.h.parts.Orgs.Members(ctx, v.who.Org)
	if err != nil {
		return err
	}
	tokens, err := v.h.parts.Orgs.Tokens(ctx, v.who.Org, "")
	if err != nil {
		return err
	}
	invited, err := v.h.parts.DB.Invitations(ctx, v.who.Org, "")
	if err != nil {
		return err
	}
	v.Title = "People"
	view := peopleView{Sort: v.query.Get("sort"), Roles: append([]api.Role{api.NoRole}, api.Roles...)}
	now := v.h.cfg.Now()
	view.Invited = slices.DeleteFunc(invited, func(i store.Invitation) bool { return !i.Until.After(now) })
	view.fill(v, members, tokens)
	switch view.Sort {
	case "role":
		slices.SortStableFunc(view.Members, func(a, b person) int {
			return cmp.Compare(slices.Index(api.Roles, b.Role), slices.Index(api.Roles, a.Role))
		})
	case "used":
		slices.SortStableFunc(view.Members, func(a, b person) int { return b.LastUsed.Compare(a.LastUsed) })
	}
	view.Members, view.pages = paged(v, view.Members)
	view.frame = v.frame
	return v.show("people", view)
}

// fill puts members together with what their tokens say of them.
func (view *peopleView) fill(v *visit, members []store.Member, tokens []store.Token) {
	now := v.h.cfg.Now()
	admins := 0
	for _, m := range members {
		if m.Role == api.Admin {
			admins++
		}
	}
	for _, m := range members {
		m.Role = roleOr(m.Role)
		p := person{Member: m, Self: m.User == v.who.User, LastRole: admins == 1 && m.Role == api.Admin}
		for _, t := range tokens {
			if t.UserName != m.Name || !usable(t, now) {
				continue
			}
			p.Tokens++
			if t.LastUsed.After(p.LastUsed) {
				p.LastUsed = t.LastUsed
			}
		}
		view.Members = append(view.Members, p)
	}
}

func usable(t store.Token, now time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || t.Expires.After(now))
}

func setMember(v *visit) error {
	name, role := strings.TrimSpace(v.form("name")), api.Role(v.form("role"))
	members, err := v.h.parts.Orgs.Members(v.r.Context(), v.who.Org)
	if err != nil {
		return err
	}
	undo := said{Text: name + " is " + string(role) + " now."}
	at := slices.IndexFunc(members, func(m store.Member) bool { return m.Name == name })
	if at >= 0 {
		was := members[at]
		undo.Undo = v.At("/people/set")
		undo.Fields = [][2]string{{"name", name}, {"role", string(roleOr(was.Role))}, {"service", tick(was.Service)}}
	} else {
		undo.Undo, undo.Fields = v.At("/people/remove"), [][2]string{{"name", name}}
	}
	if err := v.h.parts.Orgs.SetMember(v.r.Context(), v.by(), name, role, v.form("service") != ""); err != nil {
		return err
	}
	return v.done(v.At("/people"), undo)
}

// roleOr is a role as it is told: none where there is none.
func roleOr(r api.Role) api.Role {
	if r == "" {
		return api.NoRole
	}
	return r
}

func tick(is bool) string {
	if is {
		return "on"
	}
	return ""
}

func removeMember(v *visit) error {
	name := v.form("name")
	members, err := v.h.parts.Orgs.Members(v.r.Context(), v.who.Org)
	if err != nil {
		return err
	}
	done := said{Text: name + " is out. Their tokens are void; history goes on naming them."}
	for _, m := range members {
		if m.Name == name {
			done.Undo = v.At("/people/set")
			done.Fields = [][2]string{{"name", name}, {"role", string(roleOr(m.Role))}, {"service", tick(m.Service)}}
		}
	}
	if err := v.h.parts.Orgs.RemoveMember(v.r.Context(), v.by(), name); err != nil {
		return err
	}
	return v.done(v.At("/people"), done)
}

func inviteMember(v *visit) error {
	email := strings.TrimSpace(v.form("email"))
	if err := v.h.parts.Orgs.Invite(v.r.Context(), v.by(), email, strings.TrimSpace(v.form("name")), api.Role(v.form("role"))); err != nil {
		return err
	}
	return v.done(v.At("/people"), said{
		Text: email + " is invited: whoever signs in with that address becomes a member.",
		Undo: v.At("/people/uninvite"), Fields: [][2]string{{"email", email}},
	})
}

func uninviteMember(v *visit) error {
	if err := v.h.parts.Orgs.Uninvite(v.r.Context(), v.by(), v.form("email")); err != nil {
		return err
	}
	return v.done(v.At("/people"), said{Text: v.form("email") + " is not invited any more."})
}

// accessView is what groups are, and who is what on which repos.
type accessView struct {
	frame
	Grants []store.Grant
	Roles  []api.Role
	Kinds  []store.GrantKind
	pages
}

func showAccess(v *visit) error {
	grants, err := v.h.parts.Orgs.Grants(v.r.Context(), v.who.Org)
	if err != nil {
		return err
	}
	v.Title = "Groups and roles"
	view := accessView{
		Roles: append([]api.Role{api.NoRole}, api.Roles...),
		Kinds: []store.GrantKind{store.ForGroup, store.ForMember, store.ForEveryone},
	}
	view.Grants, view.pages = paged(v, grants)
	view.frame = v.frame
	return v.show("access", view)
}

func (v *visit) grant() store.Grant {
	return store.Grant{
		Kind: store.GrantKind(v.form("kind")), Name: strings.TrimSpace(v.form("name")), Pattern: strings.TrimSpace(v.form("pattern")), Role: api.Role(v.form("role")),
	}
}

// tells says a grant as a sentence.
func tells(g store.Grant) string {
	whom := string(g.Kind)
	if g.Name != "" {
		whom += " " + g.Name
	}
	where := " in the organization"
	if g.Pattern != "" {
		where = " on " + g.Pattern
	}
	return whom + " is " + string(g.Role) + where
}

func fieldsOf(g store.Grant) [][2]string {
	return [][2]string{{"kind", string(g.Kind)}, {"name", g.Name}, {"pattern", g.Pattern}, {"role", string(g.Role)}}
}

func setAccess(v *visit) error {
	g := v.grant()
	before, err := v.h.parts.Orgs.Grants(v.r.Context(), v.who.Org)
	if err != nil {
		return err
	}
	undo := said{Text: sentence(tells(g)), Undo: v.At("/access/remove"), Fields: fieldsOf(g)}
	for _, b := range before {
		if b.Kind == g.Kind && b.Name == g.Name && strings.EqualFold(b.Pattern, g.Pattern) {
			undo.Undo, undo.Fields = v.At("/access/set"), fieldsOf(b)
		}
	}
	if err := v.h.parts.Orgs.SetGrant(v.r.Context(), v.by(), g); err != nil {
		return err
	}
	return v.done(v.At("/access"), undo)
}

func removeAccess(v *visit) error {
	g := v.grant()
	if err := v.h.parts.Orgs.RemoveGrant(v.r.Context(), v.by(), g); err != nil {
		return err
	}
	return v.done(v.At("/access"), said{Text: "Taken back: " + tells(g) + ".", Undo: v.At("/access/set"), Fields: fieldsOf(g)})
}
