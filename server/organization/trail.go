package organization

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// page is how many records are read at once.
const page = 500

// Chain is one chain of an organization: its own, or a repo's.
type Chain struct {
	Repo   api.RepoSlug // empty: the organization's own
	ID     store.RepoID
	Head   store.AuditPlace
	Anchor store.AuditPlace // the last record that went; zero: none has
}

// Name is what people call the chain.
func (c Chain) Name() string {
	if c.Repo == "" {
		return "organization"
	}
	return string(c.Repo)
}

// Chains lists the organization's own chain and those of its repos.
func (r *Rules) Chains(ctx context.Context, org store.OrgID) ([]Chain, error) {
	// The repos first: what is added meanwhile is beyond what their heads say.
	repos, err := r.store.Repos(ctx, org)
	if err != nil {
		return nil, err
	}
	head, anchors, err := r.store.AuditEnds(ctx, org)
	if err != nil {
		return nil, err
	}
	begins := map[store.RepoID]store.AuditPlace{}
	for _, a := range anchors {
		begins[a.Repo] = a.AuditPlace
	}
	chains := []Chain{{Head: head, Anchor: begins[0]}}
	for _, repo := range repos {
		place := store.AuditPlace{Seq: int64(repo.Head.Version), Hash: repo.Head.AuditHead}
		chains = append(chains, Chain{Repo: repo.Slug, ID: repo.Head.ID, Head: place, Anchor: begins[repo.Head.ID]})
	}
	return chains, nil
}

// Walk calls fn with the records of a chain up to its head, oldest first.
func (r *Rules) Walk(ctx context.Context, org store.OrgID, c Chain, fn func(audit.Record) error) error {
	for after := c.Anchor.Seq; after < c.Head.Seq; {
		var records []audit.Record
		var err error
		if c.Repo == "" {
			records, err = r.store.OrgAudit(ctx, org, after, page)
		} else {
			records, err = r.store.Audit(ctx, store.RepoRef{Org: org, Slug: c.Repo}, after, page)
		}
		if err != nil {
			return err
		}
		for _, record := range records {
			if record.Seq > c.Head.Seq {
				return nil
			}
			if err := fn(record); err != nil {
				return err
			}
			after = record.Seq
		}
		if len(records) == 0 {
			return nil
		}
	}
	return nil
}

// BrokenError names the first place at which a chain is not as it was written.
type BrokenError struct {
	Chain string
	Seq   int64
	Why   string
}

// Error says it for people.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("the audit chain of %s is broken at record %d: %s", e.Chain, e.Seq, e.Why)
}

// Unwrap makes it an [audit.ErrBroken].
func (e *BrokenError) Unwrap() error { return audit.ErrBroken }

// Verify checks every chain of an organization: each record against its hash and
// the one before it, the last against the head, the first against what vouches for
// those that went, and the repos' chains against the checkpoints. It gives how many
// records it has seen, and a [BrokenError] for the first that is wrong.
func (r *Rules) Verify(ctx context.Context, org store.OrgID) (records int, err error) {
	chains, err := r.Chains(ctx, org)
	if err != nil {
		return 0, err
	}
	vouched := map[[2]int64]string{} // chain and sequence number → hash, as records say
	for _, c := range chains {
		trail := audit.Trail{Seq: c.Anchor.Seq, Head: c.Anchor.Hash}
		err := r.Walk(ctx, org, c, func(record audit.Record) error {
			if err := trail.Next(record); err != nil {
				return &BrokenError{Chain: c.Name(), Seq: trail.Seq + 1, Why: err.Error()}
			}
			if want, ok := vouched[place(int64(c.ID), record.Seq)]; ok && want != hex.EncodeToString(record.Hash[:]) {
				return &BrokenError{Chain: c.Name(), Seq: record.Seq, Why: "a checkpoint in the organization's chain has another hash"}
			}
			if c.Repo == "" {
				vouched = moved(vouched, record)
				vouch(vouched, record)
			}
			records++
			return nil
		})
		switch {
		case err != nil:
			return records, err
		case trail.Seq != c.Head.Seq || trail.Head != c.Head.Hash:
			return records, &BrokenError{Chain: c.Name(), Seq: trail.Seq + 1, Why: fmt.Sprintf("the chain ends here, and its head is record %d", c.Head.Seq)}
		}
		if c.Anchor.Seq > 0 {
			if want, ok := vouched[place(int64(c.ID), c.Anchor.Seq)]; !ok || want != hex.EncodeToString(c.Anchor.Hash[:]) {
				return records, &BrokenError{Chain: c.Name(), Seq: c.Anchor.Seq, Why: "no record vouches for what was taken away up to here"}
			}
		}
	}
	return records, nil
}

// place is a record of a chain.
func place(chain, seq int64) [2]int64 { return [2]int64{chain, seq} }

// vouch keeps what a record says of places in chains.
func vouch(vouched map[[2]int64]string, record audit.Record) {
	if record.Action != audit.ActionCheckpoint && record.Action != audit.ActionPrune {
		return
	}
	var says struct {
		After []audit.Checkpoint `json:"after"`
	}
	if json.Unmarshal(record.Subject, &says) != nil {
		return
	}
	for _, c := range says.After {
		vouched[place(c.Chain, c.Version)] = c.Hash
	}
}

// moved gives the places by the numbers that chains have from a record on: where the
// organization was brought here from another database, its repos' chains have others.
func moved(vouched map[[2]int64]string, record audit.Record) map[[2]int64]string {
	if record.Action != audit.ActionOrgImport {
		return vouched
	}
	var says struct {
		After audit.Brought `json:"after"`
	}
	if json.Unmarshal(record.Subject, &says) != nil {
		return vouched
	}
	now := make(map[[2]int64]string, len(vouched))
	for at, hash := range vouched {
		if at[0] != 0 { // the organization's own
			at[0] += says.After.Shift
		}
		now[at] = hash
	}
	return now
}

// mostMarks is how many repos one checkpoint takes.
const mostMarks = 500

// Checkpoint notes in the organization's chain the heads of those repos that have
// changed since the last one. Where none has there is nothing to note.
func (r *Rules) Checkpoint(ctx context.Context, org store.OrgID) error {
	by := By{Org: org, User: "server", How: "server"}
	for {
		moved := 0
		err := r.change(ctx, by, store.About{Moved: mostMarks}, audit.ActionCheckpoint, func(state store.OrgState) (*store.OrgChange, audit.Deed, error) {
			moved = len(state.Repos)
			if moved == 0 {
				return nil, audit.Deed{}, nil
			}
			var heads []audit.Checkpoint
			for _, repo := range state.Repos {
				heads = append(heads, audit.Checkpoint{Chain: int64(repo.Head.ID), Repo: string(repo.Slug), Version: int64(repo.Head.Version), Hash: hex.EncodeToString(repo.Head.AuditHead[:])})
			}
			return &store.OrgChange{Checkpoint: state.Repos}, audit.Deed{After: heads}, nil
		})
		if err != nil || moved < mostMarks {
			return err
		}
	}
}

// Prune takes away the records that are older than the organization keeps. Of each
// chain the newest record stays. What went is vouched for by a record.
func (r *Rules) Prune(ctx context.Context, org store.Organization) error {
	if org.AuditDays == 0 {
		return nil
	}
	before := r.now().Add(-time.Duration(org.AuditDays) * 24 * time.Hour)
	chains, err := r.Chains(ctx, org.ID)
	if err != nil {
		return err
	}
	var anchors []store.AuditAnchor
	var says []audit.Checkpoint
	for _, c := range chains {
		last, err := r.lastBefore(ctx, org.ID, c, before)
		if err != nil {
			return err
		}
		if last.Seq > 0 {
			anchors = append(anchors, store.AuditAnchor{Repo: c.ID, AuditPlace: last})
			says = append(says, audit.Checkpoint{Chain: int64(c.ID), Repo: c.Name(), Version: last.Seq, Hash: hex.EncodeToString(last.Hash[:])})
		}
	}
	if len(anchors) == 0 {
		return nil
	}
	// Anchors that stay are vouched for anew: the record that did so may go.
	for _, c := range chains {
		if c.Anchor.Seq > 0 && !named(says, int64(c.ID)) {
			says = append(says, audit.Checkpoint{Chain: int64(c.ID), Repo: c.Name(), Version: c.Anchor.Seq, Hash: hex.EncodeToString(c.Anchor.Hash[:])})
		}
	}
	by := By{Org: org.ID, User: "server", How: "server"}
	return r.change(ctx, by, store.About{}, audit.ActionPrune, func(store.OrgState) (*store.OrgChange, audit.Deed, error) {
		return &store.OrgChange{Pruned: anchors}, audit.Deed{After: says}, nil
	})
}

func named(says []audit.Checkpoint, chain int64) bool {
	for _, c := range says {
		if c.Chain == chain {
			return true
		}
	}
	return false
}

var errEnough = errors.New("enough")

// lastBefore finds the last record before a time, the newest of all left out.
func (r *Rules) lastBefore(ctx context.Context, org store.OrgID, c Chain, before time.Time) (last store.AuditPlace, err error) {
	err = r.Walk(ctx, org, c, func(record audit.Record) error {
		if !record.At.Before(before) || record.Seq == c.Head.Seq {
			return errEnough
		}
		last = store.AuditPlace{Seq: record.Seq, Hash: record.Hash}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return last, err
}

// Entry is a record and the chain that it is of.
type Entry struct {
	Chain Chain
	audit.Record
}

// Find gives the records of some chains that a query asks for, of each newest first.
func (r *Rules) Find(ctx context.Context, org store.OrgID, chains []Chain, q store.AuditQuery) ([]Entry, error) {
	var found []Entry
	for _, c := range chains {
		q.Repo = c.ID
		records, err := r.store.FindAudit(ctx, org, q)
		if err != nil {
			return nil, err
		}
		for _, record := range records {
			found = append(found, Entry{Chain: c, Record: record})
		}
	}
	return found, nil
}
