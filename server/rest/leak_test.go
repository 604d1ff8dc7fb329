package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// acceptAll is a policy that lets everything in.
const acceptAll = `{"version":0,"verdicts":{"secret":"accept","secret-generic":"accept","hidden-text":"accept","hidden-comment":"accept","instruction":"accept","personal":"accept"}}`

// token is a secret that no other run has.
func plantedToken() string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	b := []byte("ghp_")
	for range 36 {
		b = append(b, letters[rand.IntN(len(letters))])
	}
	return string(b)
}

func entries(t *testing.T, texts map[api.Key]string) string {
	t.Helper()
	body, err := json.Marshal(api.Push{Entries: texts})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// A secret that got in is found with who wrote it and who was served it, withdrawn from
// everywhere, and does not come back; and nothing that is answered or logged holds it.
func TestLeakResponse(t *testing.T) {
	r := newReviewed(t, acceptAll)
	secret := plantedToken()
	said := &strings.Builder{}
	do := func(method, target, token, body string, status int, headers ...string) string {
		t.Helper()
		w := r.do(method, target, token, body, headers...)
		if w.Code != status {
			t.Fatalf("%s %s: %d %s, want %d", method, target, w.Code, w.Body, status)
		}
		said.WriteString(w.Body.String())
		return w.Body.String()
	}
	put := func(repo string, texts map[api.Key]string, headers ...string) {
		t.Helper()
		do(http.MethodPut, api.PathTeamMemory+"?repo="+repo, r.author, entries(t, texts), http.StatusOK, headers...)
	}
	put("acme/widgets", map[api.Key]string{"leak.md": "token: " + secret + "\n", "fine.md": "fine\n"}, api.HeaderClient, "laptop")
	put("acme/gadgets", map[api.Key]string{"copy.md": "token: " + secret + "\n"})
	put("acme/plain", map[api.Key]string{"a.md": "nothing\n"})
	// Lee is served it, then it is edited away; the colleague comes too late for it.
	get := func(token, query, client string) api.Memory {
		t.Helper()
		w := r.do(http.MethodGet, repoPath+query, token, "", api.HeaderClient, client)
		return decode[api.Memory](t, w.Body)
	}
	before := get(r.colleague, "", "lee-desk")
	put("acme/widgets", map[api.Key]string{"leak.md": "token: gone\n"}, "If-Match", "*")
	get(r.second, "", "late")

	r.leaks.Run(cancelled(t)) // writes the notes of who was served what
	do(http.MethodPut, api.PathPolicy, r.admin, `{"version":1}`, http.StatusOK)
	scan := decodeText[api.Scan](t, do(http.MethodPost, api.PathScans, r.admin, `{}`, http.StatusOK))
	scan = awaitScan(t, r, scan.ID)
	if scan.Found != 2 || len(scan.Findings) != 2 || scan.Texts < 4 || scan.Versions.Done != scan.Versions.Of {
		t.Fatalf("the scan found %+v", scan)
	}
	old := scan.Findings[slices.IndexFunc(scan.Findings, func(f api.ScanFinding) bool { return f.Key == "leak.md" })]
	if old.Current || old.Version != 1 || old.User != "dana" || old.Client != "laptop" || old.Rule != "github-pat" || old.Verdict != api.VerdictRefuse {
		t.Errorf("the finding: %+v", old)
	}
	if len(old.Pulled) != 1 || old.Pulled[0].User != "lee" || old.Pulled[0].Client != "lee-desk" {
		t.Errorf("who was served it: %+v", old.Pulled)
	}

	ask := fmt.Sprintf(`{"fingerprint":%q,"reason":"the bot's token","dryRun":%%v}`, old.Fingerprint)
	would := decodeText[api.Redacted](t, do(http.MethodPost, api.PathRedactions, r.admin, fmt.Sprintf(ask, true), http.StatusOK))
	if len(would.Versions) != 2 || len(would.Checksums) != 1 || !would.DryRun {
		t.Errorf("a dry run: %+v", would)
	}
	done := decodeText[api.Redacted](t, do(http.MethodPost, api.PathRedactions, r.admin, fmt.Sprintf(ask, false), http.StatusOK))
	if len(done.Versions) != 2 || done.DryRun {
		t.Errorf("the redaction: %+v", done)
	}
	list := decodeText[api.RedactionList](t, do(http.MethodGet, api.PathRedactions, r.admin, "", http.StatusOK))
	if len(list.Redactions) != 1 || list.Redactions[0].User != "ada" || list.Redactions[0].Reason != "the bot's token" {
		t.Errorf("the list: %+v", list)
	}

	// Readers are told, also those whose set did not change and who ask with what they have.
	for _, query := range []string{"", "&view=hashes", fmt.Sprintf("&since=%d", before.Version+1)} {
		w := r.do(http.MethodGet, repoPath+query, r.colleague, "", "If-None-Match", get(r.colleague, "", "x").Checksum.ETag())
		if query != "" && strings.Contains(query, "since") {
			if seen := decode[api.Memory](t, w.Body); !slices.Equal(seen.Redacted, done.Checksums) || seen.Version != 3 {
				t.Errorf("%s: %+v", query, seen)
			}
			continue
		}
		if seen := decode[api.Memory](t, r.do(http.MethodGet, repoPath+query, r.colleague, "").Body); !slices.Equal(seen.Redacted, done.Checksums) {
			t.Errorf("%q: %v is told, want %v", query, seen.Redacted, done.Checksums)
		}
	}
	if w := r.do(http.MethodGet, repoPath+"&since=3", r.colleague, "", "If-None-Match", get(r.colleague, "", "x").Checksum.ETag()); w.Code != http.StatusNotModified {
		t.Errorf("who was told is told again: %d", w.Code)
	}
	copied := decodeText[api.Memory](t, do(http.MethodGet, api.PathTeamMemory+"?repo=acme/gadgets", r.author, "", http.StatusOK))
	if copied.Deleted["copy.md"] != done.Checksums[0] || len(copied.Content.Entries) != 0 {
		t.Errorf("what stood is %+v", copied)
	}

	// The history names who and why, and gives no text.
	history := decodeText[api.HistoryList](t, do(http.MethodGet, api.PathHistory+"?repo=acme/widgets&key=leak.md", r.author, "", http.StatusOK))
	if first := history.Changes[len(history.Changes)-1]; first.Redacted == nil || first.Redacted.User != "ada" || history.Changes[0].Redacted != nil {
		t.Errorf("the history: %+v", history)
	}
	for target, body := range map[string]string{
		api.PathEntry + "?repo=acme/widgets&key=leak.md&version=1":  "",
		api.PathDiff + "?repo=acme/widgets&key=leak.md&from=1&to=2": "",
		api.PathDiff + "?repo=acme/widgets&key=leak.md&from=0&to=1": "",
		api.PathRestore + "?repo=acme/widgets":                      `{"key":"leak.md","version":1}`,
	} {
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		w := r.do(method, target, r.author, body)
		says := w.Body.String()
		wantError(t, w, http.StatusNotFound, api.NotFound, api.ErrorCodeRedacted)
		if !strings.Contains(says, "redacted by ada") || !strings.Contains(says, "the bot's token") {
			t.Errorf("%s says %s", target, says)
		}
	}
	// It does not come back, whatever it is based on and wherever it is put.
	for _, body := range []string{entries(t, map[api.Key]string{"leak.md": "token: " + secret + "\n"}), entries(t, map[api.Key]string{"copy.md": "token: " + secret + "\n"})} {
		for _, repo := range []string{"acme/widgets", "acme/gadgets", "acme/new"} {
			do(http.MethodPut, api.PathPolicy, r.admin, strings.Replace(acceptAll, `"version":0,`, `"version":`+policyVersion(t, r)+`,`, 1), http.StatusOK)
			w := r.do(http.MethodPut, api.PathTeamMemory+"?repo="+repo, r.author, body, "If-Match", "*")
			wantError(t, w, http.StatusUnprocessableEntity, api.Refused, api.ErrorCodeRedacted)
		}
	}
	said.WriteString(r.log.String())
	for i := 4; i+8 <= len(secret); i++ {
		if strings.Contains(said.String(), secret[i:i+8]) {
			t.Fatalf("eight bytes of the secret stand in what was answered or logged")
		}
	}
}

func policyVersion(t *testing.T, r *reviewed) string {
	t.Helper()
	return fmt.Sprint(decode[api.OrgPolicy](t, r.do(http.MethodGet, api.PathPolicy, r.admin, "").Body).Version)
}

func awaitScan(t *testing.T, r *reviewed, id string) api.Scan {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		scan := decode[api.Scan](t, r.do(http.MethodGet, api.PathScans+"/"+id, r.admin, "").Body)
		if scan.State == api.ScanDone {
			return scan
		}
		if time.Now().After(deadline) {
			t.Fatalf("the scan does not end: %+v", scan)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A proposal that holds it goes too, and its author is told.
func TestRedactedProposal(t *testing.T) {
	r := newReviewed(t, `{"verdicts":{"secret":"hold"}}`)
	secret := plantedToken()
	r.push(r.author, entries(t, map[api.Key]string{"a.md": "a\n"}), http.StatusOK)
	held := r.push(r.author, entries(t, map[api.Key]string{"leak.md": "token: " + secret + "\n"}), http.StatusOK, "If-Match", "*")
	if len(held.Held) != 1 {
		t.Fatalf("held: %+v", held)
	}
	sum := api.ChecksumOfString("token: " + secret + "\n")
	w := r.do(http.MethodPost, api.PathRedactions, r.admin, fmt.Sprintf(`{"repo":"acme/widgets","key":"leak.md","version":%d,"reason":"a token"}`, held.Version))
	if done := decode[api.Redacted](t, w.Body); w.Code != http.StatusOK || len(done.Versions) != 1 || done.Versions[0].Proposal != held.Held[0].Proposal {
		t.Fatalf("%d %+v", w.Code, done)
	}
	mine := r.see(r.author, "")
	if mine.Deleted["leak.md"] != sum || !slices.Equal(mine.Redacted, []api.Checksum{sum}) {
		t.Errorf("the author sees %+v", mine)
	}
	w = r.do(http.MethodGet, strings.Replace(api.PathProposal, "{id}", held.Held[0].Proposal, 1), r.admin, "")
	wantError(t, w, http.StatusNotFound, api.NotFound, api.ErrorCodeRedacted)
	list := decode[api.ProposalList](t, r.do(http.MethodGet, api.PathProposals+"?author=me", r.author, "").Body)
	if len(list.Proposals) != 1 || list.Proposals[0].State != api.ProposalRejected || list.Proposals[0].ClosedBy != "ada" {
		t.Errorf("the proposal: %+v", list)
	}
	if audit := r.do(http.MethodGet, api.PathAudit+"?repo=acme/widgets", r.admin, "").Body.String(); !strings.Contains(audit, `"redact"`) || !strings.Contains(audit, "a token") {
		t.Errorf("the audit says %s", audit)
	}
}

// The version in which something is withdrawn counts as one, and what it took away.
func TestARedactionIsCounted(t *testing.T) {
	r := newReviewed(t, "")
	r.push(r.author, entries(t, map[api.Key]string{"a.md": "a\n", "b.md": "b\n"}), http.StatusOK)
	if w := r.do(http.MethodPost, api.PathRedactions, r.admin, `{"repo":"acme/widgets","key":"a.md","reason":"r"}`); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	stats := decode[api.Stats](t, r.do(http.MethodGet, api.PathStats, r.admin, "").Body)
	if got := stats.Total; got.Versions != 2 || got.Created != 2 || got.Deleted != 1 || stats.Versions != 2 {
		t.Errorf("%+v of %d versions", got, stats.Versions)
	}
}

// What is asked for wrongly is refused with what to do.
func TestRedactRefusals(t *testing.T) {
	r := newReviewed(t, "")
	r.push(r.author, entries(t, map[api.Key]string{"a.md": "a\n"}), http.StatusOK)
	for body, code := range map[string]string{
		`{"repo":"acme/widgets","key":"a.md"}`: api.ErrorCodeBadBody, // no reason
		`{"reason":"r"}`:                       api.ErrorCodeBadBody,
		`{"reason":"r","key":"a.md"}`:          api.ErrorCodeBadBody, // of which repo
		`{"reason":"r","repo":"acme/widgets","key":"a.md","fingerprint":"f"}`:      api.ErrorCodeBadBody,
		`{"reason":"r","checksum":"sha256:12"}`:                                    api.ErrorCodeBadBody,
		`{"reason":"r","repo":"acme/widgets","key":"../a.md"}`:                     api.ErrorCodeBadKey,
		`{"reason":"` + strings.Repeat("r", 501) + `","fingerprint":"1234567890"}`: api.ErrorCodeBadBody,
	} {
		wantError(t, r.do(http.MethodPost, api.PathRedactions, r.admin, body), http.StatusBadRequest, api.InvalidRequest, code)
	}
	for _, body := range []string{`{"reason":"r","repo":"acme/widgets","key":"a.md","version":7}`, `{"reason":"r","fingerprint":"0123456789abcdef"}`} {
		wantError(t, r.do(http.MethodPost, api.PathRedactions, r.admin, body), http.StatusNotFound, api.NotFound, api.ErrorCodeNoEntry)
	}
}

func decodeText[T any](t *testing.T, text string) T {
	t.Helper()
	return decode[T](t, strings.NewReader(text))
}

// cancelled is a context that has ended: a desk that runs on it writes its notes.
func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
