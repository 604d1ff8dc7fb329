package dashboard

import (
	"net/http"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/signon"
)

// route is one page, or one thing that a page does.
type route struct {
	pattern string
	right   api.Right
	answer  func(*visit) error
	open    answer // in place of answer, for those who are not signed in
	repo    bool   // the address must name a repo
	stream  bool   // it goes on, and is not compressed
	rights  bool   // it shows who may do what
}

// word is how fresh a provider's word on the reader has to be: whoever changes something,
// or looks at rights, does it with those of this moment.
func (r route) word() signon.Word {
	if r.rights || r.right == api.Administer || strings.HasPrefix(r.pattern, "POST ") {
		return signon.Now
	}
	return signon.Lately
}

// routes are all pages, on one screen, with the right that each asks for.
func (h *Handler) routes() []route {
	on := true // a repo is named in the address
	return []route{
		{pattern: "GET /", right: api.Known, answer: overview},
		{pattern: "POST /welcome", right: api.Known, answer: makeWelcomeToken},
		{pattern: "GET /repos", right: api.Read, answer: listRepos},
		{pattern: "POST /repos/rename", right: api.Administer, answer: renameRepo},
		{pattern: "GET /repo", right: api.Read, answer: showRepo, repo: on},
		{pattern: "GET /index", right: api.Read, answer: showIndex, repo: on},
		{pattern: "GET /entry", right: api.Read, answer: showEntry, repo: on},
		{pattern: "GET /entry/raw", right: api.Read, answer: rawEntry, repo: on},
		{pattern: "GET /history", right: api.Read, answer: showHistory, repo: on},
		{pattern: "GET /diff", right: api.Read, answer: showDiff, repo: on},
		{pattern: "GET /blame", right: api.Read, answer: showBlame, repo: on},
		{pattern: "GET /edit", right: api.Write, answer: editEntry, repo: on},
		{pattern: "GET /new", right: api.Write, answer: newEntry, repo: on},
		{pattern: "POST /entry/check", right: api.Write, answer: checkEntry, repo: on},
		{pattern: "POST /entry/save", right: api.Write, answer: saveEntry, repo: on},
		{pattern: "POST /entry/delete", right: api.Write, answer: deleteEntry, repo: on},
		{pattern: "POST /entry/move", right: api.Write, answer: moveEntry, repo: on},
		{pattern: "POST /entry/restore", right: api.Write, answer: restoreEntry, repo: on},
		{pattern: "GET /export", right: api.Read, answer: exportRepo, repo: on},
		{pattern: "GET /search", right: api.Read, answer: showSearch},
		{pattern: "GET /digest", right: api.Read, answer: showDigest},
		{pattern: "GET /review", right: api.Read, answer: reviewQueue},
		{pattern: "GET /proposal", right: api.Read, answer: showProposal},
		{pattern: "POST /proposal/approve", right: api.Read, answer: approveProposal},
		{pattern: "POST /proposal/reject", right: api.Read, answer: rejectProposal},
		{pattern: "POST /proposal/reopen", right: api.Read, answer: reopenProposal},
		{pattern: "POST /review/several", right: api.Read, answer: reviewSeveral},
		{pattern: "GET /activity", right: api.Read, answer: showActivity},
		{pattern: "GET /live", right: api.Read, answer: liveChanges, stream: true},
		{pattern: "GET /audit", right: api.Administer, answer: showAudit},
		{pattern: "POST /audit/verify", right: api.Administer, answer: verifyAudit},
		{pattern: "POST /audit/export", right: api.Administer, answer: exportAudit},
		{pattern: "GET /people", right: api.Administer, answer: showPeople},
		{pattern: "POST /people/set", right: api.Administer, answer: setMember},
		{pattern: "POST /people/remove", right: api.Administer, answer: removeMember},
		{pattern: "POST /people/invite", right: api.Administer, answer: inviteMember},
		{pattern: "POST /people/uninvite", right: api.Administer, answer: uninviteMember},
		{pattern: "GET /access", right: api.Administer, answer: showAccess},
		{pattern: "POST /access/set", right: api.Administer, answer: setAccess},
		{pattern: "POST /access/remove", right: api.Administer, answer: removeAccess},
		{pattern: "GET /settings", right: api.Known, answer: showSettings},
		{pattern: "POST /settings/set", right: api.Administer, answer: changeSettings},
		{pattern: "GET /tokens", right: api.Known, answer: showTokens, rights: true},
		{pattern: "POST /tokens/create", right: api.Known, answer: createToken},
		{pattern: "POST /tokens/revoke", right: api.Known, answer: revokeToken},
		{pattern: "GET /clients", right: api.Known, answer: showClients},
		{pattern: "GET /policy", right: api.Known, answer: showPolicy, rights: true},
		{pattern: "POST /policy/set", right: api.Administer, answer: setPolicy},
		{pattern: "POST /policy/accept", right: api.Accept, answer: acceptFinding},
		{pattern: "POST /policy/forget", right: api.Accept, answer: forgetFinding},
		{pattern: "GET /leaks", right: api.Administer, answer: showLeaks},
		{pattern: "POST /leaks/scan", right: api.Administer, answer: startScan},
		{pattern: "POST /leaks/confirm", right: api.Administer, answer: confirmRedact},
		{pattern: "POST /leaks/redact", right: api.Administer, answer: redact},

		{pattern: "GET /sign-in", open: h.signIn},
		{pattern: "GET /sign-in/callback", open: h.callback},
		{pattern: "GET /sign-in/link", open: h.showLink},
		{pattern: "POST /sign-in/link", open: h.followLink},
		{pattern: "POST /sign-out", open: func(w http.ResponseWriter, r *http.Request) error { return h.signOut(w, r, false) }},
		{pattern: "POST /sign-out/everywhere", open: func(w http.ResponseWriter, r *http.Request) error { return h.signOut(w, r, true) }},
	}
}
