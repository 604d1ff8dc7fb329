package dashboard_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/store"
)

// team is a server with somebody of each role, who have written something.
type team struct {
	t testing.TB
	*servertest.Server
	tokens map[api.Role]string
}

const widgets = "acme/widgets"

func newTeam(t testing.TB, options ...servertest.Option) *team {
	t.Helper()
	b := &team{t: t, Server: servertest.Start(t, options...), tokens: map[api.Role]string{}}
	for _, role := range api.Roles {
		b.tokens[role] = b.Token(role)
	}
	return b
}

// entries are what the team knows of its widgets, as an agent would write it.
var entries = map[string]string{
	"MEMORY.md":           "# Widgets\n\n- [Testing](feedback_testing.md) — run the short tests first\n- [Release](ops/release.md) — who cuts it, and when\n- [Gone](gone.md) — was removed\n",
	"feedback_testing.md": "---\nname: Testing\ndescription: run the short tests first\ntype: feedback\n---\n\nRun `make test` before a push.\n\n- short ones first\n- then the [release](ops/release.md) ones, see [[Release]]\n\n| what | how long |\n| --- | --- |\n| short | 20 s |\n| long | 10 min |\n",
	"ops/release.md":      "---\nname: Release\ndescription: who cuts it, and when\ntype: project\n---\n\nLee cuts it on Thursdays.\n",
	"ops/alone.md":        "---\nname: Alone\ndescription: nothing leads here\ntype: reference\n---\n\nThe dashboards are at https://grafana.example/d/widgets.\n",
}

// push sends entries as a client does.
func (b *team) push(token, client string, body map[string]any) {
	b.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.ask(http.MethodPut, api.PathTeamMemory+"?repo="+widgets, token, client, text)
}

func (b *team) ask(method, path, token, client string, body []byte) []byte {
	b.t.Helper()
	r, err := http.NewRequest(method, b.URL+path, bytes.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set(api.HeaderClient, client)
	answer, err := b.Client().Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		b.t.Fatalf("%s %s: %s %s %v", method, path, answer.Status, text, err)
	}
	return text
}

// write writes one entry on whatever stands there.
func (b *team) write(role api.Role, key, text string) {
	b.t.Helper()
	var all api.Memory
	base := map[string]any{key: nil}
	answer := b.ask(http.MethodGet, api.PathTeamMemory+"?view=hashes&repo="+widgets, b.tokens[role], "lee-mbp", nil)
	if err := json.Unmarshal(answer, &all); err != nil {
		b.t.Fatal(err)
	}
	if sum, ok := all.Content.EntryChecksums[api.Key(key)]; ok {
		base[key] = sum
	}
	b.push(b.tokens[role], "lee-mbp", map[string]any{"entries": map[string]string{key: text}, "baseChecksums": base})
}

// seed writes what the team knows, with some history, a deletion, and two proposals.
func (b *team) seed() {
	b.t.Helper()
	b.push(b.tokens[api.Admin], "box", map[string]any{"entries": map[string]string{"gone.md": "was here\n"}})
	b.push(b.tokens[api.Admin], "box", map[string]any{"entries": map[string]string{}, "deletions": []string{"gone.md"}, "baseChecksums": map[string]any{"gone.md": api.ChecksumOfString("was here\n")}})
	for _, key := range []string{"MEMORY.md", "feedback_testing.md", "ops/release.md", "ops/alone.md"} {
		b.write(api.Member, key, entries[key])
	}
	b.write(api.Maintainer, "feedback_testing.md", strings.Replace(entries["feedback_testing.md"], "before a push", "before each push", 1))
	b.reviewOf("viewer", "**")
	for _, role := range api.Roles {
		b.ask(http.MethodPost, api.PathClients+"?repo="+widgets, b.tokens[role], "lee-mbp", fmt.Appendf(nil,
			`{"id":%q,"state":"running","started":%q,"version":"1.0","watch":"events","files":4,"at":5,"pending":1,"kept":1,"held":0,"trouble":""}`, role, api.NewTime(time.Now())))
	}
	b.push(b.tokens[api.Viewer], "sam-thinkpad", map[string]any{
		"entries":       map[string]string{"ops/release.md": strings.Replace(entries["ops/release.md"], "Thursdays", "Fridays", 1), "notes.md": "A note of Sam's.\n"},
		"baseChecksums": map[string]any{"ops/release.md": api.ChecksumOfString(entries["ops/release.md"]), "notes.md": nil},
	})
}

// reviewOf has what a role writes approved by others.
func (b *team) reviewOf(role, pattern string) {
	b.t.Helper()
	b.ask(http.MethodPut, api.PathPolicy, b.tokens[api.Admin], "box", fmt.Appendf(nil, `{"verdicts":{},"review":[{"role":%q,"pattern":%q,"approvals":1}]}`, role, pattern))
}

// userOf finds a member of the first organization.
func (b *team) userOf(name string) store.UserID {
	b.t.Helper()
	ctx := context.Background()
	org, err := b.Store().Organization(ctx, server.FirstOrganization)
	if err != nil {
		b.t.Fatal(err)
	}
	members, err := b.Store().Members(ctx, org.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, m := range members {
		if m.Name == name {
			return m.User
		}
	}
	b.t.Fatalf("there is no member %s", name)
	return 0
}

// inBoth makes a member of the first organization an admin of another as well.
func (b *team) inBoth(name, organization string) {
	b.t.Helper()
	b.TokenOf(organization, "somebody", api.Viewer)
	ctx := context.Background()
	org, err := b.Store().Organization(ctx, organization)
	if err != nil {
		b.t.Fatal(err)
	}
	user := b.userOf(name)
	_, err = b.Store().Administer(ctx, org.ID, store.About{}, func(store.OrgState) (*store.OrgChange, error) {
		return &store.OrgChange{
			Members: []store.Member{{Name: name, User: user, Role: api.Admin, Created: time.Now()}},
			Audit:   audit.Record{At: time.Now(), Action: audit.ActionMemberSet, User: "test", Subject: []byte("{}")},
		}, nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// session makes a session of somebody, and gives its secret.
func (b *team) session(name string, kind store.SessionKind) string {
	b.t.Helper()
	secret := fmt.Sprintf("session-of-%s-%d", name, time.Now().UnixNano())
	now := time.Now()
	err := b.Store().AddSession(context.Background(), store.Session{
		Hash: sha256.Sum256([]byte(secret)), Kind: kind, User: b.userOf(name), Created: now, Seen: now, Until: now.Add(time.Hour),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return secret
}

// visitor is a browser without a window or scripts that somebody is signed in with.
type visitor struct {
	b    *team
	http *http.Client
}

func (b *team) as(name string) *visitor {
	b.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	at, err := url.Parse(b.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	if name != "" {
		jar.SetCookies(at, []*http.Cookie{{Name: "teammem-session", Value: b.session(name, store.BrowserSession), Path: "/"}})
	}
	client := b.Client()
	client.Jar = jar
	return &visitor{b, client}
}

// page is an answer with its text.
type page struct {
	status int
	at     string // where the visitor is
	header http.Header
	text   string
}

func (v *visitor) do(r *http.Request) page {
	v.b.t.Helper()
	answer, err := v.http.Do(r)
	if err != nil {
		v.b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		v.b.t.Fatal(err)
	}
	if log := v.b.Log(); strings.Contains(log, "a page broke off") {
		v.b.t.Fatalf("%s: %s", r.URL, log[strings.Index(log, "a page broke off"):])
	}
	return page{answer.StatusCode, answer.Request.URL.RequestURI(), answer.Header, string(text)}
}

func (v *visitor) get(path string) page {
	v.b.t.Helper()
	r, err := http.NewRequest(http.MethodGet, v.b.URL+path, nil)
	if err != nil {
		v.b.t.Fatal(err)
	}
	return v.do(r)
}

// post sends a form of pairs of names and values, and follows to where it leads.
func (v *visitor) post(path string, pairs ...string) page {
	v.b.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	r, err := http.NewRequest(http.MethodPost, v.b.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return v.do(r)
}

// proposals are the ids of those that wait, by key.
func (b *team) proposals() map[string]api.Proposal {
	b.t.Helper()
	var list api.ProposalList
	if err := json.Unmarshal(b.ask(http.MethodGet, api.PathProposals+"?state=open", b.tokens[api.Admin], "box", nil), &list); err != nil {
		b.t.Fatal(err)
	}
	all := map[string]api.Proposal{}
	for _, p := range list.Proposals {
		all[string(p.Key)] = p
	}
	return all
}
