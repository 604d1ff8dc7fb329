package dashboard_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// undo posts the form that the last page offered to take back what was done.
func (v *visitor) undo(p page) page {
	v.b.t.Helper()
	form := regexp.MustCompile(`(?s)id="said".*?<form method="post" action="([^"]*)">(.*?)</form>`).FindStringSubmatch(p.text)
	if form == nil {
		v.b.t.Fatalf("nothing can be taken back here:\n%s", p.text)
	}
	var pairs []string
	for _, field := range regexp.MustCompile(`name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(form[2], -1) {
		pairs = append(pairs, field[1], strings.ReplaceAll(field[2], "&amp;", "&"))
	}
	return v.post(strings.ReplaceAll(form[1], "&amp;", "&"), pairs...)
}

// says fails unless the page is good and holds a text.
func (p page) says(t *testing.T, want string) page {
	t.Helper()
	if p.status != http.StatusOK || !strings.Contains(p.text, want) {
		t.Fatalf("%s: %d, want %q in\n%s", p.at, p.status, want, p.text)
	}
	return p
}

func at(path, key string) string { return path + "?repo=" + widgets + "&key=" + key }

// TestEditing: an entry is written, changed, moved, deleted and restored, and each of
// these is taken back.
func TestEditing(t *testing.T) {
	b := newTeam(t)
	b.seed()
	v := b.as("member")
	on := "?repo=" + widgets
	form := func(key, base, content string) []string {
		return []string{"key", key, "base", base, "content", strings.ReplaceAll(content, "\n", "\r\n"), "whole", "yes"}
	}
	v.post("/entry/check"+on, form("new.md", "", "A new one.\n")...).says(t, "Nothing was found in it.")
	saved := v.post("/entry/save"+on, form("new.md", "", "A new one.\n")...).says(t, "Saved new.md as version")
	v.undo(saved).says(t, "Deleted new.md.")
	v.post("/entry/save"+on, form("new.md", "", "A new one.\n")...).says(t, "A new one.")

	first := string(api.ChecksumOfString("A new one.\n"))
	saved = v.post("/entry/save"+on, form("new.md", first, "A newer one.\n")...).says(t, "A newer one.")
	v.undo(saved).says(t, "Restored new.md as it stood")

	moved := v.post("/entry/move"+on, "key", "new.md", "to", "ops/new.md", "base", first).says(t, "Moved new.md to ops/new.md.")
	v.undo(moved).says(t, "Moved ops/new.md to new.md.")
	deleted := v.post("/entry/delete"+on, "key", "new.md", "base", first, "reason", "of no use").says(t, "Deleted new.md.")
	v.undo(deleted).says(t, "Restored new.md")
	v.get(at("/entry", "new.md")).says(t, "A new one.")

	// Somebody else was quicker: what was typed is kept, who it was is said, and the next
	// save is on theirs.
	b.write(api.Maintainer, "new.md", "Of a maintainer.\n")
	late := v.post("/entry/save"+on, form("new.md", first, "Of a member.\n")...)
	if late.status != http.StatusPreconditionFailed || !strings.Contains(late.text, "maintainer was quicker") || !strings.Contains(late.text, "Of a member.") {
		t.Fatalf("%d\n%s", late.status, late.text)
	}
	checkHTML(t, "a conflict", late.text)
	base := regexp.MustCompile(`name="base" value="([^"]*)"`).FindStringSubmatch(late.text)[1]
	v.post("/entry/save"+on, form("new.md", base, "Of both.\n")...).says(t, "Of both.")
	if gone := v.post("/entry/delete"+on, "key", "new.md", "base", first); gone.status != http.StatusPreconditionFailed {
		t.Errorf("deleting what was not seen: %d", gone.status)
	}
}

// TestTheScannersVerdict: what may not cross is shown before it is saved, and is not
// saved.
func TestTheScannersVerdict(t *testing.T) {
	b := newTeam(t)
	b.seed()
	v := b.as("member")
	secret := "ghp_" + strings.Repeat("aB3dE5fG7h", 4)[:36]
	form := []string{"key", "new.md", "content", "The token is " + secret + "\n", "whole", "yes"}
	v.post("/entry/check?repo="+widgets, form...).says(t, "It cannot be saved like this.")
	refused := v.post("/entry/save?repo="+widgets, form...)
	if refused.status != http.StatusUnprocessableEntity || !strings.Contains(refused.text, "line 1") {
		t.Fatalf("%d\n%s", refused.status, refused.text)
	}
	if v.get(at("/entry", "new.md")).status != http.StatusNotFound {
		t.Error("it was saved")
	}
	held := v.post("/entry/save?repo="+widgets, "key", "new.md", "content", "Unseen: \u202Etxt\n", "whole", "yes").says(t, "waits for approval")
	checkHTML(t, "a held entry", held.text)
	// Its reviewer sees what was found where it stands.
	seen := b.as("maintainer").get("/proposal?id="+b.proposals()["new.md"].ID).says(t, "Unseen: ")
	if line := regexp.MustCompile(`Unseen: [^\n]*<span class="tag warning">`); !line.MatchString(seen.text) {
		t.Errorf("the finding is not shown in its line:\n%s", seen.text)
	}
}

// TestReviewing: approved with a way back, edited and approved, rejected, several at once.
func TestReviewing(t *testing.T) {
	b := newTeam(t)
	b.seed()
	p := b.proposals()
	v := b.as("maintainer")
	release, notes := p["ops/release.md"], p["notes.md"]
	done := v.post("/proposal/approve", "id", release.ID, "checksum", string(release.Checksum)).says(t, "Approved ops/release.md")
	b.as("member").get(at("/entry", "ops/release.md")).says(t, "Fridays")
	v.undo(done).says(t, "Restored ops/release.md")
	b.as("member").get(at("/entry", "ops/release.md")).says(t, "Thursdays")

	if again := v.post("/proposal/approve", "id", release.ID, "checksum", string(release.Checksum)); again.status != http.StatusPreconditionFailed {
		t.Errorf("approved twice: %d", again.status)
	}
	if bare := v.post("/proposal/reject", "id", notes.ID, "reason", " "); bare.status != http.StatusBadRequest {
		t.Errorf("rejected without a reason: %d", bare.status)
	}
	v.post("/proposal/approve", "id", notes.ID, "checksum", string(notes.Checksum), "on", "yes", "standing", "", "edited", "yes", "content", "A better note.\r\n").says(t, "Approved notes.md")
	b.as("member").get(at("/entry", "notes.md")).says(t, "A better note.")

	var ticked []string
	for i := range 3 {
		key := fmt.Sprintf("more%d.md", i)
		b.push(b.tokens[api.Viewer], "sam", map[string]any{"entries": map[string]string{key: "More.\n" + key}, "baseChecksums": map[string]any{key: nil}})
	}
	for _, p := range b.proposals() {
		if p.Key != "more2.md" {
			ticked = append(ticked, "p", p.ID+" "+string(p.Checksum))
		}
	}
	v.post("/review/several", append([]string{"do", "approve"}, ticked...)...).says(t, "Approved 2 of 2.")
	last := b.proposals()["more2.md"]
	v.post("/review/several", "do", "reject", "reason", "not needed", "p", last.ID+" "+string(last.Checksum)).says(t, "Rejected 1 of 1.")
	b.as("viewer").get("/review?state=rejected").says(t, "not needed")

	// A rejection is taken back from the page of the proposal, or at once.
	v.get("/proposal?id="+last.ID).says(t, "Put back in the queue")
	if got := b.as("viewer").get("/proposal?id=" + last.ID); strings.Contains(got.text, "Put back") {
		t.Error("its author is offered to put it back")
	}
	v.post("/proposal/reopen", "id", last.ID).says(t, "more2.md of viewer waits again.")
	v.undo(v.post("/proposal/reject", "id", last.ID, "reason", "too soon").says(t, "Rejected more2.md")).says(t, "waits again")
	if b.proposals()["more2.md"].ID != last.ID {
		t.Error("it is not in the queue")
	}
	b.as("admin").get("/audit?action=reopen").says(t, "more2.md")
}

// TestAdministering: people, access, tokens, policy, settings and the audit, each with its
// way back where there is one.
func TestAdministering(t *testing.T) {
	b := newTeam(t)
	b.seed()
	v := b.as("admin")
	v.undo(v.post("/people/set", "name", "viewer", "role", "member").says(t, "viewer is member now.")).says(t, "viewer is viewer now.")
	v.undo(v.post("/people/remove", "name", "viewer").says(t, "viewer is out.")).says(t, "viewer is viewer now.")
	v.undo(v.post("/people/invite", "email", "kim@acme.example", "name", "kim", "role", "member").says(t, "kim@acme.example is invited")).says(t, "not invited any more")
	if last := v.post("/people/remove", "name", "admin"); last.status != http.StatusBadRequest || !strings.Contains(last.text, "last admin") {
		t.Errorf("the last admin: %d", last.status)
	}
	granted := v.post("/access/set", "kind", "member", "name", "viewer", "pattern", "acme/*", "role", "maintainer").says(t, "Member viewer is maintainer on acme/*.")
	b.as("viewer").get("/review").says(t, "what waits until somebody other")
	v.undo(granted).says(t, "Taken back")

	made := v.post("/tokens/create", "user", "member", "label", "laptop", "scope", "read", "days", "7", "repos", "acme/*").says(t, "It is shown this once.")
	secret := regexp.MustCompile(`id="secret">([^<]*)<`).FindStringSubmatch(made.text)[1]
	b.ask(http.MethodGet, api.PathWhoAmI, secret, "laptop", nil)
	id := regexp.MustCompile(`laptop</th>.*?name="id" value="([^"]*)"`).FindStringSubmatch(strings.ReplaceAll(v.get("/tokens?all=true").text, "\n", " "))[1]
	v.post("/tokens/revoke", "id", id, "all", "true").says(t, "is void, at once")
	r, _ := http.NewRequest(http.MethodGet, b.URL+api.PathWhoAmI, nil)
	r.Header.Set("Authorization", "Bearer "+secret)
	if answer, err := b.Client().Do(r); err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("a revoked token is let in: %v, %v", answer, err)
	}

	policy := []string{"version", "1", "rules", "viewer ** 1\r\nmember MEMORY.md 2\r\n"}
	for _, class := range api.Classes {
		policy = append(policy, "verdict-"+string(class), string(api.DefaultVerdict(class)))
	}
	v.post("/policy/set", policy...).says(t, "Policy 2 is in force")
	if late := v.post("/policy/set", policy...); late.status != http.StatusPreconditionFailed {
		t.Errorf("a policy on one that is over: %d", late.status)
	}
	v.post("/settings/set", "name", "local", "entries", "900", "repos", "0", "bytes", "0", "writes", "0", "days", "0").says(t, "The settings are kept")
	v.post("/repos/rename", "from", widgets, "to", "acme/gadgets").says(t, "answers under both names")
	v.get("/repo?repo="+widgets).says(t, "acme/gadgets")
	v.post("/audit/verify").says(t, "of every chain are as they were written")
	export := v.post("/audit/export")
	if export.status != http.StatusOK || strings.Count(export.text, "\n") < 10 || !strings.Contains(export.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("the export: %d, %s", export.status, export.text)
	}
	v.get("/audit?action=audit.").says(t, "audit.export")
}

// TestWithdrawing: what goes is named, has to be typed, and is gone.
func TestWithdrawing(t *testing.T) {
	b := newTeam(t)
	b.seed()
	v := b.as("admin")
	ask := []string{"repo", widgets, "key", "ops/alone.md", "reason", "it should not have been here"}
	would := v.post("/leaks/confirm", ask...).says(t, "withdraw 1")
	checkHTML(t, "what would go", would.text)
	if wrong := v.post("/leaks/redact", append(ask, "typed", "yes")...); wrong.status != http.StatusBadRequest {
		t.Errorf("withdrawn without a word: %d", wrong.status)
	}
	b.as("member").get(at("/entry", "ops/alone.md")).says(t, "grafana.example")
	v.post("/leaks/redact", append(ask, "typed", "withdraw 1")...).says(t, "Withdrawn: 1 version")
	v.get(at("/history", "ops/alone.md")).says(t, "withdrawn by admin")
	if p := b.as("member").get(at("/entry", "ops/alone.md") + "&version=6"); strings.Contains(p.text, "grafana.example") {
		t.Error("it is still shown")
	}
	scanned := v.post("/leaks/scan").says(t, "The scan looks through everything")
	checkHTML(t, "a scan", scanned.text)
}

// TestRightsOfForms: what a role may not do is refused when it is posted all the same, and
// changes nothing.
func TestRightsOfForms(t *testing.T) {
	b := newTeam(t)
	b.seed()
	release := b.proposals()["ops/release.md"]
	on := "?repo=" + widgets
	for _, c := range []struct {
		path  string
		least api.Role // that may
		pairs []string
	}{
		{"/entry/delete" + on, api.Member, []string{"key", "ops/alone.md", "base", string(api.ChecksumOfString(entries["ops/alone.md"]))}},
		{"/proposal/approve", api.Maintainer, []string{"id", release.ID, "checksum", string(release.Checksum)}},
		{"/proposal/reject", api.Maintainer, []string{"id", release.ID, "reason", "no"}},
		{"/proposal/reopen", api.Maintainer, []string{"id", release.ID}},
		{"/policy/accept", api.Maintainer, []string{"fingerprint", "0123456789abcdef", "rule", "x", "reason", "y"}},
		{"/policy/set", api.Admin, nil},
		{"/people/set", api.Admin, []string{"name", "viewer", "role", "admin"}},
		{"/people/remove", api.Admin, []string{"name", "member"}},
		{"/people/invite", api.Admin, []string{"email", "a@b.c", "role", "admin"}},
		{"/access/set", api.Admin, []string{"kind", "everyone", "pattern", "**", "role", "admin"}},
		{"/settings/set", api.Admin, nil},
		{"/repos/rename", api.Admin, []string{"from", widgets, "to", "acme/x"}},
		{"/tokens/create", api.Admin, []string{"user", "admin", "scope", "all", "days", "1"}},
		{"/audit/verify", api.Admin, nil},
		{"/audit/export", api.Admin, nil},
		{"/leaks/scan", api.Admin, nil},
		{"/leaks/confirm", api.Admin, nil},
		{"/leaks/redact", api.Admin, []string{"repo", widgets, "key", "MEMORY.md", "reason", "x", "typed", "withdraw 1"}},
	} {
		for _, role := range api.Roles {
			if c.least.Greater(role) == role || strings.HasPrefix(c.path, "/entry") {
				continue // they may; and a viewer's deletion becomes a proposal here
			}
			got := b.as(string(role)).post(c.path, c.pairs...)
			if got.status != http.StatusForbidden && got.status != http.StatusNotFound {
				t.Errorf("%s posts to %s: %d", role, c.path, got.status)
			}
			checkHTML(t, string(role)+" "+c.path, got.text)
		}
	}
	b.as("").post("/entry/delete"+on, "key", "MEMORY.md")
	b.as("admin").get("/people").says(t, `<option selected>viewer</option>`)
	b.as("member").get(at("/entry", "MEMORY.md")).says(t, "Widgets")
	for _, path := range []string{"/", "/repos", at("/entry", "MEMORY.md"), "/live"} {
		if got := b.as("").get(path); strings.Contains(got.text, "widgets") && path != at("/entry", "MEMORY.md") || path != "/" && got.status != http.StatusUnauthorized {
			t.Errorf("a stranger sees %s: %d", path, got.status)
		}
	}
}

// TestFindings: what was flagged shows on the entry and in a scan, and is accepted where it
// shows, with a reason.
func TestFindings(t *testing.T) {
	b := newTeam(t)
	b.seed()
	b.write(api.Member, "flagged.md", "Seen, and <!-- not seen --> seen.\n")
	v := b.as("admin")
	p := v.get(at("/entry", "flagged.md")).says(t, "hidden-comment")
	checkHTML(t, "a flagged entry", p.text)
	field := func(name string) string {
		return regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(p.text)[1]
	}
	v.post("/leaks/scan")
	deadline := time.Now().Add(30 * time.Second)
	scan := v.get("/leaks")
	for !strings.Contains(scan.text, ">done<") && time.Now().Before(deadline) {
		scan = v.get("/leaks")
	}
	scan.says(t, "flagged.md").says(t, "Withdraw…")
	checkHTML(t, "a scan that found something", scan.text)
	if bare := v.post("/policy/accept", "fingerprint", field("fingerprint"), "rule", field("rule"), "reason", ""); bare.status != http.StatusBadRequest {
		t.Errorf("accepted without a reason: %d", bare.status)
	}
	accepted := v.post("/policy/accept", "fingerprint", field("fingerprint"), "rule", field("rule"), "reason", "it is for renderers", "back", at("/entry", "flagged.md")).says(t, "accepted from now on")
	if !strings.HasPrefix(accepted.at, "/entry") {
		t.Errorf("it led to %s", accepted.at)
	}
	v.get("/policy").says(t, "it is for renderers")
	v.undo(accepted).says(t, "judged by the policy again")
}

// TestSettingsNameTheOrganization, and show nothing else of what is stored of it.
func TestSettingsNameTheOrganization(t *testing.T) {
	b := newTeam(t)
	for _, role := range []string{"viewer", "admin"} {
		p := b.as(role).get("/settings")
		p.says(t, "</span> of local\n")
		if strings.Contains(p.text, "org_") {
			t.Errorf("as %s the page shows more than the name", role)
		}
	}
}

// TestWritesAMinute: forms count as the API's writes do.
func TestWritesAMinute(t *testing.T) {
	b := newTeam(t)
	b.seed()
	b.as("admin").post("/settings/set", "name", "local", "entries", "900", "repos", "0", "bytes", "0", "writes", "1", "days", "0").says(t, "The settings are kept")
	v, on := b.as("member"), "?repo="+widgets
	v.post("/entry/save"+on, "key", "one.md", "content", "One.\r\n", "whole", "yes").says(t, "Saved one.md")
	late := v.post("/entry/save"+on, "key", "two.md", "content", "Two.\r\n", "whole", "yes")
	if late.status != http.StatusTooManyRequests || !strings.Contains(late.text, "1 times a minute") {
		t.Errorf("%d\n%s", late.status, late.text)
	}
}
