package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/teammem/teammem/server/store"
)

// shadows gives the standing proposals of the one whom ref is for.
func (s *state) shadows(ref store.RepoRef, r repo) []store.Shadow {
	if r.head.Proposals == 0 || ref.For == 0 {
		return nil
	}
	var mine []store.Shadow
	for _, p := range r.posed.all() {
		if p.Standing && p.Author == ref.For {
			row, _ := r.rows.get(rowRef{p.Key.Fold(), p.Key})
			mine = append(mine, store.Shadow{Proposal: s.told(ref.Org, p), Public: row})
		}
	}
	slices.SortFunc(mine, func(a, b store.Shadow) int { return cmp.Compare(a.Key, b.Key) })
	return mine
}

// told is a proposal with its author's name.
func (s *state) told(org store.OrgID, p store.Proposal) store.Proposal {
	p.User, _ = s.names.get(nameRef{org, p.Author})
	p.Detail = slices.Clone(p.Detail)
	return p
}

// propose carries out the proposals of a change.
func (s *state) propose(ref store.RepoRef, all tree[string, store.Proposal], writes []store.ProposalWrite) tree[string, store.Proposal] {
	for _, w := range writes {
		if w.Body != nil {
			body := bodyRef{org: ref.Org, sum: w.Body.Checksum}
			if standing, _ := s.bodies.get(body); standing == nil {
				s.bodies = s.bodies.with(body, w.Body)
			}
		}
		p := w.Proposal
		p.Slug, p.At, p.ClosedAt, p.Modified = ref.Slug, kept(p.At), kept(p.ClosedAt), kept(p.Modified)
		if before, known := all.get(p.UID); known {
			p.ID = before.ID
		} else {
			p.ID = s.nextID()
		}
		all = all.with(p.UID, p)
	}
	return all
}

// Proposals lists proposals, newest first.
func (s *Store) Proposals(ctx context.Context, org store.OrgID, q store.ProposalQuery) ([]store.Proposal, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var all []store.Proposal
	for ref, r := range now.repos.all() {
		if ref.Org != org || q.Repo != "" && q.Repo != ref.Slug {
			continue
		}
		for _, p := range r.posed.all() {
			p.Slug = ref.Slug
			if (q.State == "" || q.State == p.State) && (q.Author == 0 || q.Author == p.Author) && (q.Before == 0 || p.ID < q.Before) {
				all = append(all, now.told(org, p))
			}
		}
	}
	slices.SortFunc(all, func(a, b store.Proposal) int { return cmp.Compare(b.ID, a.ID) })
	return all[:min(len(all), q.Limit)], nil
}

// Proposal finds one by its public id.
func (s *Store) Proposal(ctx context.Context, org store.OrgID, uid string) (store.Proposal, error) {
	now, err := s.read(ctx)
	if err != nil {
		return store.Proposal{}, err
	}
	for ref, r := range now.repos.all() {
		if p, ok := r.posed.get(uid); ok && ref.Org == org {
			p.Slug = ref.Slug
			return now.told(org, p), nil
		}
	}
	return store.Proposal{}, fmt.Errorf("proposal: %w", store.ErrNotFound)
}
