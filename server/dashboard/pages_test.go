package dashboard_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// places are the addresses of every page in a state that a seeded team has, with the
// least role that sees it.
func (b *team) places() []place {
	p := b.proposals()
	return []place{
		{"/", api.Viewer, "At a glance"},
		{"/?range=30d", api.Viewer, "as a table"},
		{"/clients", api.Viewer, "lee-mbp"},
		{"/repos", api.Viewer, widgets},
		{"/repos?q=nothing-of-the-kind", api.Viewer, "No repo’s name holds"},
		{"/repo?repo=" + widgets, api.Viewer, "run the short tests first"},
		{"/repo?repo=" + widgets + "&type=reference&author=member", api.Viewer, "alone.md"},
		{"/repo?repo=" + widgets + "&type=user", api.Viewer, "No entry of the kind"},
		{"/index?repo=" + widgets, api.Viewer, "gone.md"},
		{"/entry?repo=" + widgets + "&key=feedback_testing.md", api.Viewer, "<code>make test</code>"},
		{"/entry?repo=" + widgets + "&key=feedback_testing.md&view=raw", api.Viewer, "[[Release]]"},
		{"/entry?repo=" + widgets + "&key=feedback_testing.md&version=4", api.Viewer, "This is how it stood at version"},
		{"/entry?repo=" + widgets + "&key=gone.md", api.Viewer, "deleted this entry"},
		{"/history?repo=" + widgets + "&key=feedback_testing.md", api.Viewer, "What changed"},
		{"/history?repo=" + widgets, api.Viewer, "gone.md"},
		{"/diff?repo=" + widgets + "&key=feedback_testing.md", api.Viewer, "<ins>each</ins>"},
		{"/blame?repo=" + widgets + "&key=feedback_testing.md", api.Viewer, "before each push"},
		{"/edit?repo=" + widgets + "&key=feedback_testing.md", api.Viewer, "Check without saving"}, // a rule lets viewers propose
		{"/new?repo=" + widgets, api.Viewer, "New entry"},
		{"/search", api.Viewer, "type:feedback"},
		{"/search?q=thursdays", api.Viewer, "<mark>Thursdays</mark>"},
		{"/search?q=short+author:maintainer", api.Viewer, "feedback_testing.md"},
		{"/search?q=zebra", api.Viewer, "Nothing holds all of that"},
		{"/search?q=before:never", api.Viewer, "Search"},
		{"/digest", api.Viewer, "run the short tests first"},
		{"/digest?since=2100-01-01", api.Viewer, "Nothing new since"},
		{"/digest?repo=" + widgets, api.Viewer, "run the short tests first"},
		{"/digest?repo=acme/other", api.Viewer, "Nothing new since"},
		{"/review", api.Viewer, "notes.md"},
		{"/review?state=approved", api.Viewer, "None."},
		{"/proposal?id=" + p["ops/release.md"].ID, api.Viewer, "<ins>Fridays</ins>"},
		{"/proposal?id=" + p["notes.md"].ID + "&edit=yes", api.Maintainer, "Approve as edited"},
		{"/activity", api.Viewer, "gone.md"},
		{"/activity?author=member&action=created&prefix=ops/", api.Viewer, "wrote"},
		{"/activity?author=nobody", api.Viewer, "Nothing of the kind"},
		{"/settings", api.Viewer, "Sign out everywhere"},
		{"/tokens", api.Viewer, "Make a token"},
		{"/tokens?all=true", api.Admin, "of everybody"},
		{"/policy", api.Viewer, "Accepted values"},
		{"/people", api.Admin, "maintainer"},
		{"/access", api.Admin, "Say otherwise"},
		{"/audit", api.Admin, "Verify the chains"},
		{"/audit?action=token.&user=nobody", api.Admin, "Nothing of the kind"},
		{"/leaks", api.Admin, "Nobody has looked yet"},
	}
}

type place struct {
	path  string
	least api.Role
	holds string
}

// TestPages: every page shows what it is for to whoever may see it, is sound HTML, small
// and quick, and is refused to everybody else.
func TestPages(t *testing.T) {
	b := newTeam(t)
	b.seed()
	for _, role := range api.Roles {
		v := b.as(string(role))
		for _, p := range b.places() {
			if p.least == api.Viewer && strings.HasPrefix(p.path, "/proposal") && role == api.Member {
				continue // neither its author nor a reviewer
			}
			want := http.StatusOK
			if p.least.Greater(role) != role {
				want = http.StatusForbidden
			}
			if strings.HasPrefix(p.path, "/tokens?all") || strings.HasPrefix(p.path, "/proposal") || strings.HasPrefix(p.path, "/review") {
				if want != http.StatusOK || role == api.Member {
					continue // shown with less on it
				}
			}
			began := time.Now()
			got := v.get(p.path)
			took := time.Since(began)
			if got.status != want {
				t.Errorf("%s sees %s: %d, want %d", role, p.path, got.status, want)
				continue
			}
			checkHTML(t, string(role)+" "+p.path, got.text)
			if want == http.StatusOK && !strings.Contains(got.text, p.holds) {
				t.Errorf("%s sees %s without %q", role, p.path, p.holds)
			}
			if took > 2*time.Second || len(got.text) > 100_000 {
				t.Errorf("%s took %v and %d bytes", p.path, took, len(got.text))
			}
		}
	}
}

// TestEmptyPages: where there is nothing yet, each page says so and what comes next.
func TestEmptyPages(t *testing.T) {
	b := newTeam(t)
	for path, want := range map[string]string{
		"/":                    "Begin on a developer’s machine",
		"/repos":               "No repo has memory yet.",
		"/search?q=anything":   "Nothing holds all of that.",
		"/digest":              "Nothing new since then.",
		"/review":              "Nothing waits.",
		"/activity":            "Nothing has changed yet.",
		"/clients":             "No client has been heard of.",
		"/access":              "Nobody is anything special",
		"/policy":              "nobody has set one",
		"/leaks":               "Nobody has looked yet.",
		"/audit?chain=nothing": "Nothing of the kind.",
		"/settings":            "Sign out everywhere",
	} {
		p := b.as("admin").get(path).says(t, want)
		checkHTML(t, path, p.text)
	}
	for path, want := range map[string]int{
		"/repo?repo=" + widgets: http.StatusNotFound, at("/entry", "x.md"): http.StatusNotFound, "/entry?repo=" + widgets: http.StatusBadRequest, "/repo": http.StatusBadRequest,
		"/repo?repo=a%20b": http.StatusBadRequest, "/proposal?id=none": http.StatusNotFound, "/?range=1y": http.StatusOK, "/activity?from=x": http.StatusBadRequest,
		"/activity?action=x": http.StatusBadRequest, at("/entry", "../x"): http.StatusBadRequest, at("/entry", "x.md") + "&version=x": http.StatusBadRequest,
		"/export?repo=" + widgets + "&format=rar": http.StatusBadRequest,
	} {
		p := b.as("admin").get(path)
		if p.status != want || !strings.Contains(p.text, "</html>") {
			t.Errorf("%s: %d, want %d", path, p.status, want)
		}
		checkHTML(t, path, p.text)
	}
	welcome := b.as("admin").post("/welcome").says(t, "client login --server "+b.URL+" --token-stdin")
	checkHTML(t, "/welcome", welcome.text)
	if !strings.Contains(welcome.text, "tm_") {
		t.Error("no token is filled in")
	}
}

// TestAClientOfARepoWithoutMemory runs, and an admin sees it, its user as well.
func TestAClientOfARepoWithoutMemory(t *testing.T) {
	b := newTeam(t)
	b.ask(http.MethodPost, api.PathClients+"?repo=acme/bare", b.tokens[api.Member], "lee-mbp", []byte(
		`{"id":"x","state":"running","started":"2026-12-01T00:00:00Z","version":"1.0","watch":"events","files":0,"at":0,"pending":0,"kept":0,"held":0,"trouble":""}`))
	for role, want := range map[string]bool{"admin": true, "member": true, "viewer": false} {
		if got := strings.Contains(b.as(role).get("/clients").text, "acme/bare"); got != want {
			t.Errorf("%s sees it: %v, want %v", role, got, want)
		}
	}
}

// TestTwoOrganizations: whoever is in both has the organization in every address, and
// sees nothing of the one in the other.
func TestTwoOrganizations(t *testing.T) {
	b := newTeam(t)
	b.seed()
	b.inBoth("admin", "other")
	v := b.as("admin")
	p := v.get("/repos")
	if !strings.Contains(p.at, "org=local") {
		t.Errorf("the address is %s", p.at)
	}
	p.says(t, "org=local").says(t, widgets)
	v.get("/repos?org=other").says(t, "No repo has memory yet.")
	if p := v.get("/repo?org=other&repo=" + widgets); p.status != http.StatusNotFound {
		t.Errorf("the other organization shows it: %d", p.status)
	}
	if p := v.post("/people/set", "name", "x", "role", "admin"); p.status != http.StatusBadRequest {
		t.Errorf("a form that names no organization: %d", p.status)
	}
	v.post("/people/set?org=other", "name", "new-one", "role", "member").says(t, "new-one is member now.")
	if strings.Contains(v.get("/people?org=local").text, "new-one") {
		t.Error("it was done in the other one")
	}
	if p := v.get("/repos?org=third"); p.status != http.StatusForbidden {
		t.Errorf("an organization of others: %d", p.status)
	}
}
