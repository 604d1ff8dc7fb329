package signon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/store"
)

// Rule lets people join an organization by their first sign-in.
type Rule struct {
	Kind         string   // "domain" of a verified address, or "group"
	Name         string   // acme.example, engineering
	Organization string   // its name
	Role         api.Role // given by hand, as it were; empty: only groups give one
}

// ParseRule reads a rule as it is typed: domain:acme.example=acme:member,
// group:engineering=acme.
func ParseRule(text string) (Rule, error) {
	who, where, ok := strings.Cut(text, "=")
	kind, name, named := strings.Cut(who, ":")
	org, role, _ := strings.Cut(where, ":")
	r := Rule{Kind: kind, Name: name, Organization: org, Role: api.Role(role)}
	switch {
	case !ok || !named || name == "" || org == "" || kind != "domain" && kind != "group":
		return r, fmt.Errorf("%q is no rule: want domain:acme.example=ORGANIZATION:ROLE or group:NAME=ORGANIZATION:ROLE", text)
	case role != "" && !slices.Contains(api.Roles, r.Role):
		return r, fmt.Errorf("%q: there is no role %q", text, role)
	case kind == "domain" && role == "":
		r.Role = api.Member
	}
	return r, nil
}

// fits: an address counts only when the provider vouches for it, and its domain as
// a whole: evil-acme.example is not acme.example.
func (r Rule) fits(c provider.Claims) bool {
	if r.Kind == "group" {
		return slices.Contains(c.Groups, r.Name)
	}
	_, domain, ok := strings.Cut(c.Email, "@")
	return ok && c.Verified && strings.EqualFold(domain, r.Name)
}

// place is an organization that somebody may join, and how.
type place struct {
	org        store.OrgID
	name       string // what the member is called; empty: as the provider says
	role       api.Role
	why        string
	invitation *store.Invitation
}

// admit finds the user that a provider vouches for, lets them join what they may,
// and writes down their groups.
func (d *Desk) admit(ctx context.Context, c provider.Claims, from From) (store.UserID, error) {
	user, err := d.store.Identity(ctx, c.Issuer, c.Subject)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, fmt.Errorf("find the identity: %w", err)
	}
	var in []store.Membership
	if user != 0 {
		if in, err = d.store.Memberships(ctx, user); err != nil {
			return 0, fmt.Errorf("find the memberships: %w", err)
		}
	}
	places, err := d.places(ctx, c, in)
	if err != nil {
		return 0, err
	}
	if user == 0 && len(places) == 0 {
		return 0, stranger(c)
	}
	if user == 0 {
		known, err := d.invited(ctx, places)
		if err != nil {
			return 0, err
		}
		if user, err = d.store.BindIdentity(ctx, store.Identity{Issuer: c.Issuer, Subject: c.Subject, User: known, Created: d.now()}); err != nil {
			return 0, err
		}
	}
	for _, p := range places {
		if err := d.join(ctx, p, user, c, from); err != nil {
			return 0, err
		}
	}
	return user, d.regroup(ctx, in, user, c, from)
}

func stranger(c provider.Claims) error {
	who := c.Email
	if who == "" || !c.Verified {
		who = "the subject " + c.Subject
	}
	return &api.Error{
		Code:    api.Permission,
		Message: fmt.Sprintf("the provider vouches for you (%s), and no organization here has let you in: an admin can invite you (server invite), or let your domain or group join", who),
		Details: api.Details{ErrorCode: api.ErrorCodeOrganization},
	}
}

// places are the organizations that somebody is not in and may join. Rules do not
// take back whom an admin took out; an invitation does.
func (d *Desk) places(ctx context.Context, c provider.Claims, in []store.Membership) ([]place, error) {
	var all []place
	add := func(p place) {
		for _, m := range in {
			if m.Org == p.org && (m.Removed.IsZero() || p.invitation == nil || p.invitation.Created.Before(m.Removed)) {
				return
			}
		}
		if !slices.ContainsFunc(all, func(other place) bool { return other.org == p.org }) {
			all = append(all, p)
		}
	}
	if c.Email != "" && c.Verified {
		invitations, err := d.store.Invitations(ctx, 0, c.Email)
		if err != nil {
			return nil, fmt.Errorf("find invitations: %w", err)
		}
		for _, i := range invitations {
			if d.now().Before(i.Until) {
				add(place{org: i.Org, name: i.Name, role: i.Role, why: "invitation", invitation: &i})
			}
		}
	}
	for _, rule := range d.cfg.Join {
		if !rule.fits(c) {
			continue
		}
		org, err := d.store.Organization(ctx, rule.Organization)
		if errors.Is(err, store.ErrNotFound) {
			d.log.Warn("a rule lets people join an organization that is not there", "organization", rule.Organization)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find the organization: %w", err)
		}
		add(place{org: org.ID, role: rule.Role, why: rule.Kind})
	}
	return all, nil
}

// invited is the user of the member that an invitation names, where there is one
// already: somebody who had a token before, in that organization and no other. 0:
// none.
func (d *Desk) invited(ctx context.Context, places []place) (store.UserID, error) {
	for _, p := range places {
		if p.name == "" {
			continue
		}
		members, err := d.store.Members(ctx, p.org)
		if err != nil {
			return 0, fmt.Errorf("find the member: %w", err)
		}
		for _, m := range members {
			if m.Name != p.name || m.Service {
				continue
			}
			alone, err := d.inAlone(ctx, m.User, p.org)
			if err != nil || alone {
				return m.User, err
			}
		}
	}
	return 0, nil
}

// inAlone reports whether a user is known in one organization and no other: an
// invitation of one must not open another.
func (d *Desk) inAlone(ctx context.Context, user store.UserID, org store.OrgID) (bool, error) {
	in, err := d.store.Memberships(ctx, user)
	if err != nil {
		return false, fmt.Errorf("find the memberships: %w", err)
	}
	return !slices.ContainsFunc(in, func(m store.Membership) bool { return m.Org != org }), nil
}

// join makes a user a member, once. An invitation is used up by it; one that was
// taken back meanwhile lets nobody in.
func (d *Desk) join(ctx context.Context, p place, user store.UserID, c provider.Claims, from From) error {
	_, err := d.store.Administer(ctx, p.org, store.About{}, func(state store.OrgState) (*store.OrgChange, error) {
		change := &store.OrgChange{}
		if p.invitation != nil {
			if now := state.Invitation(p.invitation.Email); now == nil || *now != *p.invitation {
				return nil, nil
			}
			change.Uninvite = []string{p.invitation.Email}
		}
		m := store.Member{User: user, Role: p.role, Created: d.now(), Groups: store.NamesOf(c.Groups)}
		for _, known := range state.Members {
			if known.User != user {
				continue
			}
			if known.Removed.IsZero() && p.invitation == nil {
				return nil, nil // another request was first
			}
			m = returning(known, p, c)
		}
		if m.Name == "" {
			m.Name = freeName(state, first(p.name, c.Name, c.Subject))
		}
		deed := audit.Deed{How: from.How, From: from.Address, Of: m.Name, Why: p.why, After: map[string]any{"role": m.Role, "groups": c.Groups}}
		change.Members, change.Audit = []store.Member{m}, d.record(audit.ActionMemberSet, m.Name, from, deed)
		return change, nil
	})
	if err != nil {
		return fmt.Errorf("join an organization: %w", err)
	}
	d.forget()
	return nil
}

// returning is a member as an invitation leaves them. Whoever is in keeps what they
// have; to whom was taken out it gives what it says, and not what they had before.
func returning(known store.Member, p place, c provider.Claims) store.Member {
	if known.Removed.IsZero() {
		known.Role = known.Role.Greater(p.role)
	} else {
		known.Role = p.role
	}
	known.Removed, known.Groups = time.Time{}, store.NamesOf(c.Groups)
	return known
}

func (d *Desk) record(action, user string, from From, deed audit.Deed) audit.Record {
	return audit.Record{At: d.now(), Action: action, User: user, Client: from.Client, Subject: deed.Subject()}
}

func first(names ...string) string {
	for _, name := range names {
		if name != "" {
			return name
		}
	}
	return ""
}

// freeName is a name that nobody has or had: a stranger of the same name is
// somebody else.
func freeName(state store.OrgState, name string) string {
	free := name
	for n := 2; state.Member(free) != nil; n++ {
		free = name + "-" + strconv.Itoa(n)
	}
	return free
}

// regroup writes down the groups where they differ from those of before.
func (d *Desk) regroup(ctx context.Context, in []store.Membership, user store.UserID, c provider.Claims, from From) error {
	if !c.Grouped {
		return nil
	}
	newest, err := d.store.Vouch(ctx, c.Issuer, c.Subject, c.Issued)
	if err != nil {
		return fmt.Errorf("note when a token was issued: %w", err)
	}
	if !newest {
		return nil // it says what was, not what is
	}
	groups := store.NamesOf(c.Groups)
	for _, m := range in {
		if m.Groups == groups || !m.Removed.IsZero() {
			continue
		}
		_, err := d.store.Administer(ctx, m.Org, store.About{}, func(state store.OrgState) (*store.OrgChange, error) {
			now := state.Member(m.Name)
			if now == nil || now.User != user || now.Groups == groups {
				return nil, nil
			}
			after := *now
			after.Groups = groups
			deed := audit.Deed{How: from.How, From: from.Address, Of: m.Name, Why: "groups", Before: now.Groups.List(), After: c.Groups}
			return &store.OrgChange{Members: []store.Member{after}, Audit: d.record(audit.ActionMemberSet, m.Name, from, deed)}, nil
		})
		if err != nil {
			return fmt.Errorf("write down groups: %w", err)
		}
		d.forget()
	}
	return nil
}

// SignedIn records that somebody signed in, in each of their organizations.
func (d *Desk) SignedIn(ctx context.Context, user store.UserID, from From) error {
	return d.note(ctx, user, from, audit.ActionSignIn)
}

// note records an action of a person in each of their organizations.
func (d *Desk) note(ctx context.Context, user store.UserID, from From, action string) error {
	in, err := d.store.Memberships(ctx, user)
	if err != nil {
		return fmt.Errorf("find the memberships: %w", err)
	}
	for _, m := range in {
		if !m.Removed.IsZero() {
			continue
		}
		record := d.record(action, m.Name, from, audit.Deed{How: from.How, From: from.Address})
		_, err := d.store.Administer(ctx, m.Org, store.About{}, func(store.OrgState) (*store.OrgChange, error) {
			return &store.OrgChange{Audit: record}, nil
		})
		if err != nil {
			return fmt.Errorf("record the sign-in: %w", err)
		}
	}
	return nil
}

// refused tells that somebody known was refused, in each organization that they are
// in or were.
func (d *Desk) refused(in []store.Membership, from From, why string) {
	if d.cfg.Refused == nil {
		return
	}
	for _, m := range in {
		d.cfg.Refused(auth.Refusal{Org: m.Org, User: m.Name, How: auth.How(from.How), Why: why, What: audit.ActionSignIn, From: from.Address})
	}
}
