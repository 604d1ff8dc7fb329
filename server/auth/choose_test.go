package auth

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Which organization a person means (protocol 2.7), by what they name and where they
// are members.
func TestChoose(t *testing.T) {
	in := func(name string, removed bool) store.Membership {
		m := store.Membership{Member: store.Member{Name: "dana of " + name}, OrgName: name, OrgUID: "org_" + name}
		if removed {
			m.Removed = time.Unix(1, 0)
		}
		return m
	}
	acme, lab, left := in("acme", false), in("lab", false), in("left", true)
	for _, c := range []struct {
		what  string
		all   []store.Membership
		names string // what is named
		want  string // whose membership; empty: an error
		code  api.Code
		lists []string
	}{
		{"nowhere", nil, "", "", api.Permission, nil},
		{"nowhere, and one named", nil, "acme", "", api.Permission, nil},
		{"in one, none named", []store.Membership{acme}, "", "dana of acme", "", nil},
		{"in one, by its name", []store.Membership{acme}, "acme", "dana of acme", "", nil},
		{"in one, by its id", []store.Membership{acme}, "org_acme", "dana of acme", "", nil},
		{"in one, another named", []store.Membership{acme}, "lab", "", api.Permission, nil},
		{"names are exact", []store.Membership{acme}, "Acme", "", api.Permission, nil},
		{"no space is taken off", []store.Membership{acme}, "acme ", "", api.Permission, nil},
		{"in two, none named", []store.Membership{acme, lab}, "", "", api.InvalidRequest, []string{"acme", "lab"}},
		{"in two, the second named", []store.Membership{acme, lab}, "lab", "dana of lab", "", nil},
		{"in two, a third named", []store.Membership{acme, lab}, "left", "", api.Permission, nil},
		{"left one, in one", []store.Membership{left, acme}, "", "dana of acme", "", nil},
		{"left one, and it is named", []store.Membership{left, acme}, "left", "", api.Permission, nil},
		{"left all", []store.Membership{left}, "", "", api.Permission, nil},
		{"what was left is not listed", []store.Membership{acme, left, lab}, "", "", api.InvalidRequest, []string{"acme", "lab"}},
		{"an id of one is another's name", []store.Membership{{Member: store.Member{Name: "a"}, OrgName: "org_acme", OrgUID: "org_1"}, lab}, "org_acme", "a", "", nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			before := slices.Clone(c.all)
			m, err := Choose(c.all, c.names)
			if !slices.Equal(before, c.all) {
				t.Error("the memberships given were changed")
			}
			if c.want != "" {
				if err != nil || m.Name != c.want {
					t.Errorf("%q, %v; want %q", m.Name, err, c.want)
				}
				return
			}
			e, ok := api.AsError(err)
			if !ok || e.Code != c.code || e.Details.ErrorCode != api.ErrorCodeOrganization || !slices.Equal(e.Details.Organizations, c.lists) || m != (store.Member{}) {
				t.Errorf("%+v, %v; want %s that lists %q", m, err, c.code, c.lists)
			}
			for _, name := range c.lists {
				if !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "--org") {
					t.Errorf("the error does not name %s and the cure: %v", name, err)
				}
			}
		})
	}
}

// A person of a provider is in each organization what they are there, by hand and by
// their groups, and nothing of a token narrows it. Refusals do not say whether the
// organization exists.
func TestCallerOf(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	other, err := f.store.CreateOrganization(ctx, NewOrganization("lab", f.clock))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.store.CreateOrganization(ctx, NewOrganization("closed", f.clock)); err != nil {
		t.Fatal(err)
	}
	_, token := f.token(time.Time{}) // dana, member of acme
	change := func(org store.OrgID, change store.OrgChange) {
		t.Helper()
		change.Audit.Subject = []byte("{}")
		if _, err := f.store.Administer(ctx, org, store.About{}, func(store.OrgState) (*store.OrgChange, error) { return &change, nil }); err != nil {
			t.Fatal(err)
		}
		f.auth.Forget()
	}
	change(other.ID, store.OrgChange{
		Members: []store.Member{{User: token.User, Name: "dana d.", Groups: "red", Created: f.clock}},
		Grants:  &[]store.Grant{{Kind: store.ForGroup, Name: "red", Role: api.Maintainer}, {Kind: store.ForEveryone, Pattern: "lab/secret", Role: api.NoRole}},
	})
	for _, c := range []struct {
		names string
		org   store.OrgID // zero: refused
		name  string
		role  api.Role
		code  api.Code
	}{
		{"acme", f.org.ID, "dana", api.Member, ""},
		{f.org.UID, f.org.ID, "dana", api.Member, ""},
		{"lab", other.ID, "dana d.", api.Maintainer, ""},
		{"", 0, "", "", api.InvalidRequest},
		{"closed", 0, "", "", api.Permission},
		{"nowhere", 0, "", "", api.Permission},
	} {
		who, err := f.auth.CallerOf(ctx, token.User, ByProvider, c.names)
		if c.org == 0 {
			if api.CodeOf(err) != c.code || who.Org != 0 || who.May(api.Known) {
				t.Errorf("%q: %+v, %v; want %s", c.names, who, err, c.code)
			}
			continue
		}
		if err != nil || who.Org != c.org || who.UserName != c.name || who.Role != c.role || who.How != ByProvider || who.Token != 0 || !who.Whole() || who.Cap() != c.role {
			t.Errorf("%q: %+v, %v; want %s, %s", c.names, who, err, c.name, c.role)
		}
	}
	lab, err := f.auth.CallerOf(ctx, token.User, BySession, "lab")
	if err != nil || lab.MayOn(api.Read, "lab/secret") || !lab.MayOn(api.Write, "lab/web") || lab.How != BySession {
		t.Errorf("the grants of lab: %+v, %v", lab, err)
	}
	_, one := f.auth.CallerOf(ctx, token.User, ByProvider, "closed")
	_, none := f.auth.CallerOf(ctx, token.User, ByProvider, "nowhere")
	if one == nil || none == nil || one.Error() != none.Error() {
		t.Errorf("the refusals tell which organizations exist: %v; %v", one, none)
	}
	// A group that leaves takes its right along at once.
	change(other.ID, store.OrgChange{Members: []store.Member{{User: token.User, Name: "dana d.", Groups: "", Created: f.clock}}})
	if lab, err = f.auth.CallerOf(ctx, token.User, ByProvider, "lab"); err != nil || lab.Role != api.NoRole || lab.MayOn(api.Read, "lab/web") {
		t.Errorf("without the group: %+v, %v", lab, err)
	}
	change(other.ID, store.OrgChange{Members: []store.Member{{User: token.User, Name: "dana d.", Role: api.Admin, Created: f.clock, Removed: f.clock}}})
	if who, err := f.auth.CallerOf(ctx, token.User, ByProvider, ""); err != nil || who.Org != f.org.ID {
		t.Errorf("in one organization again, none named: %+v, %v", who, err)
	}
}
