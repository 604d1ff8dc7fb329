package dashboard

import (
	"context"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/events"
	"github.com/teammem/teammem/server/figures"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/reading"
	"github.com/teammem/teammem/server/search"
	"github.com/teammem/teammem/server/signon"
	"github.com/teammem/teammem/server/store"
)

// Desk is where browsers are known and signed in.
type Desk interface {
	Providers() *provider.Set
	Session(ctx context.Context, secret string, word signon.Word) (store.UserID, error)
	Enter(ctx context.Context, claims provider.Claims, renewal, old string, from signon.From) (string, error)
	Linked(ctx context.Context, link string, from signon.From) (store.UserID, error)
	Follow(ctx context.Context, link, old string, from signon.From) (string, error)
	Leave(ctx context.Context, secret string, everywhere bool, from signon.From) error
}

// Callers says what somebody is in an organization, and hears of what was refused.
type Callers interface {
	CallerOf(ctx context.Context, user store.UserID, how auth.How, organization string) (auth.Caller, error)
	MembershipsOf(ctx context.Context, user store.UserID) ([]store.Membership, error)
	Door() *auth.Door
	Refused(r auth.Refusal)
}

// Ledger is what pages ask of the rules of repos.
type Ledger interface {
	Head(ctx context.Context, caller ledger.Caller, repo api.RepoSlug) (store.Head, error)
	History(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, key api.Key, before api.Version, limit int) ([]store.Past, error)
	At(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, key api.Key, version api.Version) (store.Past, []byte, error)
	Search(ctx context.Context, caller ledger.Caller, admitted func(api.RepoSlug) bool, q search.Query, page ledger.Page) (ledger.Found, error)
	Digest(ctx context.Context, caller ledger.Caller, admitted func(api.RepoSlug) bool, since time.Time, page ledger.Page) (ledger.Learned, error)
	Edit(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, ask api.Edit) (ledger.Result, error)
	Remove(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, key api.Key, base api.Checksum, reason string) (ledger.Result, error)
	Move(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, ask api.Move) (ledger.Result, error)
	Restore(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, ask api.Restore) (ledger.Result, error)
	Findings(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, after api.Key, limit int) ([]store.Finding, error)
	Examine(ctx context.Context, caller ledger.Caller, key api.Key, content []byte) ([]ledger.Examined, error)
	Proposals(ctx context.Context, caller ledger.Caller, query store.ProposalQuery) ([]store.Proposal, error)
	Proposal(ctx context.Context, caller ledger.Caller, id string) (store.Proposal, error)
	ProposalTexts(ctx context.Context, caller ledger.Caller, p store.Proposal) (proposed, current *string, err error)
	Approve(ctx context.Context, caller ledger.Caller, id string, ask api.Approve) (store.Proposal, error)
	Reject(ctx context.Context, caller ledger.Caller, id, reason string) (store.Proposal, error)
	Reopen(ctx context.Context, caller ledger.Caller, id string) (store.Proposal, error)
	MayPropose(ctx context.Context, caller ledger.Caller) (bool, error)
	Policy(ctx context.Context, caller ledger.Caller) (api.OrgPolicy, error)
	SetPolicy(ctx context.Context, caller ledger.Caller, change api.PolicyChange, ifMatch api.Tags) (api.OrgPolicy, error)
	AcceptFinding(ctx context.Context, caller ledger.Caller, accept api.Acceptance) (api.OrgPolicy, error)
	ForgetFinding(ctx context.Context, caller ledger.Caller, fingerprint string) (api.OrgPolicy, error)
	Redactions(ctx context.Context, caller ledger.Caller, sums []api.Checksum) (map[api.Checksum]store.Redaction, error)
}

// Leaks is what pages ask of the answer to leaks.
type Leaks interface {
	Pulled(caller ledger.Caller, repo store.RepoID, version api.Version)
	Redact(ctx context.Context, caller ledger.Caller, ask api.Redact, rewrite bool, progress func(done, of int64)) (api.Redacted, error)
	Redactions(ctx context.Context, caller ledger.Caller) ([]store.Redaction, error)
	StartScan(ctx context.Context, caller ledger.Caller, ask api.StartScan, origin string) (store.Scan, error)
	Scan(ctx context.Context, caller ledger.Caller, uid string, after, limit int) (api.Scan, error)
}

// Database is what pages ask of the store itself.
type Database interface {
	Epoch(ctx context.Context) (api.Epoch, error)
	Invitations(ctx context.Context, org store.OrgID, email string) ([]store.Invitation, error)
	Scans(ctx context.Context, org store.OrgID, limit int) ([]store.Scan, error)
	Pulls(ctx context.Context, ref store.RepoRef) ([]store.Pull, error)
}

// Parts are what the pages show and set going.
type Parts struct {
	Ledger  Ledger
	Reading *reading.Desk
	Figures *figures.Desk
	Orgs    *organization.Rules
	Leaks   Leaks
	Events  *events.Hub
	DB      Database
}
