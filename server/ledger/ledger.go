// Package ledger is the rules of a repo: what a PUT may change and what a GET may
// see. Versions, preconditions, tombstones, twins, limits, the checksum of the
// whole set, what policy refuses, and the audit record of a change are decided here
// and nowhere else.
//
// A change is made in two steps. What can be known from the request alone is done
// first, without any lock: keys are read, contents hashed, packed and scanned for
// what must not cross (api/scan), and the organization's policy judges what was
// found. Then the
// store locks the repo and asks a pure function of the state and the request
// ([store.Store.Commit] and decide), which answers with the whole change, with
// none, or with the refusal. Its work grows with the request, not with the repo:
// the checksum is kept as a sum of its members (see set).
//
// What policy or a review rule holds is a proposal: stored, and served to its author
// alone until others approve it. So every read and every precondition is about what
// the caller sees, which is what everybody sees but for the caller's own proposals
// (see shadow.go); a repo without any pays nothing for that.
//
// Kept promises (promises.md): S1 to S5 together with the store, S6 (a view is
// served only when its rows have the checksum it states), S7, S8, S9 and S13.
//
// rest calls it, with a caller whose right has been checked. It knows no HTTP and
// no SQL, takes its time from the clock it is given, and keeps no state but a
// note of which versions were found sound.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/events"
	"github.com/teammem/teammem/server/store"
)

// Caller is who asks, as authentication found them.
type Caller struct {
	Org        store.OrgID
	OrgUID     string
	MaxEntries int // live entries in a repo of the organization; 0: the server's default
	User       store.UserID
	UserName   string
	Token      store.TokenID
	TokenUID   string
	Role       api.Role
	Client     string // the machine's name for itself, see [api.HeaderClient]
	How        string // it was authenticated: by token, provider or session
	From       string // address
	MaxRepos   int    // of the organization; 0: any number
	MaxBytes   int64  // of live contents in a repo of it; 0: any number
}

// Store is what the ledger needs of a [store.Store].
type Store interface {
	Head(ctx context.Context, ref store.RepoRef) (store.Head, error)
	View(ctx context.Context, ref store.RepoRef, since api.Version) (store.View, error)
	Bodies(ctx context.Context, org store.OrgID, sums []api.Checksum, fn func(sum api.Checksum, content []byte) error) error
	Commit(ctx context.Context, ref store.RepoRef, touched []api.Key, decide store.Decide) (store.Head, error)
	History(ctx context.Context, ref store.RepoRef, key api.Key, before api.Version, limit int) ([]store.Past, error)
	Forgotten(ctx context.Context, ref store.RepoRef) (api.Version, error)
	Authors(ctx context.Context, ref store.RepoRef) ([]store.Authored, error)
	Proposals(ctx context.Context, org store.OrgID, query store.ProposalQuery) ([]store.Proposal, error)
	Proposal(ctx context.Context, org store.OrgID, uid string) (store.Proposal, error)
	Findings(ctx context.Context, ref store.RepoRef, after api.Key, limit int) ([]store.Finding, error)
	Policy(ctx context.Context, org store.OrgID) (store.Policy, error)
	Administer(ctx context.Context, org store.OrgID, about store.About, decide store.DecideOrg) (audit.Record, error)
	Repos(ctx context.Context, org store.OrgID) ([]store.RepoInfo, error)
	Redactions(ctx context.Context, org store.OrgID, sums []api.Checksum) ([]store.Redaction, error)
	Withdraw(ctx context.Context, org store.OrgID, all []store.Redaction) error
	Holders(ctx context.Context, ref store.RepoRef, query store.HolderQuery) ([]store.Holder, error)
	Erase(ctx context.Context, org store.OrgID, sums []api.Checksum) error
	Members(ctx context.Context, org store.OrgID) ([]store.Member, error)
	SearchLags(ctx context.Context, org store.OrgID) ([]store.SearchLag, error)
	AddSearchDocs(ctx context.Context, ref store.RepoRef, from, to store.SearchPlace, docs []store.SearchDoc) error
	Search(ctx context.Context, org store.OrgID, q store.SearchQuery) ([]store.SearchHit, error)
	CountSearch(ctx context.Context, org store.OrgID, q store.SearchQuery) (int, error)
}

// Announce is told of every change after its commit. It must not wait.
type Announce func(events.Event)

// Ledger applies the rules to one store. It is safe for concurrent use.
type Ledger struct {
	log      *slog.Logger
	store    Store
	now      func() time.Time
	limits   api.Limits
	scanner  *scan.Scanner
	tell     Announce
	watch    func(Tally)   // nil: nobody counts
	count    func(Outcome) // nil: nobody counts
	sound    soundViews
	scanned  scannedTexts
	policies policies
	first    sync.Mutex // held by a push that may make the repo that is one too many
	indexing chan struct{}
}

// New makes a ledger. Of limits it uses EntryBytes and RepoEntries. Without a
// scanner nothing is scanned: that is for commands that push nothing, and for
// simulations of other things. tell may be nil when nobody listens.
func New(log *slog.Logger, s Store, now func() time.Time, limits api.Limits, scanner *scan.Scanner, tell Announce) *Ledger {
	if tell == nil {
		tell = func(events.Event) {}
	}
	return &Ledger{log: log, store: s, now: now, limits: limits, scanner: scanner, tell: tell, indexing: make(chan struct{}, 1)}
}

// Head reads a repo's head as the caller sees it, in one indexed read, and one more
// where anything is proposed to the repo. The error is an *[api.Error] with
// the code [api.NotFound] when the repo has no memory.
func (l *Ledger) Head(ctx context.Context, caller Caller, repo api.RepoSlug) (store.Head, error) {
	head, err := l.store.Head(ctx, caller.ref(repo))
	if err != nil {
		return store.Head{}, l.explain(ctx, caller, repo, "read the head", err)
	}
	if head.Version > 0 && head.Proposals > 0 {
		head, _, err = l.proposed(ctx, caller, repo)
		if err != nil {
			return store.Head{}, err
		}
	}
	if head.Version == 0 {
		return store.Head{}, noMemory()
	}
	return head, nil
}

// proposed reads the head as the caller sees it, and what the caller's view is
// made of besides.
func (l *Ledger) proposed(ctx context.Context, caller Caller, repo api.RepoSlug) (store.Head, []store.Shadow, error) {
	view, err := l.store.View(ctx, caller.ref(repo), noRows)
	if err != nil {
		return store.Head{}, nil, l.explain(ctx, caller, repo, "read the proposals", err)
	}
	head, err := headFor(view.Head, view.Mine)
	if err != nil {
		return store.Head{}, nil, l.explain(ctx, caller, repo, "read the proposals", err)
	}
	return head, view.Mine, nil
}

// ref names a repo as the caller sees it.
func (c Caller) ref(repo api.RepoSlug) store.RepoRef {
	return store.RepoRef{Org: c.Org, Slug: repo, For: c.User}
}

func noMemory() *api.Error {
	return &api.Error{
		Code:    api.NotFound,
		Message: "this repo has no memory yet; the first push makes it",
		Details: api.Details{ErrorCode: api.ErrorCodeNoMemory},
	}
}

// busyFor is how long a caller is asked to wait for a busy database.
const busyFor = time.Second

// explain turns what the store says into what the caller is told. Damage is an
// alarm in the log as well: nobody but the operator can cure it. repo is empty
// where contents are concerned, which belong to an organization.
func (l *Ledger) explain(ctx context.Context, caller Caller, repo api.RepoSlug, doing string, err error) error {
	if known, ok := api.AsError(err); ok {
		return known
	}
	var withdrawn *store.RedactedError
	switch {
	case errors.As(err, &withdrawn):
		return (&request{}).withdrawnError(withdrawn)
	case errors.Is(err, store.ErrCorrupt):
		l.log.ErrorContext(ctx, "stored memory is damaged: restore it from a backup",
			"alarm", api.ErrorCodeCorrupt, "organization", caller.OrgUID, "repo", string(repo), "while", doing, "error", err)
		return &api.Error{
			Code:    api.Internal,
			Message: "what is stored does not match its checksum and is not served; the operator has been alarmed",
			Details: api.Details{ErrorCode: api.ErrorCodeCorrupt},
			Err:     err,
		}
	case errors.Is(err, store.ErrUnsure):
		return &api.Error{
			Code:       api.Overloaded,
			Message:    "the database was lost before it said whether the change stands; send it again as it is: if it stands, that is the answer",
			Details:    api.Details{ErrorCode: api.ErrorCodeBusy},
			RetryAfter: busyFor,
			Err:        err,
		}
	case errors.Is(err, store.ErrBusy), errors.Is(err, context.DeadlineExceeded):
		return &api.Error{
			Code:       api.Overloaded,
			Message:    "the database is busy; try again in a moment",
			Details:    api.Details{ErrorCode: api.ErrorCodeBusy},
			RetryAfter: busyFor,
			Err:        err,
		}
	}
	return fmt.Errorf("%s: %w", doing, err)
}
