package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Commit runs one change of a repo under the store's one lock.
func (s *Store) Commit(ctx context.Context, ref store.RepoRef, touched []api.Key, decide store.Decide) (store.Head, error) {
	var head store.Head
	err := s.write(ctx, func(next *state) error {
		r, known := next.repos.get(ref)
		if !known {
			if _, err := next.organizationByID(ref.Org); err != nil {
				return err
			}
			if rights, _ := next.rights.get(ref.Org); rights.aliases[ref.Slug] != 0 {
				return fmt.Errorf("%s was given another name just now: %w", ref.Slug, store.ErrBusy)
			}
			r = newRepo()
		}
		change, err := decide(store.State{Head: copied(r.head), Rows: r.around(touched), Mine: next.shadows(ref, r)})
		if err == nil && change != nil {
			err = change.Check(r.head)
			if gone := next.withdrawn(ref.Org, append([]api.Checksum{}, change.Withdrawn()...)); err == nil && len(gone) > 0 {
				err = &store.RedactedError{Redaction: gone[0]}
			}
			if err == nil {
				r, err = next.apply(ref, r, change)
			}
		}
		head = copied(r.head)
		return err
	})
	if err != nil {
		return store.Head{}, err
	}
	return head, nil
}

// copied is a head whose set may be kept and changed by others.
func copied(head store.Head) store.Head {
	head.Set = slices.Clone(head.Set)
	return head
}

// around finds the rows that concern the touched keys, see [store.State].
func (r repo) around(touched []api.Key) map[api.Key]store.Row {
	rows := make(map[api.Key]store.Row, len(touched))
	for _, key := range touched {
		fold := key.Fold()
		if row, ok := r.rows.get(rowRef{fold, key}); ok {
			rows[key] = row
		}
		for _, twin := range r.live(fold) {
			rows[twin.Key] = twin
		}
		for _, dir := range key.Ancestors() {
			for _, row := range r.live(dir.Fold()) {
				rows[row.Key] = row
			}
		}
		for ref, row := range r.rows.from(rowRef{fold: fold + "/"}) {
			if !strings.HasPrefix(ref.fold, fold+"/") {
				break
			}
			if !row.Deleted {
				rows[row.Key] = row
			}
		}
	}
	return rows
}

// live gives the live rows with this fold.
func (r repo) live(fold string) []store.Row {
	var found []store.Row
	for ref, row := range r.rows.from(rowRef{fold: fold}) {
		if ref.fold != fold {
			break
		}
		if !row.Deleted {
			found = append(found, row)
		}
	}
	return found
}

// apply carries a change out.
func (s *state) apply(ref store.RepoRef, r repo, change *store.Change) (repo, error) {
	id := r.head.ID
	if id == 0 {
		id = store.RepoID(s.nextID())
	}
	r.head = copied(change.Head)
	r.head.ID, r.head.LastModified = id, kept(r.head.LastModified)
	author, _ := s.names.get(nameRef{ref.Org, change.Author.User})
	past := make([]store.Past, 0, len(change.Writes))
	for _, w := range change.Writes {
		if w.Body != nil {
			body := bodyRef{org: ref.Org, sum: w.Body.Checksum}
			if standing, _ := s.bodies.get(body); standing == nil {
				s.bodies = s.bodies.with(body, w.Body)
			}
		}
		w.Modified = kept(w.Modified)
		r.rows = r.rows.with(rowRef{w.Fold, w.Key}, store.Row{
			Key: w.Key, Checksum: w.Checksum, Deleted: w.Deleted, Size: w.Size, Modified: w.Modified, Version: r.head.Version,
		})
		w.Body, w.Fold, w.Stored = nil, "", false
		past = append(past, store.Past{
			Write: w, Version: r.head.Version, At: r.head.LastModified, UserName: author, Client: change.Author.Client,
		})
	}
	slices.SortFunc(past, func(a, b store.Past) int { return cmp.Compare(a.Key, b.Key) })
	for _, w := range change.Writes {
		if twins := r.live(w.Fold); len(twins) > 1 {
			return r, fmt.Errorf("commit: %q and %q are twins", twins[0].Key, twins[1].Key)
		}
	}
	r.past = r.past.with(r.head.Version, past)
	r.posed = s.propose(ref, r.posed, change.Proposals)
	r.found = foundIn(r.found, r.head.Version, change.Findings)
	r = r.redact(change)
	if len(change.Redacted) > 0 {
		s.index = s.index.without(id, change.Redacted)
	}
	record := change.Audit
	record.At = kept(record.At)
	r.trail = r.trail.with(record.Seq, record)
	ref.For = 0 // whoever's view it was: it is no part of the name
	s.repos = s.repos.with(ref, r)
	return r, nil
}
