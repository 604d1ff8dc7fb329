// Package leak is what is done when something got in that should not have: it looks
// through all that an organization holds and held with today's rules, says who wrote
// what was found and who was served it, and withdraws it so that nothing is left of it.
//
// What a redaction is to the readers of a repo is the ledger's to decide. Here is what
// lies around that: which contents hold a value, the list of what was withdrawn that
// is kept outside the database and its backups, the notes of who was served what, and
// scans that can be broken off and gone on with.
//
// It keeps no memory and no text, in memory or elsewhere: the list holds checksums, who,
// when and why; a report holds rules, places and keyed fingerprints.
//
// What is promised: a redaction is written to the list before anything else is done, so
// that one that was broken off is completed by the next start ([Desk.Apply]), and a
// database that was restored from an older backup has its redactions done again before
// it serves anybody. A scan reads in batches and rests between them as long as each
// took. Notes of who was served what are collected in memory, within a bound, and written
// once a second at most.
//
// rest, cmd/server and package server call it.
package leak

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// Store is what is needed of a [store.Store].
type Store interface {
	Organizations(ctx context.Context) ([]store.Organization, error)
	Repos(ctx context.Context, org store.OrgID) ([]store.RepoInfo, error)
	Redactions(ctx context.Context, org store.OrgID, sums []api.Checksum) ([]store.Redaction, error)
	CountErased(ctx context.Context) (int64, error)
	Holders(ctx context.Context, ref store.RepoRef, query store.HolderQuery) ([]store.Holder, error)
	Scrub(ctx context.Context, rewrite bool) (store.Scrubbed, error)
	NotePulls(ctx context.Context, pulls []store.Pull) error
	Pulls(ctx context.Context, ref store.RepoRef) ([]store.Pull, error)
	CreateScan(ctx context.Context, scan store.Scan) (store.Scan, error)
	SaveScan(ctx context.Context, scan store.Scan, found [][]byte) error
	Scans(ctx context.Context, org store.OrgID, limit int) ([]store.Scan, error)
	Scan(ctx context.Context, org store.OrgID, uid string) (store.Scan, error)
	ScanFindings(ctx context.Context, id int64, after, limit int) ([][]byte, error)
}

// Ledger is what is asked of the rules.
type Ledger interface {
	Redact(ctx context.Context, caller ledger.Caller, all []store.Redaction) error
	Redactions(ctx context.Context, caller ledger.Caller, sums []api.Checksum) (map[api.Checksum]store.Redaction, error)
	Holding(ctx context.Context, caller ledger.Caller, sums []api.Checksum) ([]api.RedactedRecord, error)
	ContentOf(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, key api.Key, version api.Version) (api.Checksum, error)
	EachProposal(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, fn func(store.Proposal) error) error
	Bodies(ctx context.Context, caller ledger.Caller, rows []store.Row, fn func(row store.Row, content []byte) error) error
	Examine(ctx context.Context, caller ledger.Caller, key api.Key, content []byte) ([]ledger.Examined, error)
}

// Desk answers leaks. It is safe for concurrent use.
type Desk struct {
	log    *slog.Logger
	store  Store
	ledger Ledger
	now    func() time.Time
	list   *List
	look   func(context.Context)
	notes  notes
	wake   chan struct{}

	writing sync.Mutex // held while notes are written: whoever writes next finds them written

	mu   sync.Mutex
	mine map[string]bool // scans that this server was asked for
}

// New makes a desk. list may be nil where nothing outlives the store, as in a
// simulation. look is called when something beside this process has withdrawn
// contents; nil where nobody listens.
func New(log *slog.Logger, s Store, l Ledger, now func() time.Time, list *List, look func(context.Context)) *Desk {
	if look == nil {
		look = func(context.Context) {}
	}
	return &Desk{log: log, store: s, ledger: l, now: now, list: list, look: look, wake: make(chan struct{}, 1), mine: map[string]bool{}}
}

// everySecond is how often notes are written, and looked whether contents were
// withdrawn by somebody else.
const everySecond = time.Second

// Run writes notes and carries on with scans, until ctx ends; then it writes what is
// noted.
func (d *Desk) Run(ctx context.Context) {
	var scans sync.WaitGroup
	scans.Go(func() { d.runScans(ctx) })
	defer scans.Wait()
	tick := time.NewTicker(everySecond)
	defer tick.Stop()
	erased, _ := d.store.CountErased(ctx) // without an answer it looks a second later
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
			d.writeNotes(last)
			cancel()
			return
		case <-tick.C:
		}
		d.writeNotes(ctx)
		if n, err := d.store.CountErased(ctx); err == nil && n != erased {
			erased = n
			d.look(ctx)
		}
	}
}

// Redact withdraws what is asked for, or with DryRun says what it would. progress, which
// may be nil, is told how far the search for a fingerprint is.
func (d *Desk) Redact(ctx context.Context, caller ledger.Caller, ask api.Redact, rewrite bool, progress func(done, of int64)) (api.Redacted, error) {
	sums, err := d.contents(ctx, caller, ask, progress)
	if err != nil {
		return api.Redacted{}, err
	}
	result := api.Redacted{DryRun: ask.DryRun, Checksums: sums, Remains: []string{}}
	if result.Versions, err = d.ledger.Holding(ctx, caller, sums); err != nil || ask.DryRun {
		return result, err
	}
	at := api.NewTime(d.now()).Time
	all := make([]store.Redaction, len(sums))
	for i, sum := range sums {
		all[i] = store.Redaction{Checksum: sum, At: at, User: caller.UserName, TokenUID: caller.TokenUID, Reason: ask.Reason}
	}
	// From here on it is seen through, whoever waits.
	ctx = context.WithoutCancel(ctx)
	if err := d.list.add(caller.OrgUID, all); err != nil {
		return result, fmt.Errorf("write the list of redactions: %w", err)
	}
	if err := d.ledger.Redact(ctx, caller, all); err != nil {
		return result, err
	}
	scrubbed, err := d.store.Scrub(ctx, rewrite)
	if err != nil {
		// The contents are gone from every answer; only the files want another try.
		d.log.WarnContext(ctx, "the database's files were not scrubbed; run server redact apply", "error", err)
		scrubbed.Remains = append(scrubbed.Remains, "deleted bytes in the database's files: they could not be scrubbed now; server redact apply tries again")
	}
	result.Rewritten, result.Remains = scrubbed.Rewritten, append(result.Remains, scrubbed.Remains...)
	return result, nil
}

// contents finds the checksums of what shall go.
func (d *Desk) contents(ctx context.Context, caller ledger.Caller, ask api.Redact, progress func(done, of int64)) ([]api.Checksum, error) {
	switch {
	case ask.Checksum != "":
		return []api.Checksum{ask.Checksum}, nil
	case ask.Key != "":
		sum, err := d.ledger.ContentOf(ctx, caller, ask.Repo, ask.Key, ask.Version)
		return []api.Checksum{sum}, err
	}
	sums, err := d.withFingerprint(ctx, caller, ask.Fingerprint, progress)
	if err == nil && len(sums) == 0 {
		err = &api.Error{
			Code: api.NotFound, Message: fmt.Sprintf("nothing that the organization holds has the fingerprint %s", ask.Fingerprint),
			Details: api.Details{ErrorCode: api.ErrorCodeNoEntry},
		}
	}
	return sums, err
}

// Redactions lists what was withdrawn from the caller's organization, the oldest first.
func (d *Desk) Redactions(ctx context.Context, caller ledger.Caller) ([]store.Redaction, error) {
	return d.store.Redactions(ctx, caller.Org, nil)
}

// Apply holds the list against the store, both ways: what is on the list and not, or
// not wholly, withdrawn here is withdrawn, and what was withdrawn here and is not on the
// list is put there. It says how many contents it withdrew. With rewrite, or when there
// were any, the store is scrubbed.
func (d *Desk) Apply(ctx context.Context, rewrite bool) (n int, scrubbed store.Scrubbed, err error) {
	listed, err := d.list.read(d.log)
	if err != nil {
		return 0, scrubbed, fmt.Errorf("read the list of redactions: %w", err)
	}
	orgs, err := d.store.Organizations(ctx)
	if err != nil {
		return 0, scrubbed, fmt.Errorf("list the organizations: %w", err)
	}
	for _, org := range orgs {
		here, err := d.store.Redactions(ctx, org.ID, nil)
		if err != nil {
			return n, scrubbed, fmt.Errorf("read the redactions of %s: %w", org.Name, err)
		}
		undone, unlisted := compare(listed[org.UID], here)
		if err := d.list.add(org.UID, unlisted); err != nil {
			return n, scrubbed, fmt.Errorf("write the list of redactions: %w", err)
		}
		caller := Operator(org)
		for _, group := range byReason(undone) {
			if err := d.ledger.Redact(ctx, caller, group); err != nil {
				return n, scrubbed, fmt.Errorf("redact in %s: %w", org.Name, err)
			}
			n += len(group)
		}
	}
	if n > 0 || rewrite {
		scrubbed, err = d.store.Scrub(ctx, rewrite)
	}
	return n, scrubbed, err
}

// compare gives what is to be withdrawn, and what the list lacks.
func compare(listed, here []store.Redaction) (undone, unlisted []store.Redaction) {
	stands, known := map[api.Checksum]store.Redaction{}, map[api.Checksum]bool{}
	for _, r := range here {
		stands[r.Checksum] = r
	}
	for _, r := range listed {
		if known[r.Checksum] {
			continue
		}
		known[r.Checksum] = true
		if !stands[r.Checksum].Done {
			undone = append(undone, r)
		}
	}
	for _, r := range here {
		if known[r.Checksum] {
			continue
		}
		unlisted = append(unlisted, r)
		if !r.Done {
			undone = append(undone, r)
		}
	}
	return undone, unlisted
}

// byReason puts those together that were withdrawn in one go.
func byReason(all []store.Redaction) (groups [][]store.Redaction) {
	for _, r := range all {
		i := slices.IndexFunc(groups, func(group []store.Redaction) bool {
			return group[0].User == r.User && group[0].Reason == r.Reason && group[0].At.Equal(r.At)
		})
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// Operator is whoever runs the server, as the records of an organization name them.
func Operator(org store.Organization) ledger.Caller {
	return ledger.Caller{Org: org.ID, OrgUID: org.UID, UserName: "(operator)", Role: api.Admin}
}

// gone reports whether an error says that a text was withdrawn.
func gone(err error) bool {
	e, ok := api.AsError(err)
	return ok && e.Details.ErrorCode == api.ErrorCodeRedacted
}

// damaged reports whether an error says that a text cannot be read. The operator has
// been alarmed.
func damaged(err error) bool { return errors.Is(err, store.ErrCorrupt) }
