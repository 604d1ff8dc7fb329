package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// leaks is what a store keeps of leaks and of the answer to them.
type leaks struct {
	redactions tree[bodyRef, store.Redaction]
	pulls      tree[pullRef, store.Pull]
	scans      tree[string, store.Scan] // by public id
	found      tree[int64, [][]byte]
}

type pullRef struct {
	repo   store.RepoID
	user   store.UserID
	token  store.TokenID
	client string
}

func comparePulls(a, b pullRef) int {
	return cmp.Or(cmp.Compare(a.repo, b.repo), cmp.Compare(a.user, b.user), cmp.Compare(a.token, b.token), cmp.Compare(a.client, b.client))
}

func newLeaks() leaks {
	return leaks{
		redactions: newTree[bodyRef, store.Redaction](compareBodies),
		pulls:      newTree[pullRef, store.Pull](comparePulls),
		scans:      newTree[string, store.Scan](cmp.Compare),
		found:      newTree[int64, [][]byte](cmp.Compare),
	}
}

func (s *state) withdrawn(org store.OrgID, sums []api.Checksum) (all []store.Redaction) {
	for ref, r := range s.leaks.redactions.from(bodyRef{org: org}) {
		if ref.org != org {
			break
		}
		if sums == nil || slices.Contains(sums, ref.sum) {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b store.Redaction) int { return a.At.Compare(b.At) })
	return all
}

// Redactions reads what was withdrawn.
func (s *Store) Redactions(ctx context.Context, org store.OrgID, sums []api.Checksum) ([]store.Redaction, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	return now.withdrawn(org, sums), nil
}

// CountErased counts what is gone.
func (s *Store) CountErased(ctx context.Context) (n int64, err error) {
	now, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	for _, r := range now.leaks.redactions.all() {
		if r.Done {
			n++
		}
	}
	return n, nil
}

// Withdraw notes what is withdrawn.
func (s *Store) Withdraw(ctx context.Context, org store.OrgID, all []store.Redaction) error {
	return s.write(ctx, func(next *state) error {
		for _, r := range all {
			ref := bodyRef{org, r.Checksum}
			if _, stands := next.leaks.redactions.get(ref); !stands {
				r.At, r.Done = kept(r.At), false
				next.leaks.redactions = next.leaks.redactions.with(ref, r)
			}
		}
		return nil
	})
}

// redact carries out what a change says of withdrawn contents.
func (r repo) redact(change *store.Change) repo {
	version := r.head.Version
	for _, sum := range change.Redacted {
		if _, told := r.gone.get(sum); !told {
			r.gone = r.gone.with(sum, version)
		}
		for _, changes := range r.past.all() {
			for _, p := range changes {
				ref := foundRef{p.Key, p.Version}
				if _, any := r.found.get(ref); any && p.Checksum == sum {
					r.found = r.found.with(ref, nil)
				}
			}
		}
		for uid, p := range r.posed.all() {
			if p.Checksum == sum && p.State == api.ProposalOpen && !p.Deleted {
				p.State, p.Closed, p.ClosedAt, p.ClosedBy = api.ProposalRejected, version, r.head.LastModified, change.Audit.User
				p.Reason = "its text was redacted"
				r.posed = r.posed.with(uid, p)
			}
		}
	}
	return r
}

// goneAfter are the contents that readers are told of.
func (r repo) goneAfter(since api.Version) (sums []api.Checksum) {
	for sum, version := range r.gone.all() {
		if version > since {
			sums = append(sums, sum)
		}
	}
	return sums
}

// Holders lists versions that hold contents.
func (s *Store) Holders(ctx context.Context, ref store.RepoRef, q store.HolderQuery) (all []store.Holder, err error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	ref.For = 0
	r, ok := now.repos.get(ref)
	if !ok {
		return nil, nil
	}
	next := map[api.Key]api.Version{}
	var versions [][]store.Past
	for _, changes := range r.past.all() {
		versions = append(versions, changes)
	}
	for _, changes := range slices.Backward(versions) {
		for _, p := range slices.Backward(changes) {
			until := next[p.Key]
			next[p.Key] = p.Version
			gone, _ := now.leaks.redactions.get(bodyRef{ref.Org, p.Checksum})
			after := p.Version > q.Version || p.Version == q.Version && p.Key > q.Key
			if !p.Deleted && !gone.Done && after && (q.Sums == nil || slices.Contains(q.Sums, p.Checksum)) {
				all = append(all, store.Holder{Past: p, Until: until})
			}
		}
	}
	slices.Reverse(all)
	return all[:min(len(all), q.Limit)], nil
}

// Erase takes bodies away.
func (s *Store) Erase(ctx context.Context, org store.OrgID, sums []api.Checksum) error {
	return s.write(ctx, func(next *state) error {
		for ref, r := range next.repos.all() {
			if ref.Org == org {
				next.index = next.index.without(r.head.ID, sums)
			}
		}
		for _, sum := range sums {
			ref := bodyRef{org, sum}
			next.bodies = next.bodies.with(ref, nil)
			if r, ok := next.leaks.redactions.get(ref); ok {
				r.Done = true
				next.leaks.redactions = next.leaks.redactions.with(ref, r)
			}
		}
		return nil
	})
}

// Scrub has nothing to do: there is no file.
func (s *Store) Scrub(ctx context.Context, _ bool) (store.Scrubbed, error) {
	return store.Scrubbed{Rewritten: true}, ctx.Err()
}

// NotePulls notes that repos were served.
func (s *Store) NotePulls(ctx context.Context, pulls []store.Pull) error {
	return s.write(ctx, func(next *state) error {
		for _, p := range pulls {
			p.At = kept(p.At)
			ref := pullRef{p.Repo, p.User, p.Token, p.Client}
			before, known := next.leaks.pulls.get(ref)
			if !known && next.clientsOf(ref) >= store.MostClients {
				p.Client, ref.client = store.OtherClients, store.OtherClients
				before, known = next.leaks.pulls.get(ref)
			}
			if known {
				p.Oldest, p.Newest, p.At = min(p.Oldest, before.Oldest), max(p.Newest, before.Newest), later(p.At, before.At)
			}
			next.leaks.pulls = next.leaks.pulls.with(ref, p)
		}
		return nil
	})
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (s *state) clientsOf(ref pullRef) (n int) {
	for other := range s.leaks.pulls.from(pullRef{ref.repo, ref.user, ref.token, ""}) {
		if other.repo != ref.repo || other.user != ref.user || other.token != ref.token {
			break
		}
		n++
	}
	return n
}

// Pulls lists whom a repo was served to.
func (s *Store) Pulls(ctx context.Context, ref store.RepoRef) (all []store.Pull, err error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	ref.For = 0
	r, ok := now.repos.get(ref)
	if !ok {
		return nil, nil
	}
	tokens := map[store.TokenID]string{}
	for _, t := range now.tokens.all() {
		tokens[t.ID] = t.UID
	}
	for place, p := range now.leaks.pulls.from(pullRef{repo: r.head.ID}) {
		if place.repo != r.head.ID {
			break
		}
		p.UserName, _ = now.names.get(nameRef{ref.Org, p.User})
		p.TokenUID = tokens[p.Token]
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b store.Pull) int { return b.At.Compare(a.At) })
	return all, nil
}

// CreateScan adds a scan.
func (s *Store) CreateScan(ctx context.Context, scan store.Scan) (store.Scan, error) {
	err := s.write(ctx, func(next *state) error {
		scan.ID, scan.At, scan.Updated = next.nextID(), kept(scan.At), kept(scan.Updated)
		next.leaks.scans = next.leaks.scans.with(scan.UID, scan)
		return nil
	})
	return scan, err
}

// SaveScan writes how far a scan came.
func (s *Store) SaveScan(ctx context.Context, scan store.Scan, found [][]byte) error {
	return s.write(ctx, func(next *state) error {
		stored, ok := next.leaks.scans.get(scan.UID)
		if !ok || stored.Step != scan.Step-1 {
			return fmt.Errorf("step %d of the scan: %w", scan.Step, store.ErrExists)
		}
		stored.State, stored.Step, stored.Updated, stored.Found = scan.State, scan.Step, kept(scan.Updated), scan.Found
		stored.Place = slices.Clone(scan.Place)
		next.leaks.scans = next.leaks.scans.with(scan.UID, stored)
		before, _ := next.leaks.found.get(stored.ID)
		next.leaks.found = next.leaks.found.with(stored.ID, slices.Concat(before, found))
		return nil
	})
}

// Scans lists scans, newest first.
func (s *Store) Scans(ctx context.Context, org store.OrgID, limit int) (all []store.Scan, err error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	for _, scan := range now.leaks.scans.all() {
		if org == 0 || scan.Org == org {
			all = append(all, scan)
		}
	}
	slices.SortFunc(all, func(a, b store.Scan) int { return cmp.Compare(b.ID, a.ID) })
	return all[:min(len(all), limit)], nil
}

// Scan finds one by its public id.
func (s *Store) Scan(ctx context.Context, org store.OrgID, uid string) (store.Scan, error) {
	now, err := s.read(ctx)
	if err != nil {
		return store.Scan{}, err
	}
	scan, ok := now.leaks.scans.get(uid)
	if !ok || scan.Org != org {
		return store.Scan{}, fmt.Errorf("scan: %w", store.ErrNotFound)
	}
	return scan, nil
}

// ScanFindings reads what a scan found.
func (s *Store) ScanFindings(ctx context.Context, id int64, after, limit int) ([][]byte, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	all, _ := now.leaks.found.get(id)
	all = all[min(after, len(all)):]
	return all[:min(len(all), limit)], nil
}
