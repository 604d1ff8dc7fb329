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
