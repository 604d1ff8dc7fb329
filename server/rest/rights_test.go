package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
)

// Every route, with every role, and without.
func TestRights(t *testing.T) {
	b := newBox(t, nil, nil)
	b.put(map[api.Key]string{"a.md": "a"})
	old := strings.Replace(repoPath, "widgets", "old", 1)
	if w := b.do(http.MethodPut, old, b.member, `{"entries":{"a.md":"a"}}`); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	tokens := map[api.Role]string{"": "", "invalid": "tm_invalid"}
	spare := map[api.Role]string{}
	for _, role := range api.Roles {
		tokens[role] = b.token("acme", "user of "+string(role), role)
		made := b.do(http.MethodPost, api.PathTokens, tokens[role], `{}`)
		spare[role] = decode[api.NewToken](t, made.Body).ID
	}
	for _, route := range api.Routes {
		for role, token := range tokens {
			target, body := exampleOf(route)
			target = strings.Replace(target, "tok_example", spare[role], 1)
			w := b.do(route.Method, target, token, body)
			known := role != "" && role != "invalid"
			switch {
			case route.Right == api.Public || known && role.May(route.Right):
				want := http.StatusOK
				if strings.Contains(route.Pattern, "{id}") {
					want = http.StatusNotFound // there is no such one; what there is, its own tests show
				}
				if w.Code != want {
					t.Errorf("%s as %q: %d, want %d", route.Operation, role, w.Code, want)
				}
			case known:
				wantError(t, w, http.StatusForbidden, api.Permission, api.ErrorCodeRole)
			case role == "invalid":
				wantError(t, w, http.StatusUnauthorized, api.Authentication, api.ErrorCodeTokenInvalid)
			default:
				wantError(t, w, http.StatusUnauthorized, api.Authentication, api.ErrorCodeTokenMissing)
			}
		}
	}
}

// The table of rights is written down here a second time, so that nobody widens
// a right by a slip.
func TestWhoMayWhat(t *testing.T) {
	want := map[string]string{
		"getTeamMemory":   "viewer member maintainer admin",
		"putTeamMemory":   "member maintainer admin",
		"liveEvents":      "viewer member maintainer admin",
		"listEntries":     "viewer member maintainer admin",
		"getEntry":        "viewer member maintainer admin",
		"listHistory":     "viewer member maintainer admin",
		"listVersions":    "viewer member maintainer admin",
		"getDiff":         "viewer member maintainer admin",
		"restoreEntry":    "member maintainer admin",
		"editEntry":       "member maintainer admin",
		"moveEntry":       "member maintainer admin",
		"listCatalogue":   "viewer member maintainer admin",
		"getLinks":        "viewer member maintainer admin",
		"getIndexes":      "viewer member maintainer admin",
		"getBlame":        "viewer member maintainer admin",
		"exportRepo":      "viewer member maintainer admin",
		"listActivity":    "viewer member maintainer admin",
		"liveActivity":    "viewer member maintainer admin",
		"search":          "viewer member maintainer admin",
		"digest":          "viewer member maintainer admin",
		"getStats":        "viewer member maintainer admin",
		"reportClient":    "viewer member maintainer admin",
		"listClients":     "viewer member maintainer admin", // one's own
		"listFindings":    "viewer member maintainer admin",
		"listProposals":   "viewer member maintainer admin",
		"getProposal":     "viewer member maintainer admin",
		"approveProposal": "maintainer admin",
		"rejectProposal":  "maintainer admin",
		"reopenProposal":  "maintainer admin",
		"getPolicy":       "viewer member maintainer admin",
		"setPolicy":       "admin",
		"acceptFinding":   "maintainer admin",
		"forgetFinding":   "maintainer admin",
		"redact":          "admin",
		"listRedactions":  "admin",
		"startScan":       "admin",
		"getScan":         "admin",
		"whoAmI":          "viewer member maintainer admin",
		"beginSession":    "viewer member maintainer admin",
		"endSession":      "viewer member maintainer admin",

		"listMembers":        "admin",
		"setMember":          "admin",
		"removeMember":       "admin",
		"listGroups":         "admin",
		"setGroup":           "admin",
		"removeGroup":        "admin",
		"listGrants":         "admin",
		"setGrant":           "admin",
		"removeGrant":        "admin",
		"listTokens":         "viewer member maintainer admin", // one's own
		"createToken":        "viewer member maintainer admin", // one's own
		"revokeToken":        "viewer member maintainer admin", // one's own
		"listRepos":          "viewer member maintainer admin",
		"renameRepo":         "admin",
		"forgetRepoName":     "admin",
		"getOrganization":    "viewer member maintainer admin",
		"changeOrganization": "admin",
		"findAudit":          "admin",
		"exportAudit":        "admin",

		"openAPI":   "everyone",
		"wellKnown": "everyone",
		"health":    "everyone",
		"ready":     "everyone",
	}
	for _, route := range api.Routes {
		var may []string
		for _, role := range api.Roles {
			if role.May(route.Right) {
				may = append(may, string(role))
			}
		}
		got := strings.Join(may, " ")
		if api.Role("").May(route.Right) {
			got = "everyone"
		}
		if got != want[route.Operation] {
			t.Errorf("%s: %s, want %s", route.Operation, got, want[route.Operation])
		}
	}
}

// What is wrong with a token cannot be told from the answer.
func TestRefusedTokensLookAlike(t *testing.T) {
	b := newBox(t, nil, nil)
	ctx := context.Background()
	org, err := b.store.Organization(ctx, "acme")
	if err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Minute)
	expired, token := auth.NewToken(org.ID, "dana", api.Admin, past, past)
	if _, err := b.store.CreateToken(ctx, token); err != nil {
		t.Fatal(err)
	}
	revoked, token := auth.NewToken(org.ID, "dana", api.Admin, past, time.Time{})
	if _, err := b.store.CreateToken(ctx, token); err != nil {
		t.Fatal(err)
	}
	if err := b.store.RevokeToken(ctx, org.ID, token.UID, past); err != nil {
		t.Fatal(err)
	}
	answers := map[string]bool{}
	for _, token := range []string{expired, revoked, "tm_unknown", "another kind of token", strings.Repeat("x", 10_000)} {
		w := b.do(http.MethodGet, repoPath, token, "", api.HeaderRequestID, "same")
		wantError(t, w, http.StatusUnauthorized, api.Authentication, api.ErrorCodeTokenInvalid)
		if w.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("WWW-Authenticate is %q", w.Header().Get("WWW-Authenticate"))
		}
		header, err := json.Marshal(w.Header())
		if err != nil {
			t.Fatal(err)
		}
		answers[string(header)+w.Body.String()] = true
	}
	if len(answers) != 1 {
		t.Errorf("refused tokens get %d different answers", len(answers))
	}
}

// A token of one organization sees and changes nothing of another, also under
// the same name of a repo.
func TestOrganizationsAreApart(t *testing.T) {
	b := newBox(t, nil, nil)
	tag := b.put(map[api.Key]string{"a.md": "acme's"}).Header().Get("ETag")
	wantError(t, b.do(http.MethodGet, repoPath, b.foreign, ""), http.StatusNotFound, api.NotFound, api.ErrorCodeNoMemory)
	wantError(t, b.do(http.MethodGet, repoPath, b.foreign, "", "If-None-Match", tag), http.StatusNotFound, api.NotFound, api.ErrorCodeNoMemory)
	w := b.do(http.MethodPut, repoPath, b.foreign, `{"entries":{"b.md":"b"}}`, "If-Match", tag)
	wantError(t, w, http.StatusPreconditionFailed, api.Conflict, api.ErrorCodeConflict)
	if w := b.do(http.MethodPut, repoPath, b.foreign, `{"entries":{"a.md":"other's"}}`); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	mine := decode[api.Memory](t, b.do(http.MethodGet, repoPath, b.member, "").Body)
	theirs := decode[api.Memory](t, b.do(http.MethodGet, repoPath, b.foreign, "").Body)
	if mine.Content.Entries["a.md"] != "acme's" || theirs.Content.Entries["a.md"] != "other's" || mine.OrganizationID == theirs.OrganizationID {
		t.Errorf("acme has %+v, other has %+v", mine, theirs)
	}
}

func TestWhoAmI(t *testing.T) {
	b := newBox(t, nil, nil)
	me := decode[api.WhoAmI](t, b.do(http.MethodGet, api.PathWhoAmI, b.viewer, "").Body)
	if me.Organization != "acme" || me.User != "robot" || me.Role != api.Viewer || me.Expires != nil || !strings.HasPrefix(me.TokenID, "tok_") || !strings.HasPrefix(me.OrganizationID, "org_") {
		t.Errorf("%+v", me)
	}
}
