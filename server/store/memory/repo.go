package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// Head reads a repo's head.
func (s *Store) Head(ctx context.Context, ref store.RepoRef) (store.Head, error) {
	now, err := s.read(ctx)
	if err != nil {
		return store.Head{}, err
	}
	r, _ := now.repos.get(ref)
	return shown(r.head), nil
}

// shown is a head as readers get it, without what only Commit reads.
func shown(head store.Head) store.Head {
	head.Set, head.AuditHead = nil, [32]byte{}
	return head
}

// View reads a repo's head and the rows changed after a version, in key order.
func (s *Store) View(ctx context.Context, ref store.RepoRef, since api.Version) (store.View, error) {
	now, err := s.read(ctx)
	if err != nil {
		return store.View{}, err
	}
	r, ok := now.repos.get(ref)
	view := store.View{Head: shown(r.head)}
	if !ok {
		return view, nil
	}
	for _, row := range r.rows.all() {
		if row.Version > since {
			view.Rows = append(view.Rows, row)
		}
	}
	view.Redacted = r.goneAfter(since)
	if view.Mine = now.shadows(ref, r); len(view.Mine) > 0 {
		view.Head.Set = slices.Clone(r.head.Set)
	}
	slices.SortFunc(view.Rows, func(a, b store.Row) int { return cmp.Compare(a.Key, b.Key) })
	return view, nil
}

// Bodies unpacks the bodies asked for, one after another.
func (s *Store) Bodies(ctx context.Context, org store.OrgID, sums []api.Checksum, fn func(sum api.Checksum, content []byte) error) error {
	now, err := s.read(ctx)
	if err != nil {
		return err
	}
	for _, sum := range sums {
		body, ok := now.bodies.get(bodyRef{org: org, sum: sum})
		if !ok || body == nil || body.Checksum != sum {
			return fmt.Errorf("body %s: %w", sum.Short(), store.ErrCorrupt)
		}
		content, err := body.Unpack()
		if err != nil {
			return err
		}
		if err := fn(sum, content); err != nil {
			return err
		}
	}
	return nil
}

// History reads the changes of one key or of all, newest version first, those of
// one version in key order.
func (s *Store) History(ctx context.Context, ref store.RepoRef, key api.Key, before api.Version, limit int) ([]store.Past, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var versions [][]store.Past
	if r, ok := now.repos.get(ref); ok {
		for version, changes := range r.past.all() {
			if before == 0 || version < before {
				versions = append(versions, changes)
			}
		}
	}
	var found []store.Past
	for _, changes := range slices.Backward(versions) {
		if limit == 0 {
			break
		}
		of := len(found)
		for _, past := range changes {
			if key == "" || past.Key == key {
				found = append(found, past)
			}
		}
		if len(found) > of {
			limit--
		}
	}
	return found, nil
}

// Authors lists who last changed each live entry, in key order.
func (s *Store) Authors(ctx context.Context, ref store.RepoRef) (all []store.Authored, err error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	r, ok := now.repos.get(ref)
	if !ok {
		return nil, nil
	}
	for _, changes := range r.past.all() {
		for _, past := range changes {
			row, ok := r.rows.get(rowRef{past.Key.Fold(), past.Key})
			if ok && !row.Deleted && row.Version == past.Version {
				all = append(all, store.Authored{Key: past.Key, Version: past.Version, At: past.At, UserName: past.UserName, Client: past.Client})
			}
		}
	}
	slices.SortFunc(all, func(a, b store.Authored) int { return cmp.Compare(a.Key, b.Key) })
	return all, nil
}

// Audit reads a repo's trail, oldest first.
func (s *Store) Audit(ctx context.Context, ref store.RepoRef, after int64, limit int) ([]audit.Record, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	r, ok := now.repos.get(ref)
	if !ok {
		return nil, nil
	}
	var found []audit.Record
	for _, record := range r.trail.from(after + 1) {
		if len(found) == limit {
			break
		}
		found = append(found, record)
	}
	return found, nil
}
