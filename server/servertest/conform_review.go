package servertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/teammem/teammem/api"
)

// heldText is a text that the default policy holds for review: it hides a character.
func heldText(s string) string { return s + "\u200b" + s }

// reviewCases hold a server against section 2.6, under the default policy.
var reviewCases = []conformanceCase{
	{"the writer's PUT is 200, and only the writer is served what is held", func(w *wire) {
		r := w.reviewed(map[api.Key]string{"a.md": heldText("new"), "b.md": "b"})
		r.holds(map[api.Key]string{"a.md": "old", "b.md": "b"}) // a mixed PUT: the rest is everybody's at once
		mine := r.mine("")
		if mine.Content.Entries["a.md"] != heldText("new") || mine.Content.EntryChecksums["a.md"] != api.ChecksumOfString(heldText("new")) {
			w.Errorf("the writer is served %+v", mine)
		}
		if mine.Checksum != r.put.Checksum || mine.Version != r.put.Version {
			w.Errorf("the writer is told %s at %d, and the PUT %s at %d", mine.Checksum, mine.Version, r.put.Checksum, r.put.Version)
		}
	}},
	{"checksum, ETag and 304 are the caller's view", func(w *wire) {
		r := w.reviewed(map[api.Key]string{"a.md": heldText("new")})
		theirs := r.memory("")
		if theirs.Checksum == r.put.Checksum || theirs.Checksum != r.before.Checksum || theirs.Version != r.put.Version {
			w.Errorf("another user is told %s at %d", theirs.Checksum, theirs.Version)
		}
		for token, tag := range map[string]string{w.target.Member: r.put.Checksum.ETag(), w.target.Viewer: theirs.Checksum.ETag()} {
			r.wantStatus(r.do(http.MethodGet, r.path(""), token, nil, "If-None-Match", tag), http.StatusNotModified)
			r.wantStatus(r.do(http.MethodGet, r.path("&view=hashes"), token, nil, "If-None-Match", tag), http.StatusNotModified)
		}
		r.wantStatus(r.get("", "If-None-Match", r.put.Checksum.ETag()), http.StatusOK)
	}},
	{"a stock client goes on with the ETag of its own view", func(w *wire) {
		r := w.reviewed(map[api.Key]string{"a.md": heldText("new")})
		next := r.ok(r.repo.put(api.Push{Entries: map[api.Key]string{"c.md": "c"}}, "If-Match", r.put.Checksum.ETag()))
		r.holds(map[api.Key]string{"a.md": "old", "c.md": "c"})
		other := func(tag string) answer {
			return r.do(http.MethodPut, r.path(""), w.target.Maintainer, strings.NewReader(`{"entries":{"d.md":"d"}}`), "If-Match", tag)
		}
		w.wantError(other(next.Checksum.ETag()), http.StatusPreconditionFailed, api.ErrorCodeConflict)
		r.ok(other(r.memory("").Checksum.ETag()))
	}},
	{"others may not read, approve or reject a proposal; its author may not approve it", func(w *wire) {
		r := w.reviewed(map[api.Key]string{"a.md": heldText("new")})
		for _, token := range []string{w.target.Viewer, w.target.Foreign} {
			w.wantError(r.do(http.MethodGet, r.at(), token, nil), http.StatusNotFound, api.ErrorCodeNoProposal)
			w.wantError(r.decide(token, "approve", r.approval()), http.StatusForbidden, api.ErrorCodeRole)
			w.wantError(r.decide(token, "reject", `{"reason":"no"}`), http.StatusForbidden, api.ErrorCodeRole)
		}
		w.wantError(r.decide(w.target.Member, "approve", r.approval()), http.StatusForbidden, api.ErrorCodeRole)
		r.holds(map[api.Key]string{"a.md": "old"})
	}},
	{"an approval binds to the checksum, takes a version, and serves everybody", func(w *wire) {
		r := w.reviewed(map[api.Key]string{"a.md": heldText("new")})
		w.wantStatus(r.decide(w.target.Maintainer, "approve", fmt.Sprintf(`{"checksum":%q}`, api.ChecksumOfString("other"))), http.StatusPreconditionFailed)
		r.holds(map[api.Key]string{"a.md": "old"})
		w.wantStatus(r.decide(w.target.Maintainer, "approve", r.approval()), http.StatusOK)
		now := r.holds(map[api.Key]string{"a.md": heldText("new")})
		if now.Version != r.put.Version+1 || now.Checksum != r.mine("").Checksum {
			w.Errorf("everybody is at %d with %s", now.Version, now.Checksum)
		}
		w.wantStatus(r.decide(w.target.Maintainer, "approve", r.approval()), http.StatusPreconditionFailed)
	}},
	{"an approval on a base that has moved is a conflict", func(w *wire) {
		r := w.reviewed(map[api.Key]string{"a.md": heldText("new")})
		r.ok(r.do(http.MethodPut, r.path(""), w.target.Maintainer, strings.NewReader(`{"entries":{"a.md":"theirs"}}`), "If-Match", r.memory("").Checksum.ETag()))
		w.wantError(r.decide(w.target.Maintainer, "approve", r.approval()), http.StatusPreconditionFailed, api.ErrorCodeConflict)
		edited, _ := json.Marshal(map[string]any{"checksum": r.sum(), "baseChecksum": api.ChecksumOfString("theirs"), "content": "both"})
		w.wantStatus(r.decide(w.target.Maintainer, "approve", string(edited)), http.StatusOK)
		r.holds(map[api.Key]string{"a.md": "both"})
	}},
	{"a rejection leaves its author a tombstone, or the text that stands", func(w *wire) {
		r := w.reviewed(map[api.Key]string{"a.md": heldText("new"), "n.md": heldText("none")})
		w.wantStatus(r.decide(w.target.Maintainer, "reject", `{"reason":""}`), http.StatusBadRequest)
		for _, held := range r.put.Held {
			w.wantStatus(r.do(http.MethodPost, api.PathProposals+"/"+held.Proposal+"/reject", w.target.Maintainer, strings.NewReader(`{"reason":"no"}`)), http.StatusOK)
		}
		mine := r.mine("")
		if mine.Content.Entries["a.md"] != "old" || mine.Deleted["n.md"] != api.ChecksumOfString(heldText("none")) || mine.Version != r.put.Version+2 {
			w.Errorf("the author is served %+v", mine)
		}
		if theirs := r.memory(""); len(theirs.Deleted) != 0 || theirs.Content.Entries["a.md"] != "old" {
			w.Errorf("another user is served %+v", theirs)
		}
	}},
	{"rejected bytes that are pushed again are a 200 that changes nothing", func(w *wire) {
		r := w.reviewed(map[api.Key]string{"n.md": heldText("none")})
		w.wantStatus(r.decide(w.target.Maintainer, "reject", `{"reason":"no"}`), http.StatusOK)
		before := r.mine("")
		again := r.ok(r.repo.put(api.Push{Entries: map[api.Key]string{"n.md": heldText("none")}}, "If-Match", before.Checksum.ETag()))
		if again.Version != before.Version || len(again.Held) != 1 || again.Held[0].State != api.ProposalRejected || again.Held[0].Reason != "no" {
			w.Errorf("the same bytes: %+v", again)
		}
		other := r.ok(r.repo.put(api.Push{Entries: map[api.Key]string{"n.md": heldText("other")}}, "If-Match", before.Checksum.ETag()))
		if len(other.Held) != 1 || other.Held[0].State != api.ProposalOpen {
			w.Errorf("other bytes: %+v", other)
		}
	}},
	{"the author takes a proposal back by deleting it", func(w *wire) {
		r := w.reviewed(map[api.Key]string{"n.md": heldText("none")})
		r.ok(r.repo.put(api.Push{Deletions: []api.Key{"n.md"}}, "If-Match", r.put.Checksum.ETag()))
		if mine := r.mine(""); mine.Content.Entries["n.md"] != "" || mine.Deleted["n.md"] != api.ChecksumOfString(heldText("none")) {
			w.Errorf("the author is served %+v", mine)
		}
		if theirs := r.memory(""); len(theirs.Deleted) != 0 {
			w.Errorf("another user is served %+v", theirs)
		}
		w.wantError(r.decide(w.target.Maintainer, "approve", r.approval()), http.StatusPreconditionFailed, api.ErrorCodeProposalClosed)
	}},
	{"a delta tells each caller their own view", func(w *wire) {
		r := w.reviewed(map[api.Key]string{"a.md": heldText("new")})
		since := fmt.Sprint("&since=", r.before.Version)
		if mine := r.mine(since); !mine.Partial || mine.Content.Entries["a.md"] != heldText("new") {
			w.Errorf("the author's delta: %+v", mine)
		}
		if theirs := r.memory(since); len(theirs.Content.Entries) != 0 {
			w.Errorf("another user's delta: %+v", theirs)
		}
		w.wantStatus(r.decide(w.target.Maintainer, "approve", r.approval()), http.StatusOK)
		if theirs := r.memory(fmt.Sprint("&since=", r.put.Version)); !theirs.Partial || theirs.Content.Entries["a.md"] != heldText("new") {
			w.Errorf("another user's delta after the approval: %+v", theirs)
		}
	}},
}

// reviewed is a repo in which a.md stands, and the member has pushed something that
// is held.
type reviewed struct {
	*repo
	before, put api.PushResult
}

func (w *wire) reviewed(entries map[api.Key]string) *reviewed {
	w.Helper()
	r := &reviewed{repo: w.repo()}
	r.before = r.write(map[api.Key]string{"a.md": "old"})
	r.put = r.ok(r.repo.put(api.Push{Entries: entries}, "If-Match", r.before.Checksum.ETag()))
	if len(r.put.Held) == 0 {
		w.Fatalf("nothing is held: the organization's policy is not the default one, or there is no review: %+v", r.put)
	}
	return r
}

// mine is the repo as the member who wrote is served it.
func (r *reviewed) mine(extra string) api.Memory {
	r.Helper()
	return into[api.Memory](r.wire, r.wantStatus(r.do(http.MethodGet, r.path(extra), r.target.Member, nil), http.StatusOK))
}

func (r *reviewed) at() string { return api.PathProposals + "/" + r.put.Held[0].Proposal }

func (r *reviewed) sum() api.Checksum {
	return api.ChecksumOfString(r.mine("").Content.Entries[r.put.Held[0].Key])
}

func (r *reviewed) approval() string {
	text := r.do(http.MethodGet, r.at(), r.target.Maintainer, nil)
	return fmt.Sprintf(`{"checksum":%q}`, into[api.Proposal](r.wire, text).Checksum)
}

func (r *reviewed) decide(token, verb, body string) answer {
	r.Helper()
	return r.do(http.MethodPost, r.at()+"/"+verb, token, strings.NewReader(body))
}
