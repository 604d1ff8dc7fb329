package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
)

// reviewed is a box with an author, a colleague and two maintainers, under a policy.
type reviewed struct {
	*box
	t                                            *testing.T
	author, colleague, maintainer, second, admin string
}

func newReviewed(t *testing.T, policy string) *reviewed {
	b := newBox(t, nil, nil)
	r := &reviewed{
		box: b, t: t, author: b.member, colleague: b.token("acme", "lee", api.Member), maintainer: b.token("acme", "mia", api.Maintainer),
		second: b.token("acme", "max", api.Maintainer), admin: b.token("acme", "ada", api.Admin),
	}
	if policy != "" {
		if w := b.do(http.MethodPut, api.PathPolicy, r.admin, policy); w.Code != http.StatusOK {
			t.Fatalf("policy: %d %s", w.Code, w.Body)
		}
	}
	return r
}

// push sends a PUT and wants its status.
func (r *reviewed) push(token, body string, status int, headers ...string) api.PushResult {
	r.t.Helper()
	w := r.do(http.MethodPut, repoPath, token, body, headers...)
	if w.Code != status {
		r.t.Fatalf("PUT %s: %d %s, want %d", body, w.Code, w.Body, status)
	}
	if status != http.StatusOK {
		return api.PushResult{}
	}
	result := decode[api.PushResult](r.t, w.Body)
	if tag := w.Header().Get("ETag"); tag != result.Checksum.ETag() {
		r.t.Errorf("the ETag is %s, the checksum %s", tag, result.Checksum)
	}
	return result
}

// see is a caller's view, of which the checksum and hashes are checked.
func (r *reviewed) see(token, query string) api.Memory {
	r.t.Helper()
	w := r.do(http.MethodGet, repoPath+query, token, "")
	if w.Code != http.StatusOK {
		r.t.Fatalf("GET %s: %d %s", query, w.Code, w.Body)
	}
	seen := decode[api.Memory](r.t, w.Body)
	for key, text := range seen.Content.Entries {
		if seen.Content.EntryChecksums[key] != api.ChecksumOfString(text) {
			r.t.Errorf("the checksum of %s is not that of its text", key)
		}
	}
	tag := w.Header().Get("ETag")
	if again := r.do(http.MethodGet, repoPath, token, "", "If-None-Match", tag); again.Code != http.StatusNotModified || again.Header().Get("ETag") != tag {
		r.t.Errorf("If-None-Match: %d %s", again.Code, again.Header().Get("ETag"))
	}
	return seen
}

func (r *reviewed) open(token string) []api.Proposal {
	r.t.Helper()
	return decode[api.ProposalList](r.t, r.do(http.MethodGet, api.PathProposals+"?repo=acme/widgets&state=open", token, "").Body).Proposals
}

// review approves or rejects and wants a status.
func (r *reviewed) review(token, id, verb, body string, status int) api.Proposal {
	r.t.Helper()
	w := r.do(http.MethodPost, api.PathProposals+"/"+id+"/"+verb, token, body)
	if w.Code != status {
		r.t.Fatalf("%s: %d %s, want %d", verb, w.Code, w.Body, status)
	}
	if status != http.StatusOK {
		return api.Proposal{}
	}
	return decode[api.Proposal](r.t, w.Body)
}

func approval(sum api.Checksum) string { return fmt.Sprintf(`{"checksum":%q}`, sum) }

func entriesBody(entries map[api.Key]string) string {
	body, _ := json.Marshal(api.Push{Entries: entries}) // strings: it cannot fail
	return string(body)
}

// Held text is its author's alone until it is approved; what came with it is
// everybody's at once. A stock client, which names the whole set, goes on working.
func TestAHeldEntry(t *testing.T) {
	r := newReviewed(t, "")
	before := r.push(r.author, entriesBody(map[api.Key]string{"a.md": "old", "b.md": "b"}), 200)
	odd := hidden("new")
	put := r.push(r.author, entriesBody(map[api.Key]string{"a.md": odd, "c.md": "clean"}), 200, "If-Match", before.Checksum.ETag())
	if put.Version != 2 || !put.Changed || len(put.Held) != 1 || put.Held[0].Key != "a.md" || put.Held[0].Class != api.ClassHiddenText || put.Held[0].State != api.ProposalOpen {
		t.Fatalf("the author is told %+v", put)
	}
	mine, theirs := r.see(r.author, ""), r.see(r.colleague, "")
	if mine.Content.Entries["a.md"] != odd || mine.Checksum != put.Checksum || mine.Content.Entries["c.md"] != "clean" {
		t.Errorf("the author sees %+v", mine)
	}
	if theirs.Content.Entries["a.md"] != "old" || theirs.Content.Entries["c.md"] != "clean" || theirs.Checksum == mine.Checksum || theirs.Version != 2 {
		t.Errorf("the colleague sees %+v", theirs)
	}
	if text := r.do(http.MethodGet, api.PathEntry+"?repo=acme/widgets&key=a.md", r.colleague, "").Body.String(); !strings.Contains(text, `"old"`) {
		t.Errorf("the colleague's entry: %s", text)
	}
	if text := r.do(http.MethodGet, api.PathHistory+"?repo=acme/widgets&key=a.md", r.author, "").Body.String(); strings.Count(text, `"version":2`) != 1 {
		t.Errorf("the author's history: %s", text)
	}
	if text := r.do(http.MethodGet, api.PathHistory+"?repo=acme/widgets&key=a.md", r.colleague, "").Body.String(); strings.Contains(text, `"version":2`) {
		t.Errorf("the colleague's history: %s", text)
	}
	// Both go on with whole-set preconditions of their own.
	put = r.push(r.author, entriesBody(map[api.Key]string{"d.md": "d"}), 200, "If-Match", put.Checksum.ETag())
	r.push(r.colleague, entriesBody(map[api.Key]string{"e.md": "e"}), 412, "If-Match", put.Checksum.ETag())
	theirs = r.see(r.colleague, "")
	r.push(r.colleague, entriesBody(map[api.Key]string{"e.md": "e"}), 200, "If-Match", theirs.Checksum.ETag())

	if open := r.open(r.colleague); len(open) != 0 {
		t.Errorf("the colleague is listed %+v", open)
	}
	if open := r.open(r.author); len(open) != 1 {
		t.Errorf("the author is listed %+v", open)
	}
	open := r.open(r.maintainer)
	if len(open) != 1 || open[0].Author != "dana" || open[0].Key != "a.md" || len(open[0].Findings) == 0 || open[0].Needed != 1 {
		t.Fatalf("the maintainer is listed %+v", open)
	}
	id := open[0].ID
	wantError(t, r.do(http.MethodGet, api.PathProposals+"/"+id, r.colleague, ""), 404, api.NotFound, api.ErrorCodeNoProposal)
	wantError(t, r.do(http.MethodGet, api.PathProposals+"/"+id, r.foreign, ""), 404, api.NotFound, api.ErrorCodeNoProposal)
	whole := decode[api.Proposal](t, r.do(http.MethodGet, api.PathProposals+"/"+id, r.maintainer, "").Body)
	if whole.Content == nil || *whole.Content != odd || whole.Current == nil || *whole.Current != "old" || !strings.Contains(whole.Diff, "-old") {
		t.Errorf("the proposal: %+v", whole)
	}
	wantError(t, r.do(http.MethodPost, api.PathProposals+"/"+id+"/approve", r.author, approval(whole.Checksum)), 403, api.Permission, api.ErrorCodeRole)
	r.review(r.maintainer, id, "approve", approval(before.Checksum), 412)
	at := r.see(r.colleague, "").Version
	if done := r.review(r.maintainer, id, "approve", approval(whole.Checksum), 200); done.State != api.ProposalApproved || done.ClosedBy != "mia" {
		t.Errorf("approved: %+v", done)
	}
	delta := r.see(r.colleague, fmt.Sprint("&since=", at))
	if !delta.Partial || len(delta.Content.Entries) != 1 || delta.Content.Entries["a.md"] != odd {
		t.Errorf("what the colleague is told then: %+v", delta)
	}
	if mine, theirs := r.see(r.author, ""), r.see(r.colleague, ""); mine.Checksum != theirs.Checksum || mine.Version != at+1 {
		t.Errorf("afterwards the author sees %+v, the colleague %+v", mine, theirs)
	}
	r.review(r.maintainer, id, "approve", approval(whole.Checksum), 412)
}

// A rejection is a tombstone for the author, who may propose other bytes.
func TestARejection(t *testing.T) {
	r := newReviewed(t, `{"review":[{"role":"member","pattern":"MEMORY.md"}]}`)
	put := r.push(r.author, entriesBody(map[api.Key]string{"MEMORY.md": "one"}), 200)
	wantError(t, r.do(http.MethodPost, api.PathProposals+"/"+put.Held[0].Proposal+"/reject", r.maintainer, `{"reason":" "}`), 400, api.InvalidRequest, api.ErrorCodeBadBody)
	r.review(r.maintainer, put.Held[0].Proposal, "reject", `{"reason":"not ours"}`, 200)
	delta := r.see(r.author, fmt.Sprint("&since=", put.Version))
	if delta.Deleted["MEMORY.md"] != api.ChecksumOfString("one") || len(delta.Content.Entries) != 0 || delta.Version != put.Version+1 {
		t.Errorf("the author is told %+v", delta)
	}
	if theirs := r.see(r.colleague, ""); len(theirs.Deleted) != 0 || theirs.Checksum != delta.Checksum {
		t.Errorf("the colleague is told %+v", theirs)
	}
	for _, body := range []string{`{"entries":{"MEMORY.md":"one"}}`, `{"entries":{"MEMORY.md":"one"},"baseChecksums":{"MEMORY.md":null}}`} {
		again := r.push(r.author, body, 200)
		if again.Changed || len(again.Held) != 1 || again.Held[0].State != api.ProposalRejected || again.Held[0].Reason != "not ours" {
			t.Errorf("the same again: %+v", again)
		}
	}
	mine := decode[api.ProposalList](t, r.do(http.MethodGet, api.PathProposals+"?author=me", r.author, "").Body)
	if len(mine.Proposals) != 1 || mine.Proposals[0].State != api.ProposalRejected || mine.Proposals[0].Reason != "not ours" {
		t.Errorf("the author's own list: %+v", mine)
	}
	// It can be taken back, until the author replaces it.
	id := put.Held[0].Proposal
	wantError(t, r.do(http.MethodPost, api.PathProposals+"/"+id+"/reopen", r.author, ""), 403, api.Permission, api.ErrorCodeRole)
	if w := r.do(http.MethodPost, api.PathProposals+"/"+id+"/reopen", r.maintainer, ""); w.Code != 200 || decode[api.Proposal](t, w.Body).State != api.ProposalOpen {
		t.Errorf("reopened: %d %s", w.Code, w.Body)
	}
	wantError(t, r.do(http.MethodPost, api.PathProposals+"/"+id+"/reopen", r.maintainer, ""), 412, api.Conflict, api.ErrorCodeProposalClosed)
	if back := r.see(r.author, fmt.Sprint("&since=", delta.Version)); back.Content.Entries["MEMORY.md"] != "one" || len(back.Deleted) != 0 {
		t.Errorf("the author is told %+v", back)
	}
	r.review(r.maintainer, id, "reject", `{"reason":"not ours"}`, 200)
	other := r.push(r.author, `{"entries":{"MEMORY.md":"two"},"baseChecksums":{"MEMORY.md":null}}`, 200)
	if len(other.Held) != 1 || other.Held[0].State != api.ProposalOpen {
		t.Errorf("other bytes: %+v", other)
	}
	wantError(t, r.do(http.MethodPost, api.PathProposals+"/"+id+"/reopen", r.maintainer, ""), 412, api.Conflict, api.ErrorCodeProposalClosed)
}

// The author takes a proposal back by deleting it, and replaces it by another push,
// which voids what was approved.
func TestTakingBackAndReplacing(t *testing.T) {
	r := newReviewed(t, `{"review":[{"role":"member","pattern":"notes/**","approvals":2}]}`)
	first := r.push(r.author, entriesBody(map[api.Key]string{"notes/a.md": "one"}), 200)
	p := r.review(r.maintainer, first.Held[0].Proposal, "approve", approval(api.ChecksumOfString("one")), 200)
	if p.State != api.ProposalOpen || len(p.Approved) != 1 {
		t.Fatalf("after one of two approvals: %+v", p)
	}
	one := api.ChecksumOfString("one")
	second := r.push(r.author, fmt.Sprintf(`{"entries":{"notes/a.md":"two"},"baseChecksums":{"notes/a.md":%q}}`, one), 200)
	r.review(r.second, first.Held[0].Proposal, "approve", approval(one), 412)
	two := api.ChecksumOfString("two")
	id := second.Held[0].Proposal
	r.review(r.maintainer, id, "approve", approval(two), 200)
	r.review(r.maintainer, id, "approve", approval(two), 200) // twice is once
	if theirs := r.see(r.colleague, ""); len(theirs.Content.Entries) != 0 {
		t.Errorf("with one of two approvals the colleague sees %+v", theirs)
	}
	r.push(r.author, fmt.Sprintf(`{"deletions":["notes/a.md"],"baseChecksums":{"notes/a.md":%q}}`, two), 200)
	r.review(r.second, id, "approve", approval(two), 412)
	if mine := r.see(r.author, ""); len(mine.Content.Entries) != 0 || mine.Deleted["notes/a.md"] != two {
		t.Errorf("afterwards the author sees %+v", mine)
	}
	third := r.push(r.author, `{"entries":{"notes/a.md":"three"},"baseChecksums":{"notes/a.md":null}}`, 200)
	three := api.ChecksumOfString("three")
	r.review(r.maintainer, third.Held[0].Proposal, "approve", approval(three), 200)
	r.review(r.second, third.Held[0].Proposal, "approve", approval(three), 200)
	if theirs := r.see(r.colleague, ""); theirs.Content.Entries["notes/a.md"] != "three" {
		t.Errorf("with both approvals the colleague sees %+v", theirs)
	}
	// A deletion under the rule is a proposal too.
	gone := r.push(r.author, fmt.Sprintf(`{"deletions":["notes/a.md"],"baseChecksums":{"notes/a.md":%q}}`, three), 200)
	if len(gone.Held) != 1 || r.see(r.author, "").Deleted["notes/a.md"] != three || r.see(r.colleague, "").Content.Entries["notes/a.md"] != "three" {
		t.Errorf("a deletion: %+v", gone)
	}
	r.review(r.maintainer, gone.Held[0].Proposal, "approve", approval(three), 200)
	r.review(r.second, gone.Held[0].Proposal, "approve", approval(three), 200)
	if theirs := r.see(r.colleague, ""); theirs.Deleted["notes/a.md"] != three {
		t.Errorf("after the deletion the colleague sees %+v", theirs)
	}
}

// An approval on a base that has moved is a conflict; the approver merges.
func TestABaseThatHasMoved(t *testing.T) {
	r := newReviewed(t, `{"review":[{"role":"viewer","pattern":"**"}]}`)
	r.push(r.colleague, entriesBody(map[api.Key]string{"a.md": "old"}), 200)
	old := api.ChecksumOfString("old")
	put := r.push(r.viewer, fmt.Sprintf(`{"entries":{"a.md":"viewer's"},"baseChecksums":{"a.md":%q}}`, old), 200)
	r.push(r.colleague, fmt.Sprintf(`{"entries":{"a.md":"newer"},"baseChecksums":{"a.md":%q}}`, old), 200)
	sum, newer := api.ChecksumOfString("viewer's"), api.ChecksumOfString("newer")
	w := r.do(http.MethodPost, api.PathProposals+"/"+put.Held[0].Proposal+"/approve", r.maintainer, approval(sum))
	wantError(t, w, 412, api.Conflict, api.ErrorCodeConflict)
	leak := fmt.Sprintf(`{"checksum":%q,"baseChecksum":%q,"content":"key %s"}`, sum, newer, secret(3))
	wantError(t, r.do(http.MethodPost, api.PathProposals+"/"+put.Held[0].Proposal+"/approve", r.maintainer, leak), 422, api.Refused, api.ErrorCodeRefused)
	r.review(r.maintainer, put.Held[0].Proposal, "approve", fmt.Sprintf(`{"checksum":%q,"baseChecksum":%q,"content":"newer and viewer's"}`, sum, newer), 200)
	for _, token := range []string{r.viewer, r.colleague} {
		if seen := r.see(token, ""); seen.Content.Entries["a.md"] != "newer and viewer's" {
			t.Errorf("everybody sees %+v", seen)
		}
	}
}

// A viewer proposes where a rule names viewers, and nowhere else; nobody approves
// their own.
func TestWhoProposesAndWhoApproves(t *testing.T) {
	r := newReviewed(t, `{"review":[{"role":"viewer","pattern":"feedback*"},{"role":"maintainer","pattern":"MEMORY.md"}]}`)
	r.push(r.viewer, entriesBody(map[api.Key]string{"FEEDBACK_x.md": "x"}), 200)
	r.push(r.viewer, entriesBody(map[api.Key]string{"other.md": "x"}), 412) // without a precondition
	r.push(r.viewer, `{"entries":{"other.md":"x"},"baseChecksums":{"other.md":null}}`, 403)
	r.push(r.viewer, `{"entries":{"memory.md":"x"},"baseChecksums":{"memory.md":null}}`, 403)
	for _, token := range []string{r.colleague, r.maintainer} {
		if put := r.push(token, `{"entries":{"MEMORY.md":"index"},"baseChecksums":{"MEMORY.md":null}}`, 200); len(put.Held) != 1 {
			t.Errorf("the rule does not bind: %+v", put)
		}
	}
	if put := r.push(r.admin, `{"entries":{"MEMORY.md":"the admin's"},"baseChecksums":{"MEMORY.md":null}}`, 200); len(put.Held) != 0 {
		t.Errorf("the rule binds an admin: %+v", put)
	}
	open := r.open(r.admin)
	own := open[slices.IndexFunc(open, func(p api.Proposal) bool { return p.Author == "mia" })]
	wantError(t, r.do(http.MethodPost, api.PathProposals+"/"+own.ID+"/approve", r.maintainer, approval(own.Checksum)), 403, api.Permission, api.ErrorCodeOwnProposal)
	if strict := newReviewed(t, `{"review":[{"role":"member","pattern":"**"}]}`); true {
		wantError(t, strict.do(http.MethodPut, repoPath, strict.viewer, `{"entries":{"a.md":"a"}}`), 403, api.Permission, api.ErrorCodeRole)
	}
}

// A page of proposals, and what is no query.
func TestProposalsArePaged(t *testing.T) {
	r := newReviewed(t, `{"review":[{"role":"member","pattern":"**"}]}`)
	r.push(r.author, entriesBody(map[api.Key]string{"a": "1", "b": "1", "c": "1"}), 200)
	r.push(r.colleague, `{"entries":{"d":"1"},"baseChecksums":{"d":null}}`, 200)
	for token, want := range map[string]int{r.author: 3, r.colleague: 1, r.viewer: 0, r.maintainer: 4} {
		total, cursor := 0, ""
		for {
			list := decode[api.ProposalList](t, r.do(http.MethodGet, api.PathProposals+"?limit=2&cursor="+cursor, token, "").Body)
			total += len(list.Proposals)
			if cursor = list.NextCursor; cursor == "" {
				break
			}
		}
		if total != want {
			t.Errorf("%d proposals are listed, want %d", total, want)
		}
	}
	for _, query := range []string{"?state=nonsense", "?author=lee", "?cursor=!", "?limit=0", "?repo=x"} {
		if w := r.do(http.MethodGet, api.PathProposals+query, r.author, ""); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
}
