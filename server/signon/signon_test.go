package signon

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/memory"
)

// fixture is two servers' desks on one store, with a clock that a test moves.
type fixture struct {
	t     testing.TB
	store *memory.Store
	org   store.Organization
	clock time.Time
	a, b  *Desk
	// refused is what the desks told of refusals.
	refused []auth.Refusal
}

func newFixture(t testing.TB, rules ...string) *fixture {
	t.Helper()
	f := &fixture{t: t, store: memory.New(), clock: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	var err error
	if f.org, err = f.store.CreateOrganization(context.Background(), store.Organization{UID: "org_1", Name: "acme", Created: f.clock}); err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Refused = func(r auth.Refusal) { f.refused = append(f.refused, r) }
	for _, text := range rules {
		rule, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Join = append(cfg.Join, rule)
	}
	desk := func() *Desk {
		log, now := slog.New(slog.DiscardHandler), func() time.Time { return f.clock }
		providers, err := provider.New(log, nil, nil, now)
		if err != nil {
			t.Fatal(err)
		}
		return New(log, f.store, providers, now, cfg, func() {})
	}
	f.a, f.b = desk(), desk()
	return f
}

func (f *fixture) claims(subject string) provider.Claims {
	return provider.Claims{
		Issuer: "https://login.example", Subject: subject, Name: "dana", Email: "dana@acme.example", Verified: true,
		Grouped: true, Groups: []string{"eng"}, Issued: f.clock, Expires: f.clock.Add(time.Hour),
	}
}

func (f *fixture) member(user store.UserID) store.Member {
	f.t.Helper()
	in, err := f.store.Memberships(context.Background(), user)
	if err != nil || len(in) != 1 {
		f.t.Fatalf("memberships: %+v, %v", in, err)
	}
	return in[0].Member
}

// invite invites dana@acme.example.
func (f *fixture) invite(org store.Organization, name string, role api.Role) {
	f.t.Helper()
	i := store.Invitation{Org: org.ID, Email: "dana@acme.example", Name: name, Role: role, Created: f.clock, Until: f.clock.Add(time.Hour)}
	_, err := f.store.Administer(context.Background(), org.ID, store.About{}, func(store.OrgState) (*store.OrgChange, error) {
		return &store.OrgChange{Invite: []store.Invitation{i}, Audit: audit.Record{At: f.clock, Action: audit.ActionInvite, Subject: []byte("{}")}}, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestNobodyComesInByAccident(t *testing.T) {
	f := newFixture(t, "domain:acme.example=acme:member", "group:leads=acme:maintainer")
	for what, change := range map[string]func(*provider.Claims){
		"an address that nobody checked": func(c *provider.Claims) { c.Verified = false },
		"another domain":                 func(c *provider.Claims) { c.Email = "dana@evil-acme.example" },
		"a domain below":                 func(c *provider.Claims) { c.Email = "dana@acme.example.evil.example" },
		"two at signs":                   func(c *provider.Claims) { c.Email = "dana@evil.example@acme.example" },
		"no address":                     func(c *provider.Claims) { c.Email = "" },
		"a group in other letters":       func(c *provider.Claims) { c.Email, c.Groups = "", []string{"Leads"} },
	} {
		c := f.claims("sub-stranger")
		change(&c)
		if _, err := f.a.Enter(context.Background(), c, "", "", From{}); api.CodeOf(err) != api.Permission {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := f.store.Identity(context.Background(), "https://login.example", "sub-stranger"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("something was stored of a stranger: %v", err)
	}
}

// TestSameNameIsNoIdentity: somebody who is called like a member is somebody else,
// unless an invitation says so.
func TestSameNameIsNoIdentity(t *testing.T) {
	f := newFixture(t, "domain:acme.example=acme:member")
	ctx := context.Background()
	token, err := f.store.CreateToken(ctx, store.Token{UID: "tok_1", Org: f.org.ID, UserName: "dana", Role: api.Admin, Hash: [32]byte{1}, Created: f.clock})
	if err != nil {
		t.Fatal(err)
	}
	secret, err := f.a.Enter(ctx, f.claims("sub-1"), "", "", From{})
	if err != nil {
		t.Fatal(err)
	}
	user, err := f.a.Session(ctx, secret, Now)
	if m := f.member(user); err != nil || user == token.User || m.Name != "dana-2" || m.Role != api.Member || m.Groups != "eng" {
		t.Errorf("%+v, %v", m, err)
	}
	f.invite(f.org, "dana", api.Viewer)
	if secret, err = f.a.Enter(ctx, f.claims("sub-2"), "", "", From{}); err != nil {
		t.Fatal(err)
	}
	if user, err = f.a.Session(ctx, secret, Now); err != nil || user != token.User {
		t.Errorf("the invited one is user %d, %v; want %d", user, err, token.User)
	}
	if left, err := f.store.Invitations(ctx, f.org.ID, ""); err != nil || len(left) != 0 {
		t.Errorf("the invitation holds on: %v, %v", left, err)
	}
}

// TestGroupsFollowTheNewestToken: an old token does not bring back a group.
func TestGroupsFollowTheNewestToken(t *testing.T) {
	f := newFixture(t, "domain:acme.example=acme:member")
	ctx := context.Background()
	old := f.claims("sub-1")
	user, err := f.a.admit(ctx, old, From{})
	if err != nil {
		t.Fatal(err)
	}
	f.clock = f.clock.Add(time.Minute)
	fresh := f.claims("sub-1")
	fresh.Groups = nil
	for _, c := range []provider.Claims{fresh, old} {
		if _, err := f.b.admit(ctx, c, From{}); err != nil {
			t.Fatal(err)
		}
		if m := f.member(user); m.Groups != "" {
			t.Errorf("the groups are %q", m.Groups)
		}
	}
}

func TestSessionsEnd(t *testing.T) {
	f := newFixture(t, "domain:acme.example=acme:member")
	ctx := context.Background()
	enter := func(old string) string {
		t.Helper()
		secret, err := f.a.Enter(ctx, f.claims("sub-1"), "", old, From{})
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	want := func(d *Desk, secret string, alive bool, when string) {
		t.Helper()
		if _, err := d.Session(ctx, secret, Now); (err == nil) != alive || err != nil && !errors.Is(err, ErrNoSession) {
			t.Errorf("%s: %v", when, err)
		}
	}
	first := enter("")
	second := enter(first)
	want(f.a, first, false, "the one before, after a new sign-in in the same browser")
	third := enter("")
	want(f.b, second, true, "another server")
	if err := f.a.Leave(ctx, third, true, From{}); err != nil {
		t.Fatal(err)
	}
	want(f.a, second, false, "everywhere, on the same server")
	f.clock = f.clock.Add(FoundFor)
	want(f.b, second, false, "everywhere, on another server, half a second later")
	if FoundFor >= time.Second {
		t.Errorf("a session is believed for %s", FoundFor)
	}

	idle := enter("")
	f.clock = f.clock.Add(DefaultConfig().Idle)
	want(f.a, idle, false, "unused")
	used := enter("")
	for end := f.clock.Add(DefaultConfig().Life); f.clock.Before(end); f.clock = f.clock.Add(DefaultConfig().Idle / 2) {
		want(f.a, used, true, "in use")
	}
	want(f.a, used, false, "at its age")
}

func TestLinksWorkOnce(t *testing.T) {
	f := newFixture(t, "domain:acme.example=acme:member")
	ctx := context.Background()
	user, err := f.a.admit(ctx, f.claims("sub-1"), From{})
	if err != nil {
		t.Fatal(err)
	}
	link, err := f.a.Link(ctx, user)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.a.Session(ctx, link, Now); !errors.Is(err, ErrNoSession) {
		t.Errorf("a link is a session: %v", err)
	}
	for range 3 {
		if whose, err := f.a.Linked(ctx, link, From{}); err != nil || whose != user {
			t.Errorf("whoever looks ahead uses it up: user %d, %v", whose, err)
		}
	}
	secret, err := f.b.Follow(ctx, link, "", From{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.a.Follow(ctx, secret, "", From{}); api.CodeOf(err) != api.Authentication {
		t.Errorf("a session is a link: %v", err)
	}
	if _, err := f.a.Follow(ctx, link, "", From{}); api.CodeOf(err) != api.Authentication {
		t.Errorf("a second time: %v", err)
	}
	late, err := f.a.Link(ctx, user)
	if err != nil {
		t.Fatal(err)
	}
	f.clock = f.clock.Add(DefaultConfig().Links)
	if _, err := f.a.Follow(ctx, late, "", From{}); api.CodeOf(err) != api.Authentication {
		t.Errorf("too late: %v", err)
	}
	if want := (auth.Refusal{Org: f.org.ID, User: "dana", How: "link", Why: api.ErrorCodeTokenInvalid, What: "signin"}); len(f.refused) != 2 || f.refused[0] != want {
		t.Errorf("of the two refusals is told %+v, want %+v", f.refused, want)
	}
	// Each sign-in left a record.
	records, err := f.store.OrgAudit(ctx, f.org.ID, 0, 100)
	var actions []string
	for _, r := range records {
		actions = append(actions, r.Action)
	}
	if got := strings.Join(actions, " "); err != nil || got != "member.set signin" {
		t.Errorf("the audit holds %q, %v", got, err)
	}
}

// remove takes a member out.
func (f *fixture) remove(name string) {
	f.t.Helper()
	_, err := f.store.Administer(context.Background(), f.org.ID, store.About{}, func(s store.OrgState) (*store.OrgChange, error) {
		m := *s.Member(name)
		m.Removed = f.clock
		return &store.OrgChange{Members: []store.Member{m}, Audit: audit.Record{At: f.clock, Action: audit.ActionMemberRemove, Subject: []byte("{}")}}, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// TestWhoWasTakenOutStaysOut: neither a provider nor a link begins a session, the
// organization is told, and an invitation gives what it says and no more.
func TestWhoWasTakenOutStaysOut(t *testing.T) {
	f := newFixture(t, "domain:acme.example=acme:admin")
	ctx := context.Background()
	user, err := f.a.admit(ctx, f.claims("sub-1"), From{})
	if err != nil {
		t.Fatal(err)
	}
	link, err := f.a.Link(ctx, user)
	if err != nil {
		t.Fatal(err)
	}
	f.remove("dana")
	for how, enter := range map[string]func() (string, error){
		"provider": func() (string, error) { return f.a.Enter(ctx, f.claims("sub-1"), "", "", From{Address: "192.0.2.7"}) },
		"link":     func() (string, error) { return f.a.Follow(ctx, link, "", From{Address: "192.0.2.7"}) },
	} {
		f.refused = nil
		if secret, err := enter(); api.CodeOf(err) != api.Permission || secret != "" {
			t.Errorf("by %s: %q, %v", how, secret, err)
		}
		want := auth.Refusal{Org: f.org.ID, User: "dana", How: auth.How(how), Why: api.ErrorCodeOrganization, What: "signin", From: "192.0.2.7"}
		if len(f.refused) != 1 || f.refused[0] != want {
			t.Errorf("by %s: %+v, want %+v", how, f.refused, want)
		}
	}
	f.clock = f.clock.Add(time.Minute)
	f.invite(f.org, "", api.Viewer)
	if _, err := f.a.Enter(ctx, f.claims("sub-1"), "", "", From{}); err != nil {
		t.Fatal(err)
	}
	if m := f.member(user); m.Role != api.Viewer || !m.Removed.IsZero() {
		t.Errorf("taken back by an invitation for a viewer: %+v", m)
	}
}

// TestAnInvitationOpensOneOrganization: it may name a member, who is known in another
// organization too. Whoever follows it does not become them there.
func TestAnInvitationOpensOneOrganization(t *testing.T) {
	f := newFixture(t, "domain:acme.example=acme:member")
	ctx := context.Background()
	user, err := f.a.admit(ctx, f.claims("sub-dana"), From{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := f.store.CreateOrganization(ctx, store.Organization{UID: "org_2", Name: "evil", Created: f.clock})
	if err != nil {
		t.Fatal(err)
	}
	f.invite(other, "dana", api.Admin)
	if _, err := f.a.admit(ctx, f.claims("sub-dana"), From{}); err != nil {
		t.Fatal(err)
	}
	f.invite(other, "dana", api.Member)
	stranger := f.claims("sub-mallory")
	stranger.Groups = nil
	f.a.cfg.Join = nil
	got, err := f.a.admit(ctx, stranger, From{})
	if err != nil || got == user {
		t.Fatalf("the stranger is user %d, %v; dana is user %d", got, err, user)
	}
	if m := f.member(got); m.Org != other.ID || m.Name != "dana-2" || m.Role != api.Member {
		t.Errorf("%+v", m)
	}
}
