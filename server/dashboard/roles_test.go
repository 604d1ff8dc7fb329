package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/teammem/teammem/api"
)

// deed is one thing that people do in a browser: on a page, by what it offers, by steps
// each of which leads to a page. To whom it is not given it is not offered, and is refused
// when it is sent all the same.
type deed struct {
	name    string
	least   api.Role // that may
	page    string
	offers  string   // a selector
	steps   []string // scripts
	shows   [2]string
	post    string // address, and what is sent
	fields  map[string]string
	refused int // 403 where it is not said; 404 where it would tell that there is such a thing
}

// deeds are those of a role. The entries that they change are that role's own.
func (b *team) deeds(role api.Role) []deed {
	mine := string(role) + ".md"
	wait := b.proposals()["wait/"+mine]
	token := b.tokenOf("bystander-" + string(role))
	send := func(form string) string {
		return `document.querySelector("` + form + `").closest("form").requestSubmit()`
	}
	fill := func(id, value string) string {
		return fmt.Sprintf(`document.querySelector(%q).value = %q; `, id, value)
	}
	return []deed{
		{name: "find", page: "/search?q=thursdays", offers: "#q, input[type=search]", shows: [2]string{"main mark", "Thursdays"}},
		{
			name: "read", page: "/search?q=thursdays", offers: `main a[href*="/entry"]`, steps: []string{`document.querySelector('main a[href*="/entry"]').click()`},
			shows: [2]string{"#text", "Lee cuts it on Thursdays."},
		},
		{name: "see what changed", page: at("/diff", mine), offers: "main ins", shows: [2]string{"main ins", "second"}},
		{
			name: "restore", least: api.Member, page: at("/history", mine), offers: `form[action^="/entry/restore"]`,
			steps: []string{fill(`form[action^='/entry/restore'] [name=reason]`, "it was better") + send(`form[action^='/entry/restore'] [name=reason]`)},
			shows: [2]string{"#said", "Restored " + mine}, post: "/entry/restore?repo=" + widgets, fields: map[string]string{"key": mine, "version": "1"},
		},
		{
			name: "approve", least: api.Maintainer, page: "/proposal?id=" + wait.ID, offers: "#approve", steps: []string{send("#approve")},
			shows: [2]string{"#said", "Approved wait/" + mine}, post: "/proposal/approve", fields: map[string]string{"id": wait.ID, "checksum": string(wait.Checksum)}, refused: http.StatusNotFound,
		},
		{
			name: "revoke another's token", least: api.Admin, page: "/tokens?all=true", offers: `form[action^="/tokens/revoke"] [name=id][value="` + token + `"]`,
			steps: []string{send(`form[action^='/tokens/revoke'] [name=id][value='` + token + `']`)},
			shows: [2]string{"#said", token + " is void"}, post: "/tokens/revoke", fields: map[string]string{"id": token}, refused: http.StatusNotFound,
		},
		{
			name: "redact", least: api.Admin, page: "/leaks?repo=" + widgets + "&key=" + mine, offers: "#withdraw",
			steps: []string{fill("#r-repo", widgets) + fill("#r-key", mine) + fill("#r-reason", "not for here") + send("#withdraw"), fill("#typed", "withdraw 2") + send("#redact")},
			shows: [2]string{"#said", "Withdrawn: 2 versions"}, post: "/leaks/redact", fields: map[string]string{"repo": widgets, "key": "MEMORY.md", "reason": "x", "typed": "withdraw 1"},
		},
	}
}

// tokenOf makes a token of somebody new, and gives its id.
func (b *team) tokenOf(name string) string {
	b.t.Helper()
	secret := b.TokenOf("local", name, api.Viewer)
	var who api.WhoAmI
	if err := json.Unmarshal(b.ask(http.MethodGet, api.PathWhoAmI, secret, "box", nil), &who); err != nil || who.TokenID == "" {
		b.t.Fatalf("whose token it is: %+v, %v", who, err)
	}
	return who.TokenID
}

// TestEachRoleInABrowser: what each role does, and what it is not shown.
func TestEachRoleInABrowser(t *testing.T) {
	b := newTeam(t)
	texts, waiting := map[string]string{"MEMORY.md": "# Index\n", "release.md": entries["ops/release.md"]}, map[string]string{}
	second := map[string]string{}
	for _, role := range api.Roles {
		texts[string(role)+".md"], second[string(role)+".md"] = "The first text of "+string(role)+".\n", "The second text of "+string(role)+".\n"
		waiting["wait/"+string(role)+".md"] = "To be approved.\n"
	}
	b.push(b.tokens[api.Admin], "box", map[string]any{"entries": texts})
	base := map[string]any{}
	for key := range second {
		base[key] = api.ChecksumOfString(texts[key])
	}
	b.push(b.tokens[api.Admin], "box", map[string]any{"entries": second, "baseChecksums": base})
	b.reviewOf("member", "wait/**")
	base = map[string]any{}
	for key := range waiting {
		base[key] = nil
	}
	author := b.TokenOf("local", "author", api.Member)
	b.push(author, "box", map[string]any{"entries": waiting, "baseChecksums": base})

	ctx := browser(t)
	for _, role := range api.Roles {
		b.enter(ctx, string(role))
		see(t, ctx, "#user", string(role))
		see(t, ctx, ".role", string(role))
		for _, d := range b.deeds(role) {
			if err := chromedp.Do(ctx, chromedp.Navigate(b.URL+d.page), chromedp.WaitReady("main")); err != nil {
				t.Fatalf("%s, %s: %v", role, d.name, err)
			}
			may := d.least == "" || d.least.Greater(role) == role
			offered, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf("document.querySelector(%q) !== null", d.offers)))
			if err != nil || offered != may {
				t.Errorf("%s is offered to %s: %v, %v; want %v", d.name, role, offered, err, may)
				continue
			}
			if !may {
				b.refuses(t, ctx, role, d)
				continue
			}
			for _, step := range d.steps {
				if _, err := chromedp.RunResponse(ctx, chromedp.Evaluate[chromedp.Void](step)); err != nil {
					t.Fatalf("%s, %s: %v", role, d.name, err)
				}
			}
			see(t, ctx, d.shows[0], d.shows[1])
		}
	}
	b.as("member").get(at("/entry", "MEMORY.md")).says(t, "Index") // no refused one did anything
	if left := b.proposals(); len(left) != 2 {
		t.Errorf("%d proposals wait, want those of viewer and member", len(left))
	}
}

// refuses sends what a page does not offer, from that page.
func (b *team) refuses(t *testing.T, ctx context.Context, role api.Role, d deed) {
	t.Helper()
	fields, err := json.Marshal(d.fields)
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`fetch(%q, {method: "POST", redirect: "manual", body: new URLSearchParams(%s)}).then(r => r.status)`, d.post, fields)
	status, err := chromedp.Run(ctx, chromedp.Evaluate[int](script, chromedp.EvalAwaitPromise))
	want := d.refused
	if want == 0 {
		want = http.StatusForbidden
	}
	if err != nil || status != want {
		t.Errorf("%s, sent by %s all the same, is answered %d, %v; want %d", d.name, role, status, err, want)
	}
}
