package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// index is what search looks through, and how far it goes in each repo.
type index struct {
	docs   tree[docRef, *store.SearchDoc] // nil: gone
	places tree[store.RepoID, store.SearchPlace]
}

type docRef struct {
	repo    store.RepoID
	key     api.Key
	version api.Version
}

func newIndex() index {
	return index{
		docs: newTree[docRef, *store.SearchDoc](func(a, b docRef) int {
			return cmp.Or(cmp.Compare(a.repo, b.repo), cmp.Compare(a.key, b.key), cmp.Compare(a.version, b.version))
		}),
		places: newTree[store.RepoID, store.SearchPlace](cmp.Compare),
	}
}

// without is the index without the words of contents in a repo.
func (x index) without(repo store.RepoID, sums []api.Checksum) index {
	for ref, doc := range x.docs.from(docRef{repo: repo}) {
		if ref.repo != repo {
			break
		}
		if doc != nil && slices.Contains(sums, doc.Checksum) {
			x.docs = x.docs.with(ref, nil)
		}
	}
	return x
}

// SearchLags lists the repos of which the index lacks something.
func (s *Store) SearchLags(ctx context.Context, org store.OrgID) (all []store.SearchLag, err error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	for ref, r := range now.repos.from(store.RepoRef{Org: org}) {
		if ref.Org != org {
			break
		}
		if place, _ := now.index.places.get(r.head.ID); r.head.Version > 0 && place.Version <= r.head.Version {
			all = append(all, store.SearchLag{Slug: ref.Slug, Head: r.head.Version, Place: place})
		}
	}
	return all, nil
}

// AddSearchDocs adds to a repo's index.
func (s *Store) AddSearchDocs(ctx context.Context, ref store.RepoRef, from, to store.SearchPlace, docs []store.SearchDoc) error {
	ref.For = 0
	return s.write(ctx, func(next *state) error {
		r, known := next.repos.get(ref)
		if !known {
			return fmt.Errorf("%s: %w", ref.Slug, store.ErrNotFound)
		}
		id := r.head.ID
		if place, _ := next.index.places.get(id); place != from {
			return fmt.Errorf("from version %d: %w", from.Version, store.ErrExists)
		}
		next.index.places = next.index.places.with(id, to)
		for _, doc := range docs {
			if _, gone := next.leaks.redactions.get(bodyRef{ref.Org, doc.Checksum}); !gone {
				next.index.docs = next.index.docs.with(docRef{id, doc.Key, doc.Version}, &doc)
			}
		}
		return nil
	})
}

// Search finds the newest versions that a query asks for.
func (s *Store) Search(ctx context.Context, org store.OrgID, q store.SearchQuery) (all []store.SearchHit, err error) {
	now, err := s.read(ctx)
	if err != nil || !q.Plain() {
		return nil, err
	}
	for _, slug := range q.Repos {
		if r, ok := now.repos.get(store.RepoRef{Org: org, Slug: slug}); ok {
			all = append(all, now.searchIn(org, slug, r, q)...)
		}
	}
	slices.SortFunc(all, func(a, b store.SearchHit) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Repo, b.Repo), cmp.Compare(a.Key, b.Key), cmp.Compare(b.Version, a.Version))
	})
	return all[:min(len(all), q.Limit)], nil
}

// CountSearch counts what a query finds, up to its limit.
func (s *Store) CountSearch(ctx context.Context, org store.OrgID, q store.SearchQuery) (int, error) {
	all, err := s.Search(ctx, org, q)
	return len(all), err
}

func (s *state) searchIn(org store.OrgID, slug api.RepoSlug, r repo, q store.SearchQuery) (all []store.SearchHit) {
	for ref, doc := range s.index.docs.from(docRef{repo: r.head.ID}) {
		if ref.repo != r.head.ID {
			break
		}
		if doc == nil || !holdsAll(doc, q) || q.Types != nil && !slices.Contains(q.Types, doc.Type) {
			continue
		}
		changes, _ := r.past.get(ref.version)
		at := slices.IndexFunc(changes, func(p store.Past) bool { return p.Key == ref.key })
		if at < 0 {
			continue
		}
		past := changes[at]
		row, stands := r.rows.get(rowRef{ref.key.Fold(), ref.key})
		hit := store.SearchHit{
			SearchDoc: *doc, Repo: slug, At: past.At, UserName: past.UserName, Client: past.Client,
			Live: stands && !row.Deleted && row.Version == ref.version,
		}
		if !q.Past && !hit.Live || q.Authors != nil && !s.isAny(org, past.UserName, q.Authors) ||
			!q.After.IsZero() && past.At.Before(kept(q.After)) || !q.Before.IsZero() && !past.At.Before(kept(q.Before)) {
			continue
		}
		if q.Bare {
			hit.Head, hit.Words = "", ""
		}
		hit.Existed = !q.After.IsZero() && r.stoodBefore(ref.key, kept(q.After))
		all = append(all, hit)
	}
	return all
}

// isAny reports whether a name is that of one of the users.
func (s *state) isAny(org store.OrgID, name string, users []store.UserID) bool {
	for _, user := range users {
		if of, _ := s.names.get(nameRef{org, user}); of == name {
			return true
		}
	}
	return false
}

// stoodBefore reports whether an entry stood before a time.
func (r repo) stoodBefore(key api.Key, at time.Time) (stood bool) {
	for _, changes := range r.past.all() {
		for _, p := range changes {
			if p.Key == key && p.At.Before(at) {
				stood = !p.Deleted
			}
		}
	}
	return stood
}

// holdsAll reports whether a document holds every term of a query.
func holdsAll(doc *store.SearchDoc, q store.SearchQuery) bool {
	for _, term := range q.Terms {
		text := " " + strings.Join(term.Words, " ")
		if !term.Prefix {
			text += " "
		}
		if !strings.Contains(doc.Head, text) && (q.Head || !strings.Contains(doc.Words, text)) {
			return false
		}
	}
	return true
}
