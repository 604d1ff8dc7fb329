package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// Proposals lists the proposals of the caller's organization, newest first. Whose
// they may see is the caller's caller's to say.
func (l *Ledger) Proposals(ctx context.Context, caller Caller, query store.ProposalQuery) ([]store.Proposal, error) {
	all, err := l.store.Proposals(ctx, caller.Org, query)
	if err != nil {
		return nil, l.explain(ctx, caller, query.Repo, "list the proposals", err)
	}
	return all, nil
}

// Proposal finds one by its id. The error is [api.NotFound] when there is none.
func (l *Ledger) Proposal(ctx context.Context, caller Caller, id string) (store.Proposal, error) {
	p, err := l.store.Proposal(ctx, caller.Org, id)
	if errors.Is(err, store.ErrNotFound) {
		return p, noProposal(id)
	}
	if err != nil {
		return p, l.explain(ctx, caller, "", "find the proposal", err)
	}
	return p, nil
}

func noProposal(id string) *api.Error {
	return &api.Error{
		Code: api.NotFound, Message: fmt.Sprintf("there is no proposal %q", id), Details: api.Details{ErrorCode: api.ErrorCodeNoProposal},
	}
}

// Wire is a proposal as the contract has it, without its texts.
func Wire(p store.Proposal) (api.Proposal, error) {
	d, err := readDetail(p)
	if err != nil {
		return api.Proposal{}, err
	}
	wire := api.Proposal{
		ID: p.UID, Repo: p.Slug, Key: p.Key, Deleted: p.Deleted, State: p.State, Author: p.User, Client: p.Client, At: api.NewTime(p.At),
		Version: p.Version, Checksum: p.Checksum, Bytes: p.Size, Why: d.Why, Findings: d.Findings, Needed: d.Needed,
		Approved: []api.Approval{}, ClosedBy: p.ClosedBy, Reason: p.Reason,
	}
	if wire.Findings == nil {
		wire.Findings = []api.EntryFinding{}
	}
	for _, a := range d.Approved {
		wire.Approved = append(wire.Approved, api.Approval{User: a.User, At: a.At})
	}
	if p.Base != "" {
		wire.Base = &p.Base
	}
	if !p.ClosedAt.IsZero() {
		at := api.NewTime(p.ClosedAt)
		wire.Closed = &at
	}
	return wire, nil
}

// ProposalTexts gives the text that is proposed and the one that everybody sees now,
// each nil where there is none.
func (l *Ledger) ProposalTexts(ctx context.Context, caller Caller, p store.Proposal) (proposed, current *string, err error) {
	if !p.Deleted {
		if proposed, err = l.text(ctx, caller, p.Key, p.Checksum); err != nil {
			return nil, nil, err
		}
	}
	everybody := store.RepoRef{Org: caller.Org, Slug: p.Slug}
	past, err := l.store.History(ctx, everybody, p.Key, 0, 1)
	if err != nil {
		return nil, nil, l.explain(ctx, caller, p.Slug, "read the history", err)
	}
	if len(past) > 0 && !past[0].Deleted {
		current, err = l.text(ctx, caller, p.Key, past[0].Checksum)
	}
	return proposed, current, err
}

func (l *Ledger) text(ctx context.Context, caller Caller, key api.Key, sum api.Checksum) (*string, error) {
	var text string
	err := l.Bodies(ctx, caller, []store.Row{{Key: key, Checksum: sum}}, func(_ store.Row, content []byte) error {
		text = string(content)
		return nil
	})
	return &text, err
}

// review is a verdict on a proposal, and what it needs of the repo.
type review struct {
	caller  Caller
	id      string
	approve *api.Approve // nil: reject, or reopen
	reopen  bool         // a rejection is taken back
	reason  string
	edited  *request // the edited text, examined; nil: as proposed
	limits  request  // for the bounds of an entry and of the repo
}

// Approve approves a proposal, as it is or edited. With the last approval that it
// needs everybody is served it. An approval binds to what was read: a proposal that
// is another one by now, and a base that has moved, are conflicts.
func (l *Ledger) Approve(ctx context.Context, caller Caller, id string, ask api.Approve) (store.Proposal, error) {
	r := review{caller: caller, id: id, approve: &ask}
	p, err := l.Proposal(ctx, caller, id)
	if err != nil {
		return p, err
	}
	if ask.Content != nil {
		if p.Deleted || !utf8.ValidString(*ask.Content) {
			return p, &api.Error{
				Code: api.InvalidRequest, Message: "a proposal to delete has no text to edit, and a text is UTF-8",
				Details: api.Details{ErrorCode: api.ErrorCodeBadBody, Key: p.Key},
			}
		}
		if r.edited, err = l.edited(ctx, caller, p.Key, *ask.Content); err != nil {
			return p, err
		}
	}
	return l.review(ctx, r, p)
}

// edited examines the text of an approver as it would that of anybody. What only
// holds a text is no reason here: somebody with the right to approve has written it.
func (l *Ledger) edited(ctx context.Context, caller Caller, key api.Key, content string) (*request, error) {
	rules, err := l.inForce(ctx, caller)
	if err != nil {
		return nil, err
	}
	texts := map[api.Key]string{key: content}
	ask, err := prepare(caller, api.Push{Entries: texts}, api.Tags{}, l.limits)
	if err != nil {
		return nil, err
	}
	if err := l.examine(ctx, rules, ask, texts); err != nil {
		return nil, l.explain(ctx, caller, "", "scan", err)
	}
	return ask, ask.checkFindings([]store.Write{{Key: key, Checksum: ask.writes[0].body.Checksum}})
}

// Reject rejects a proposal for a reason, which its author is told.
func (l *Ledger) Reject(ctx context.Context, caller Caller, id, reason string) (store.Proposal, error) {
	p, err := l.Proposal(ctx, caller, id)
	if err != nil {
		return p, err
	}
	return l.review(ctx, review{caller: caller, id: id, reason: reason}, p)
}

// Reopen takes a rejection back: the proposal waits again, with the approvals that it
// had. What its author replaced or took back since, or what was redacted, cannot.
func (l *Ledger) Reopen(ctx context.Context, caller Caller, id string) (store.Proposal, error) {
	p, err := l.Proposal(ctx, caller, id)
	if err != nil {
		return p, err
	}
	if !p.Deleted && p.State == api.ProposalRejected {
		if _, err := l.text(ctx, caller, p.Key, p.Checksum); err != nil {
			return p, err // it was redacted, or is not kept any more
		}
	}
	return l.review(ctx, review{caller: caller, id: id, reopen: true}, p)
}

func (l *Ledger) review(ctx context.Context, r review, p store.Proposal) (store.Proposal, error) {
	r.limits = request{caller: r.caller, entryBytes: l.limits.EntryBytes, repoEntries: l.limits.RepoEntries, repoBytes: r.caller.MaxBytes}
	if r.caller.MaxEntries > 0 {
		r.limits.repoEntries = r.caller.MaxEntries
	}
	ref := store.RepoRef{Org: r.caller.Org, Slug: p.Slug, For: p.Author}
	var made *store.Change
	head, err := l.store.Commit(ctx, ref, []api.Key{p.Key}, func(state store.State) (*store.Change, error) {
		s, ok := shadowOf(state.Mine, p.Key)
		if !ok || s.UID != r.id || s.State != r.wants() {
			return nil, r.closed(p)
		}
		change, err := r.decide(state, s, api.NewTime(l.now()).Time)
		made = change
		return change, err
	})
	if err != nil {
		return p, l.explain(ctx, r.caller, p.Slug, "review", err)
	}
	if made != nil {
		l.tell(eventOf(r.caller, p.Slug, head))
		l.counted(r.caller, p.Slug, made, 0)
	}
	return l.Proposal(ctx, r.caller, r.id)
}

// wants is the state of a proposal that is reviewed.
func (r review) wants() api.ProposalState {
	if r.reopen {
		return api.ProposalRejected
	}
	return api.ProposalOpen
}

// closed is the answer where a proposal is not in that state any more.
func (r review) closed(p store.Proposal) *api.Error {
	if r.reopen {
		return &api.Error{
			Code:    api.Conflict,
			Message: "the rejection cannot be taken back: its author took the proposal back or replaced it by a newer one, or it is not rejected; list the proposals again",
			Details: api.Details{ErrorCode: api.ErrorCodeProposalClosed, Key: p.Key, Checksum: p.Checksum},
		}
	}
	return &api.Error{
		Code:    api.Conflict,
		Message: "the proposal is not open any more: it was approved, rejected, taken back or replaced by a newer one; list the proposals again",
		Details: api.Details{ErrorCode: api.ErrorCodeProposalClosed, Key: p.Key, Checksum: p.Checksum},
	}
}

// decide is the rules of a review. It is pure, like [request.decide].
func (r review) decide(state store.State, s store.Shadow, now time.Time) (*store.Change, error) {
	d, err := readDetail(s.Proposal)
	if err != nil {
		return nil, err
	}
	row := s.Proposal
	if r.reopen {
		row.State, row.Reason, row.Closed, row.ClosedAt, row.ClosedBy = api.ProposalOpen, "", 0, time.Time{}, ""
		return r.change(state, row, nil, now, audit.ActionReopen)
	}
	if r.approve == nil {
		row.State, row.Reason = api.ProposalRejected, r.reason
		return r.change(state, row, nil, now, audit.ActionReject)
	}
	if err := r.mayApprove(state, s); err != nil {
		return nil, err
	}
	body := (*store.Body)(nil)
	if r.edited != nil && r.edited.writes[0].body.Checksum != row.Checksum {
		body = r.edited.writes[0].body
		row.Checksum, row.Size, row.Modified = body.Checksum, body.Size, now
		d.Approved, d.Findings = nil, nil
		for _, f := range r.edited.writes[0].findings {
			d.Findings = append(d.Findings, wireFinding(f.Finding))
		}
	}
	row.Base = live(state, row.Key).Checksum
	if slices.ContainsFunc(d.Approved, func(a approval) bool { return a.By == r.caller.User }) {
		return nil, nil
	}
	d.Approved = append(d.Approved, approval{By: r.caller.User, User: r.caller.UserName, At: api.NewTime(now)})
	row.Detail = d.encode()
	if len(d.Approved) >= d.Needed {
		row.State = api.ProposalApproved
	}
	return r.change(state, row, body, now, audit.ActionApprove)
}

// mayApprove holds an approval against the proposal and what everybody sees.
func (r review) mayApprove(state store.State, s store.Shadow) error {
	if s.Author == r.caller.User {
		return &api.Error{
			Code: api.Permission,
			Message: "nobody approves their own proposal: ask another maintainer or admin of the organization; " +
				"if there is none, an admin can make somebody one",
			Details: api.Details{ErrorCode: api.ErrorCodeOwnProposal, Key: s.Key},
		}
	}
	if s.Checksum != r.approve.Checksum {
		return &api.Error{
			Code: api.Conflict, Message: "the proposal is not the text that this approval names; read it again",
			Details: api.Details{ErrorCode: api.ErrorCodeProposalClosed, Key: s.Key, Checksum: s.Checksum},
		}
	}
	now := live(state, s.Key).Checksum
	base := s.Base
	if r.approve.OnBase {
		base = ""
		if r.approve.Base != nil {
			base = *r.approve.Base
		}
	}
	if base == now {
		return nil
	}
	conflict := api.Standing{Key: s.Key}
	if now != "" {
		conflict.Checksum = &now
	}
	return api.ConflictError(fmt.Sprintf("%q has changed since this was proposed: merge the two and approve the edited text with baseChecksum, or reject", s.Key),
		state.Head.Version, checksumOfHead(state.Head), []api.Standing{conflict})
}

// change is the version in which a proposal becomes what row says.
func (r review) change(state store.State, row store.Proposal, body *store.Body, now time.Time, action string) (*store.Change, error) {
	var direct []store.Write
	if row.State == api.ProposalApproved {
		var err error
		if direct, err = r.writes(state, row, body, now); err != nil {
			return nil, err
		}
	}
	head, err := r.limits.advance(state, direct)
	if err != nil {
		return nil, err
	}
	if head.LastModified.Before(now) {
		head.LastModified = now
	}
	if row.State != api.ProposalOpen {
		row.Closed, row.ClosedAt, row.ClosedBy = head.Version, now, r.caller.UserName
		row.Standing = row.State != api.ProposalApproved
	} else {
		// The author is to see what a reviewer made of the text, or that it waits again.
		row.Version = head.Version
	}
	writes := []store.ProposalWrite{{Proposal: row, Body: body}}
	head.Proposals += standing(state.Mine, writes)
	subject := audit.Review{How: r.caller.How, From: r.caller.From, Proposal: row.UID, Key: row.Key, Author: row.User, Checksum: row.Checksum, Applied: len(direct) > 0, Reason: r.reason}
	if body != nil {
		subject.Checksum, subject.Edited = r.approve.Checksum, row.Checksum
	}
	change := &store.Change{
		Author: store.Author{User: row.Author, Client: row.Client}, Writes: direct, Proposals: writes,
		Audit: r.caller.record(head, action, subject.Subject()),
	}
	if body != nil || len(direct) == 0 {
		change.Author = store.Author{User: r.caller.User, Token: r.caller.Token, Client: r.caller.Client}
	}
	head.AuditHead = change.Audit.Hash
	change.Head = head
	if len(direct) > 0 {
		change.Findings = findingsIn(row)
	}
	return change, nil
}

// writes is what an approved proposal writes for everybody, under the rules of any
// push. Nothing is left to write where it stands already.
func (r review) writes(state store.State, row store.Proposal, body *store.Body, now time.Time) ([]store.Write, error) {
	public := live(state, row.Key)
	if row.Deleted && public.Checksum == "" || !row.Deleted && public.Checksum == row.Checksum {
		return nil, nil
	}
	w := store.Write{
		Key: row.Key, Fold: row.Key.Fold(), Checksum: row.Checksum, Previous: public.Checksum, Deleted: row.Deleted, Size: row.Size,
		Modified: row.Modified, Body: body,
	}
	if w.Deleted {
		w.Checksum, w.Size = public.Checksum, public.Size
	} else if body == nil {
		w.Stored = true
	}
	direct := []store.Write{w}
	if err := checkNeighbours(state, direct); err != nil {
		return nil, err
	}
	if err := r.limits.checkSizes(direct); err != nil {
		return nil, err
	}
	if err := r.limits.checkCount(state.Head, direct); err != nil {
		return nil, err
	}
	return direct, r.limits.checkBytes(state, direct)
}

// findingsIn are those of a proposal, to be listed with the entry.
func findingsIn(row store.Proposal) (all []store.Finding) {
	d, err := readDetail(row)
	if err != nil {
		return nil
	}
	for _, f := range d.Findings {
		all = append(all, store.Finding{Key: f.Key, Rule: f.Rule, Class: f.Class, Line: f.Line, Fingerprint: f.Fingerprint})
	}
	return all
}
