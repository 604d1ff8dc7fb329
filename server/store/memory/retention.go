package memory

import (
	"context"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Vacuum takes away what a cut names, in one change.
func (s *Store) Vacuum(ctx context.Context, org store.OrgID, cut store.Cut) (done store.Vacuumed, err error) {
	err = s.write(ctx, func(next *state) error {
		used := map[api.Checksum]bool{}
		now := *next
		for ref, r := range now.repos.from(store.RepoRef{Org: org}) {
			if ref.Org != org {
				break
			}
			goes := r.old(cut)
			done.Changes += int64(len(goes))
			for version, changes := range r.past.all() {
				stays := slices.DeleteFunc(slices.Clone(changes), func(p store.Past) bool { return goes[foundRef{p.Key, version}] > 0 })
				for _, p := range stays {
					used[p.Checksum] = used[p.Checksum] || !p.Deleted
				}
				if !cut.DryRun && len(stays) < len(changes) {
					next.forget(ref, version, stays, goes)
				}
			}
			for _, p := range r.posed.all() {
				used[p.Checksum], used[p.Base] = true, true
			}
		}
		for ref, body := range now.bodies.from(bodyRef{org: org}) {
			if ref.org != org {
				break
			}
			if body == nil || used[ref.sum] {
				continue
			}
			done.Contents, done.Bytes = done.Contents+1, done.Bytes+int64(len(body.Data))
			if !cut.DryRun {
				next.bodies = next.bodies.with(ref, nil)
			}
		}
		return nil
	})
	return done, err
}

// old are the changes of a repo that go, and the last version as of which each stood.
func (r repo) old(cut store.Cut) map[foundRef]api.Version {
	byKey := map[api.Key][]store.Past{} // the oldest first
	for _, changes := range r.past.all() {
		for _, p := range changes {
			byKey[p.Key] = append(byKey[p.Key], p)
		}
	}
	goes := map[foundRef]api.Version{}
	for _, all := range byKey {
		newest := all[len(all)-1]
		trash := newest.Deleted && !cut.Deleted.IsZero() && newest.At.Before(cut.Deleted)
		for i, p := range all[:len(all)-1] {
			rank := len(all) - i
			if trash || !cut.Before.IsZero() && p.At.Before(cut.Before) && rank > max(cut.Keep, 1) {
				goes[foundRef{p.Key, p.Version}] = all[i+1].Version - 1
			}
		}
	}
	return goes
}

// forget leaves of a version what stays.
func (s *state) forget(ref store.RepoRef, version api.Version, stays []store.Past, goes map[foundRef]api.Version) {
	r, _ := s.repos.get(ref)
	r.past = r.past.with(version, stays)
	for at, last := range goes {
		if at.version != version {
			continue
		}
		r.forgotten = max(r.forgotten, last)
		if _, any := r.found.get(at); any {
			r.found = r.found.with(at, nil)
		}
		doc := docRef{r.head.ID, at.key, version}
		if _, any := s.index.docs.get(doc); any {
			s.index.docs = s.index.docs.with(doc, nil)
		}
	}
	s.repos = s.repos.with(ref, r)
}

// Forgotten is the newest version as of which a text went.
func (s *Store) Forgotten(ctx context.Context, ref store.RepoRef) (api.Version, error) {
	now, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	ref.For = 0
	r, _ := now.repos.get(ref)
	return r.forgotten, nil
}
