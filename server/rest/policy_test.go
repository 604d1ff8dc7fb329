package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
)

// secret is a value that a rule knows, put together here so that no scanner finds
// it in this file.
func secret(seed int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	text := []byte("AKIA")
	for n := uint32(seed*2654435761 + 12345); len(text) < 20; n = n*1664525 + 1013904223 {
		text = append(text, letters[n>>27])
	}
	return string(text)
}

func hidden(text string) string { return text + "\u200b\u2060" + "\U000e0041\U000e0042\n" }

// The whole way of a refusal: 422 that names the place and never the text, nothing
// applied; accepted by its fingerprint; refused again once that is taken back.
func TestARefusedEntry(t *testing.T) {
	b := newBox(t, nil, nil)
	maintainer := b.token("acme", "mia", api.Maintainer)
	leak := secret(1)
	put := `{"entries":{"a.md":"fine","keys.md":"line one\nkey: ` + leak + `\n"},"baseChecksums":{"a.md":null,"keys.md":null}}`
	w := b.do(http.MethodPut, repoPath, b.member, put)
	text := w.Body.String()
	wantError(t, w, http.StatusUnprocessableEntity, api.Refused, api.ErrorCodeRefused)
	refused := api.DecodeError(w.Code, w.Header(), []byte(text)).Details.Refused
	if len(refused) == 0 || refused[0].Key != "keys.md" || refused[0].Line != 2 || refused[0].Class != api.ClassSecret || refused[0].Fingerprint == "" {
		t.Fatalf("refused: %+v", refused)
	}
	for i := range len(leak) - 8 {
		if strings.Contains(text+b.log.String(), leak[i:i+8]) {
			t.Error("the refusal or the log repeats the secret")
		}
	}
	wantError(t, b.do(http.MethodGet, repoPath, b.member, ""), http.StatusNotFound, api.NotFound, api.ErrorCodeNoMemory)

	accept := fmt.Sprintf(`{"fingerprint":%q,"rule":%q,"reason":"a key of the manual"}`, refused[0].Fingerprint, refused[0].Rule)
	wantError(t, b.do(http.MethodPost, api.PathAccepted, b.member, accept), http.StatusForbidden, api.Permission, api.ErrorCodeRole)
	if w := b.do(http.MethodPost, api.PathAccepted, maintainer, accept); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"user":"mia"`) {
		t.Fatalf("accept: %d %s", w.Code, w.Body)
	}
	if w := b.do(http.MethodPut, repoPath, b.member, put); w.Code != http.StatusOK {
		t.Fatalf("an accepted value: %d %s", w.Code, w.Body)
	}
	if w := b.do(http.MethodDelete, api.PathAccepted+"?fingerprint="+refused[0].Fingerprint, maintainer, ""); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "manual") {
		t.Fatalf("forget: %d %s", w.Code, w.Body)
	}
	// What stands already is never refused; what is new is.
	if w := b.do(http.MethodPut, repoPath, b.member, put); w.Code != http.StatusOK {
		t.Errorf("a retry: %d %s", w.Code, w.Body)
	}
	again := strings.ReplaceAll(put, "keys.md", "more.md")
	wantError(t, b.do(http.MethodPut, repoPath, b.member, again), http.StatusUnprocessableEntity, api.Refused, api.ErrorCodeRefused)
}

// A secret in a key stands in the details alone, whose reader has to know which key.
func TestARefusedKey(t *testing.T) {
	b := newBox(t, nil, nil)
	leak := secret(2)
	w := b.do(http.MethodPut, repoPath, b.member, `{"entries":{"`+leak+`.md":"x"},"baseChecksums":{"`+leak+`.md":null}}`)
	said := api.DecodeError(w.Code, w.Header(), w.Body.Bytes())
	if said.Code != api.Refused || len(said.Details.Refused) == 0 || said.Details.Refused[0].Line != 0 {
		t.Fatalf("%d %+v", w.Code, said)
	}
	for i := range len(leak) - 8 {
		if strings.Contains(said.Message+b.log.String(), leak[i:i+8]) {
			t.Fatal("the message or the log repeats the secret")
		}
	}
}

func TestPrivateKeysAreNeverAccepted(t *testing.T) {
	b := newBox(t, nil, nil)
	maintainer := b.token("acme", "mia", api.Maintainer)
	for _, rule := range []string{"private-key", "private-key-putty"} {
		w := b.do(http.MethodPost, api.PathAccepted, maintainer, `{"fingerprint":"0123456789abcdef","rule":"`+rule+`","reason":"no"}`)
		wantError(t, w, http.StatusBadRequest, api.InvalidRequest, api.ErrorCodeBadBody)
	}
	// Nor under another rule's name.
	armour := "-----BEGIN RSA PRIVATE " + "KEY-----\n"
	for seed := range 8 {
		armour += secret(seed) + secret(seed+50) + secret(seed+100) + "\n"
	}
	armour += "-----END RSA PRIVATE " + "KEY-----\n"
	body := fmt.Sprintf(`{"entries":{"k.md":%q}}`, armour)
	for range 2 {
		w := b.do(http.MethodPut, repoPath, b.member, body)
		e := api.DecodeError(w.Code, w.Header(), w.Body.Bytes())
		if w.Code != http.StatusUnprocessableEntity {
			t.Fatalf("a private key: %d", w.Code)
		}
		for _, f := range e.Details.Refused {
			accept := fmt.Sprintf(`{"fingerprint":%q,"rule":"generic","reason":"a lie"}`, f.Fingerprint)
			if w := b.do(http.MethodPost, api.PathAccepted, maintainer, accept); w.Code != http.StatusOK {
				t.Fatalf("accept: %d %s", w.Code, w.Body)
			}
		}
	}
}

// What is flagged goes in and is listed, until it is gone.
func TestAFlaggedEntry(t *testing.T) {
	b := newBox(t, nil, nil)
	b.put(map[api.Key]string{"a.md": "fine", "b.md": "one\n<!-- a comment -->\n", "c.md": "<!-- another -->"})
	list := decode[api.FindingList](t, b.do(http.MethodGet, api.PathFindings+"?repo=acme/widgets&limit=1", b.viewer, "").Body)
	if len(list.Findings) != 1 || list.Findings[0].Key != "b.md" || list.Findings[0].Line != 2 || list.Findings[0].Version != 1 || list.NextCursor != "b.md" {
		t.Fatalf("findings: %+v", list)
	}
	b.put(map[api.Key]string{"b.md": "one\n"})
	list = decode[api.FindingList](t, b.do(http.MethodGet, api.PathFindings+"?repo=acme/widgets", b.viewer, "").Body)
	if len(list.Findings) != 1 || list.Findings[0].Key != "c.md" || list.NextCursor != "" {
		t.Errorf("findings afterwards: %+v", list)
	}
	wantError(t, b.do(http.MethodGet, api.PathFindings+"?repo=acme/widgets", b.foreign, ""), http.StatusNotFound, api.NotFound, api.ErrorCodeNoMemory)
}

// Two admins cannot undo each other's work unseen.
func TestAPolicyIsChangedFromTheOneThatStands(t *testing.T) {
	b := newBox(t, nil, nil)
	admin := b.token("acme", "ada", api.Admin)
	set := func(body string, headers ...string) int {
		w := b.do(http.MethodPut, api.PathPolicy, admin, body, headers...)
		if w.Code == http.StatusPreconditionFailed {
			wantError(t, w, w.Code, api.Conflict, api.ErrorCodePolicyConflict)
		}
		return w.Code
	}
	get := func(headers ...string) (api.OrgPolicy, string, int) {
		w := b.do(http.MethodGet, api.PathPolicy, b.viewer, "", headers...)
		if w.Code != http.StatusOK {
			return api.OrgPolicy{}, w.Header().Get("ETag"), w.Code
		}
		policy, err := api.DecodeOrgPolicy(w.Body.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return policy, w.Header().Get("ETag"), w.Code
	}
	first, tag, _ := get()
	if first.Version != 0 || first.Changed != nil || first.Verdicts[api.ClassSecret] != api.VerdictRefuse || len(first.Key()) != 32 {
		t.Errorf("the policy of the beginning: %+v", first)
	}
	if _, _, status := get("If-None-Match", tag); status != http.StatusNotModified {
		t.Errorf("If-None-Match: %d", status)
	}
	for _, step := range []struct {
		body    string
		headers []string
		status  int
	}{
		{`{"verdicts":{"instruction":"hold"}}`, nil, 200},
		{`{"verdicts":{"instruction":"accept"}}`, nil, 412},
		{`{"verdicts":{"instruction":"accept"}}`, []string{"If-Match", tag}, 412},
		{`{"verdicts":{"instruction":"accept"},"version":0}`, nil, 412},
		{`{"verdicts":{"instruction":"refuse"},"version":1,"review":[{"role":"viewer","pattern":"**"}]}`, nil, 200},
		{`{"verdicts":{"nonsense":"refuse"},"version":2}`, nil, 400},
		{`{"verdicts":{"secret":"perhaps"},"version":2}`, nil, 400},
		{`{"verdict":{},"version":2}`, nil, 400},
		{`{"review":[{"role":"king","pattern":"**"}],"version":2}`, nil, 400},
		{`{"review":[{"role":"member","pattern":"a[","approvals":1}],"version":2}`, nil, 400},
		{`{"review":[{"role":"member","pattern":"a","approvals":0}],"version":2}`, nil, 400},
	} {
		if got := set(step.body, step.headers...); got != step.status {
			t.Errorf("%s %v: %d, want %d", step.body, step.headers, got, step.status)
		}
	}
	stands, tag, _ := get()
	if stands.Version != 2 || stands.ChangedBy != "ada" || stands.Verdicts[api.ClassInstruction] != api.VerdictRefuse || len(stands.Review) != 1 || stands.Review[0].Approvals != 1 {
		t.Errorf("what stands: %+v", stands)
	}
	if got := set(`{}`, "If-Match", tag); got != http.StatusOK {
		t.Errorf("by its tag: %d", got)
	}
	// Another organization has a policy and a key of its own.
	w := b.do(http.MethodGet, api.PathPolicy, b.foreign, "")
	other, err := api.DecodeOrgPolicy(w.Body.Bytes())
	if err != nil || other.Version != 0 || other.FingerprintKey == stands.FingerprintKey {
		t.Errorf("another organization: %+v, %v", other, err)
	}
}
