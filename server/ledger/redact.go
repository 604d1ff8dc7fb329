package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// holdersAtOnce is how many versions are read in one go.
const holdersAtOnce = 500

// mostProposalsAtOnce is how many proposals are.
const mostProposalsAtOnce = 200

// Redact withdraws contents from the organization: they are not stored again, what
// stands with them becomes a tombstone, every repo that ever held one tells its
// readers, and the bytes go. It may be asked again, and takes up what an earlier one
// left undone. All were withdrawn by one person for one reason.
func (l *Ledger) Redact(ctx context.Context, caller Caller, all []store.Redaction) error {
	sums := make([]api.Checksum, len(all))
	for i, r := range all {
		sums[i] = r.Checksum
	}
	// First of all nothing of it may come in any more.
	if err := l.store.Withdraw(ctx, caller.Org, all); err != nil {
		return l.explain(ctx, caller, "", "withdraw contents", err)
	}
	l.policies.forget(caller.Org)
	repos, err := l.store.Repos(ctx, caller.Org)
	if err != nil {
		return l.explain(ctx, caller, "", "list the repos", err)
	}
	for _, repo := range repos {
		if err := l.redactIn(ctx, caller, repo.Slug, sums, all[0]); err != nil {
			return err
		}
	}
	if err := l.store.Erase(ctx, caller.Org, sums); err != nil {
		return l.explain(ctx, caller, "", "erase contents", err)
	}
	return nil
}

// redactIn makes the version of one repo in which its readers are told, where it holds
// any of the contents and has not been told yet.
func (l *Ledger) redactIn(ctx context.Context, caller Caller, repo api.RepoSlug, sums []api.Checksum, why store.Redaction) error {
	ref := store.RepoRef{Org: caller.Org, Slug: repo}
	records, err := l.holding(ctx, caller, repo, sums)
	if err != nil {
		return err
	}
	held := map[api.Checksum]bool{}
	for _, r := range records {
		held[r.checksum] = true
	}
	view, err := l.store.View(ctx, ref, 0)
	if err != nil {
		return l.explain(ctx, caller, repo, "read the entries", err)
	}
	for _, sum := range view.Redacted {
		delete(held, sum)
	}
	var touched []api.Key
	for _, row := range view.Rows {
		if !row.Deleted && slices.Contains(sums, row.Checksum) {
			touched = append(touched, row.Key)
		}
	}
	if len(held) == 0 && len(touched) == 0 {
		return nil
	}
	telling := slices.DeleteFunc(slices.Clone(sums), func(sum api.Checksum) bool { return !held[sum] })
	var made *store.Change
	head, err := l.store.Commit(ctx, ref, touched, func(state store.State) (_ *store.Change, err error) {
		made, err = redaction(state, caller, telling, sums, why, api.NewTime(l.now()).Time)
		return made, err
	})
	if err != nil {
		return l.explain(ctx, caller, repo, "redact", err)
	}
	l.counted(caller, repo, made, 0)
	e := eventOf(caller, repo, head)
	// The set may be as it was: only the version tells listeners that there is news.
	e.Checksum = ""
	l.tell(e)
	return nil
}

// redaction is the version in which contents are withdrawn from a repo. It is pure,
// like [request.decide].
func redaction(state store.State, caller Caller, telling, sums []api.Checksum, why store.Redaction, now time.Time) (*store.Change, error) {
	var writes []store.Write
	for _, key := range api.SortedKeys(state.Rows) {
		row := state.Rows[key]
		if row.Deleted || !slices.Contains(sums, row.Checksum) {
			continue
		}
		writes = append(writes, store.Write{
			Key: key, Fold: key.Fold(), Checksum: row.Checksum, Previous: row.Checksum, Deleted: true, Size: row.Size, Modified: now,
		})
	}
	head, err := (&request{caller: caller}).advance(state, writes)
	if err != nil {
		return nil, err
	}
	if head.LastModified.Before(now) {
		head.LastModified = now
	}
	head.Redacted = head.Version
	subject := audit.Redact{How: caller.How, From: caller.From, Checksums: telling, Keys: keysOf(writes), By: why.User, Reason: why.Reason}
	change := &store.Change{
		Author: store.Author{User: caller.User, Token: caller.Token, Client: caller.Client}, Writes: writes, Redacted: telling,
		Audit: caller.record(head, audit.ActionRedact, subject.Subject()),
	}
	head.AuditHead = change.Audit.Hash
	change.Head = head
	return change, nil
}

// record is a version or proposal that holds a content.
type record struct {
	api.RedactedRecord
	checksum api.Checksum
}

// holding lists the versions and proposals of a repo that hold contents.
func (l *Ledger) holding(ctx context.Context, caller Caller, repo api.RepoSlug, sums []api.Checksum) (all []record, err error) {
	ref := store.RepoRef{Org: caller.Org, Slug: repo}
	q := store.HolderQuery{Sums: sums, Limit: holdersAtOnce}
	for {
		page, err := l.store.Holders(ctx, ref, q)
		if err != nil {
			return nil, l.explain(ctx, caller, repo, "look through the history", err)
		}
		for _, h := range page {
			all = append(all, record{api.RedactedRecord{
				Repo: repo, Key: h.Key, Version: h.Version, User: h.UserName, Client: h.Client, At: api.NewTime(h.At), Current: h.Until == 0,
			}, h.Checksum})
		}
		if len(page) < q.Limit {
			break
		}
		q.Version, q.Key = page[len(page)-1].Version, page[len(page)-1].Key
	}
	err = l.EachProposal(ctx, caller, repo, func(p store.Proposal) error {
		if slices.Contains(sums, p.Checksum) {
			all = append(all, record{api.RedactedRecord{
				Repo: repo, Key: p.Key, Version: p.Version, User: p.User, Client: p.Client, At: api.NewTime(p.At),
				Current: p.State == api.ProposalOpen, Proposal: p.UID,
			}, p.Checksum})
		}
		return nil
	})
	return all, err
}

// EachProposal calls fn with the proposals of a repo that bring a text and were not
// approved, newest first: those that were are versions.
func (l *Ledger) EachProposal(ctx context.Context, caller Caller, repo api.RepoSlug, fn func(store.Proposal) error) error {
	q := store.ProposalQuery{Repo: repo, Limit: mostProposalsAtOnce}
	for {
		page, err := l.store.Proposals(ctx, caller.Org, q)
		if err != nil {
			return l.explain(ctx, caller, repo, "list the proposals", err)
		}
		for _, p := range page {
			if p.Deleted || p.State == api.ProposalApproved {
				continue
			}
			if err := fn(p); err != nil {
				return err
			}
		}
		if len(page) < q.Limit {
			return nil
		}
		q.Before = page[len(page)-1].ID
	}
}

// Holding lists the versions and proposals of the organization whose texts would go
// with these contents.
func (l *Ledger) Holding(ctx context.Context, caller Caller, sums []api.Checksum) ([]api.RedactedRecord, error) {
	repos, err := l.store.Repos(ctx, caller.Org)
	if err != nil {
		return nil, l.explain(ctx, caller, "", "list the repos", err)
	}
	all := []api.RedactedRecord{}
	for _, repo := range repos {
		records, err := l.holding(ctx, caller, repo.Slug, sums)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			all = append(all, r.RedactedRecord)
		}
	}
	return all, nil
}

// ContentOf is the checksum of an entry's text as a version wrote it, be it for
// everybody or as a proposal; version 0 is what stands.
func (l *Ledger) ContentOf(ctx context.Context, caller Caller, repo api.RepoSlug, key api.Key, version api.Version) (api.Checksum, error) {
	ref := store.RepoRef{Org: caller.Org, Slug: repo}
	before := version + 1
	if version == 0 {
		before = 0
	}
	past, err := l.store.History(ctx, ref, key, before, 1)
	if err != nil {
		return "", l.explain(ctx, caller, repo, "read the history", err)
	}
	if len(past) > 0 && !past[0].Deleted && (version == 0 || past[0].Version == version) {
		return past[0].Checksum, nil
	}
	var sum api.Checksum
	err = l.EachProposal(ctx, caller, repo, func(p store.Proposal) error {
		if p.Key == key && p.Version == version {
			sum = p.Checksum
		}
		return nil
	})
	if err == nil && sum == "" {
		why := fmt.Sprintf("version %d of %s wrote no text of %q; the history of the key names those that did", version, repo, key)
		if version == 0 {
			why = fmt.Sprintf("no text of %q stands in %s; the history of the key names the versions that wrote one", key, repo)
		}
		err = &api.Error{
			Code: api.NotFound, Message: why,
			Details: api.Details{ErrorCode: api.ErrorCodeNoEntry, Key: key},
		}
	}
	return sum, err
}

// Redactions are those of contents that were withdrawn, by checksum; of all with nil.
func (l *Ledger) Redactions(ctx context.Context, caller Caller, sums []api.Checksum) (map[api.Checksum]store.Redaction, error) {
	found, err := l.store.Redactions(ctx, caller.Org, sums)
	if err != nil {
		return nil, l.explain(ctx, caller, "", "read the redactions", err)
	}
	all := make(map[api.Checksum]store.Redaction, len(found))
	for _, r := range found {
		all[r.Checksum] = r
	}
	return all, nil
}

// Examined is a finding with the verdict of the policy in force.
type Examined struct {
	store.Finding
	Verdict api.Verdict
}

// Examine scans a text with today's rules. One that cannot be scanned to its end
// holds a finding that says so.
func (l *Ledger) Examine(ctx context.Context, caller Caller, key api.Key, content []byte) ([]Examined, error) {
	rules, err := l.inForce(ctx, caller)
	if err != nil {
		return nil, err
	}
	if rules.scanner == nil {
		return nil, errors.New("examine: this ledger has no scanner")
	}
	found, err := rules.scanner.Scan(key, content)
	if err != nil {
		return []Examined{{store.Finding{Key: key, Rule: unscannable, Class: api.ClassHiddenText, Line: 1}, api.VerdictRefuse}}, nil
	}
	all := make([]Examined, len(found))
	for i, f := range found {
		all[i] = Examined{
			store.Finding{Key: key, Rule: f.Rule, Class: f.Class, Line: f.Line, Fingerprint: f.Fingerprint},
			rules.policy.Verdict(f.Class, f.Rule, f.Fingerprint),
		}
	}
	return all, nil
}

// checkRedacted refuses a push that brings what was withdrawn, even where nothing
// would come of it: its sender is to take it away. The store refuses it once more,
// under its lock.
func (l *Ledger) checkRedacted(ctx context.Context, caller Caller, ask *request) error {
	if len(ask.writes) == 0 {
		return nil
	}
	sums := make([]api.Checksum, len(ask.writes))
	for i, w := range ask.writes {
		sums[i] = w.body.Checksum
	}
	gone, err := l.Redactions(ctx, caller, sums)
	if err != nil {
		return err
	}
	for _, w := range ask.writes {
		if r, ok := gone[w.body.Checksum]; ok {
			return refusedRedacted(w.key, r)
		}
	}
	return nil
}

// withdrawnError is what a change is told that brings a withdrawn content.
func (r *request) withdrawnError(e *store.RedactedError) *api.Error {
	for _, w := range r.writes {
		if w.body.Checksum == e.Checksum {
			return refusedRedacted(w.key, e.Redaction)
		}
	}
	return refusedRedacted("", e.Redaction)
}

func refusedRedacted(key api.Key, r store.Redaction) *api.Error {
	return &api.Error{
		Code:    api.Refused,
		Message: fmt.Sprintf("the text of %q was redacted by %s on %s: %s; it is not stored again, so take out what it was redacted for", key, r.User, day(r.At), r.Reason),
		Details: api.Details{ErrorCode: api.ErrorCodeRedacted, Key: key, Checksum: r.Checksum},
	}
}

// goneAmong is what somebody is told who asks for contents of which one was withdrawn;
// nil when none was.
func (l *Ledger) goneAmong(ctx context.Context, caller Caller, rows []store.Row) error {
	sums := make([]api.Checksum, len(rows))
	for i, row := range rows {
		sums[i] = row.Checksum
	}
	gone, err := l.Redactions(ctx, caller, sums)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if r, ok := gone[row.Checksum]; ok {
			return &api.Error{
				Code:    api.NotFound,
				Message: fmt.Sprintf("this text of %q was redacted by %s on %s: %s", row.Key, r.User, day(r.At), r.Reason),
				Details: api.Details{ErrorCode: api.ErrorCodeRedacted, Key: row.Key, Checksum: r.Checksum},
			}
		}
	}
	return nil
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
