package rest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/store"
)

// person is a user of the matrix, with what the oracle knows of them.
type person struct {
	org, name string
	role      api.Role
	groups    []string
	most      api.Role // the token's cap
	scope     api.Scope
	only      string // the token's one pattern, or empty
	secret    string
}

// oracleGrant is a grant as the oracle keeps it.
type oracleGrant struct {
	kind, name, pattern string
	role                api.Role
}

var ranks = map[api.Role]int{"none": 0, "viewer": 1, "member": 2, "maintainer": 3, "admin": 4}

// oracle says what a person may do on a repo, in its own words: patterns are those
// of path.Match, and the grant that counts is found by looking at all of them.
func oracle(p person, grants []oracleGrant, right api.Right, repo string) bool {
	need := map[api.Right]int{api.Known: 0, api.Read: 1, api.Write: 2, api.Administer: 4}[right]
	if right == api.Known {
		return true
	}
	if p.scope == api.ReadScope && right != api.Read || p.scope == api.WriteScope && right == api.Administer {
		return false
	}
	if right == api.Administer {
		return p.only == "" && min(ranks[p.role], ranks[p.most]) >= need
	}
	if ok, _ := path.Match(p.only, repo); p.only != "" && !ok {
		return false
	}
	rank, best := ranks[p.role], -1
	for _, g := range grants {
		personal := map[string]int{"everyone": 1, "group": 2, "member": 3}[g.kind]
		mine := g.kind == "everyone" || g.kind == "member" && g.name == p.name || g.kind == "group" && len(p.groups) > 0 && g.name == p.groups[0]
		if ok, _ := path.Match(g.pattern, repo); !ok || !mine {
			continue
		}
		if weight := personal*1_000_000 + len(g.pattern)*1000 + ranks[g.role]; weight > best {
			rank, best = ranks[g.role], weight
		}
	}
	return min(rank, ranks[p.most]) >= need
}

// matrix is two organizations that hold repos of the same names.
type matrix struct {
	b      *box
	rng    *rand.Rand
	people []person
	grants map[string][]oracleGrant
}

var matrixRepos = []string{"acme/web", "acme/secret", "lab/web", "lab/none", "other/web"}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func newMatrix(t *testing.T, seed uint64) *matrix {
	m := &matrix{b: newBox(t, nil, nil), rng: rand.New(rand.NewPCG(seed, 1)), grants: map[string][]oracleGrant{}}
	for _, org := range []string{"acme", "other"} {
		writer := m.b.token(org, "writer", api.Admin)
		for _, repo := range []string{"acme/web", "acme/secret", "lab/web"} {
			w := m.b.do(http.MethodPut, api.PathTeamMemory+"?repo="+repo, writer, fmt.Sprintf(`{"entries":{"a.md":"of %s"}}`, org))
			if w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		for i := range 12 {
			m.addPerson(t, org, i)
		}
		m.addGrants(t, org)
	}
	m.b.handler.auth.(*auth.Auth).Forget() // as whoever changes rights on a server does
	return m
}

func (m *matrix) addPerson(t *testing.T, org string, i int) {
	rng := m.rng
	p := person{
		org: org, name: "p" + strconv.Itoa(i), role: pick(rng, api.NoRole, api.Viewer, api.Member, api.Maintainer, api.Admin),
		most: pick(rng, api.Viewer, api.Member, api.Admin, api.Admin), scope: pick(rng, api.FullScope, api.FullScope, api.ReadScope, api.WriteScope),
		only: pick(rng, "", "", "acme/*", "lab/web"),
	}
	if rng.IntN(2) == 0 {
		p.groups = []string{pick(rng, "red", "blue")}
	}
	o, err := m.b.store.Organization(t.Context(), org)
	if err != nil {
		t.Fatal(err)
	}
	secret, token := auth.NewToken(o.ID, p.name, p.most, o.Created, o.Created.AddDate(1, 0, 0))
	token.Scope, token.Repos = p.scope, store.Names(p.only)
	if _, err := m.b.store.CreateToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	role := p.role
	if role == api.NoRole {
		role = ""
	}
	_, err = m.b.store.Administer(t.Context(), o.ID, store.About{}, func(s store.OrgState) (*store.OrgChange, error) {
		member := *s.Member(p.name)
		member.Role, member.Groups = role, store.NamesOf(p.groups)
		return &store.OrgChange{Members: []store.Member{member}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.secret = secret
	m.people = append(m.people, p)
}

func (m *matrix) addGrants(t *testing.T, org string) {
	var all []store.Grant
	seen := map[string]bool{}
	for range 8 {
		g := oracleGrant{kind: pick(m.rng, "everyone", "group", "member"), pattern: pick(m.rng, "acme/*", "lab/*", "*/web", "acme/secret"), role: pick(m.rng, api.NoRole, api.Viewer, api.Member, api.Maintainer)}
		switch g.kind {
		case "group":
			g.name = pick(m.rng, "red", "blue")
		case "member":
			g.name = "p" + strconv.Itoa(m.rng.IntN(12))
		}
		if id := g.kind + "|" + g.name + "|" + g.pattern; !seen[id] {
			seen[id] = true
			m.grants[org] = append(m.grants[org], g)
			all = append(all, store.Grant{Kind: store.GrantKind(g.kind), Name: g.name, Pattern: g.pattern, Role: g.role})
		}
	}
	o, err := m.b.store.Organization(t.Context(), org)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.b.store.Administer(t.Context(), o.ID, store.About{}, func(store.OrgState) (*store.OrgChange, error) {
		return &store.OrgChange{Grants: &all}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// S11: who may not is refused, whether the repo is there or not and with the same
// words; who may sees their own organization's and nothing else.
func TestTenantMatrix(t *testing.T) {
	requests := 2_000
	if n, err := strconv.Atoi(os.Getenv("TEAMMEM_TENANT_REQUESTS")); err == nil {
		requests = n
	}
	routes := []api.Route{}
	for _, route := range api.Routes {
		switch route.Operation {
		case "getTeamMemory", "putTeamMemory", "listEntries", "getEntry", "listVersions", "listMembers", "findAudit", "getOrganization", "listRepos":
			routes = append(routes, route)
		}
	}
	var refused, allowed int
	m := newMatrix(t, 1)
	refusals := map[string]string{}
	for i := range requests {
		if i%500 == 499 {
			m = newMatrix(t, uint64(i)) // other people, other grants
		}
		p, route, repo := pick(m.rng, m.people...), pick(m.rng, routes...), pick(m.rng, matrixRepos...)
		target := route.Pattern + "?repo=" + repo + "&key=a.md"
		body := ""
		if route.Operation == "putTeamMemory" {
			body = fmt.Sprintf(`{"entries":{"b.md":"of %s"},"baseChecksums":{"b.md":null}}`, p.org)
		}
		w := m.b.do(route.Method, target, p.secret, body, api.HeaderRequestID, "same")
		may := oracle(p, m.grants[p.org], route.Right, repo)
		if got := w.Code != http.StatusForbidden; got != may {
			t.Fatalf("request %d: %s of %s by %+v: %d, the oracle says %v with %+v\n%s", i, route.Operation, repo, p, w.Code, may, m.grants[p.org], w.Body)
		}
		foreign := map[string]string{"acme": "of other", "other": "of acme"}[p.org]
		if strings.Contains(w.Body.String(), foreign) {
			t.Fatalf("request %d: %+v is shown what is %s", i, p, foreign)
		}
		if may {
			allowed++
			continue
		}
		refused++
		// The refusal is a function of the caller's role there, not of what is there.
		key := fmt.Sprint(p.secret, route.Right)
		text := w.Body.String() + fmt.Sprint(w.Header())
		if route.Right.OfRepo() {
			key += string(m.roleSaid(w.Body.String()))
		}
		if before, known := refusals[key]; known && before != text {
			t.Fatalf("request %d: two refusals differ:\n%s\n%s", i, before, text)
		}
		refusals[key] = text
	}
	t.Logf("%d allowed, %d refused", allowed, refused)
	if refused < requests/10 || allowed < requests/10 {
		t.Errorf("%d allowed, %d refused: the matrix shows little", allowed, refused)
	}
}

// roleSaid is the role that a refusal names.
func (m *matrix) roleSaid(body string) api.Role {
	for role := range ranks {
		if strings.Contains(body, "the role "+string(role)+" ") {
			if strings.Contains(body, "on this repo") {
				return role + " on"
			}
			return role
		}
	}
	return "scope"
}
