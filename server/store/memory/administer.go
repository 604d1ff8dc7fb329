package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// Access gives what decides about an organization's requests.
func (s *Store) Access(ctx context.Context, org store.OrgID) (store.Access, error) {
	now, err := s.read(ctx)
	if err != nil {
		return store.Access{}, err
	}
	return now.access(org)
}

func (s *state) access(id store.OrgID) (store.Access, error) {
	org, err := s.organizationByID(id)
	if err != nil {
		return store.Access{}, err
	}
	r, _ := s.rights.get(id)
	access := store.Access{Organization: org, Grants: slices.Clone(r.grants), Aliases: map[api.RepoSlug]api.RepoSlug{}}
	for ref, repo := range s.repos.all() {
		for old, to := range r.aliases {
			if ref.Org == id && repo.head.ID == to {
				access.Aliases[old] = ref.Slug
			}
		}
	}
	return access, nil
}

// Members lists an organization's members, by name.
func (s *Store) Members(ctx context.Context, org store.OrgID) ([]store.Member, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	return now.membersOf(org), nil
}

func (s *state) membersOf(org store.OrgID) (all []store.Member) {
	for _, m := range s.members.all() {
		if m.Org == org {
			all = append(all, m)
		}
	}
	return all
}

// Memberships lists the organizations that a user is in, by name.
func (s *Store) Memberships(ctx context.Context, user store.UserID) ([]store.Membership, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var all []store.Membership
	for _, m := range now.members.all() {
		if m.User == user {
			org, err := now.organizationByID(m.Org)
			if err != nil {
				return nil, err
			}
			all = append(all, store.Membership{Member: m, OrgUID: org.UID, OrgName: org.Name})
		}
	}
	slices.SortFunc(all, func(a, b store.Membership) int { return strings.Compare(a.OrgName, b.OrgName) })
	return all, nil
}

// Repos lists an organization's repos that have memory, by slug.
func (s *Store) Repos(ctx context.Context, org store.OrgID) ([]store.RepoInfo, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var all []store.RepoInfo
	for ref, r := range now.repos.all() {
		if ref.Org == org && r.head.Version > 0 {
			all = append(all, infoOf(ref, r))
		}
	}
	return all, nil
}

func infoOf(ref store.RepoRef, r repo) store.RepoInfo {
	head := r.head
	head.Set = nil
	return store.RepoInfo{Slug: ref.Slug, Head: head}
}

// Administer runs one change of an organization, see [store.Store].
func (s *Store) Administer(ctx context.Context, org store.OrgID, about store.About, decide store.DecideOrg) (record audit.Record, err error) {
	err = s.write(ctx, func(next *state) error {
		state, err := next.orgState(org, about)
		if err != nil {
			return err
		}
		change, err := decide(state)
		if err != nil || change == nil {
			return err
		}
		record, err = next.administer(org, change)
		return err
	})
	return record, err
}

func (s *state) orgState(org store.OrgID, about store.About) (shown store.OrgState, err error) {
	if shown.Access, err = s.access(org); err != nil {
		return shown, err
	}
	shown.Members, shown.Invited = s.membersOf(org), s.invited(org, "")
	for _, uid := range about.Tokens {
		for _, t := range s.tokens.all() {
			if t.Org == org && t.UID == uid {
				t = s.filled(t)
				t.Member, _ = s.members.get(userRef{org, t.UserName})
				shown.Tokens = append(shown.Tokens, t)
			}
		}
	}
	for _, slug := range about.Repos {
		ref := store.RepoRef{Org: org, Slug: slug}
		if r, ok := s.repos.get(ref); ok {
			shown.Repos = append(shown.Repos, infoOf(ref, r))
		}
	}
	left := about.Moved
	for ref, r := range s.repos.all() {
		if at, _ := s.checkpoints.get(r.head.ID); left > 0 && ref.Org == org && r.head.Version > at {
			shown.Repos = append(shown.Repos, infoOf(ref, r))
			left--
		}
	}
	rights, _ := s.rights.get(org)
	shown.Audit = rights.head
	return shown, nil
}

func (s *state) administer(org store.OrgID, change *store.OrgChange) (audit.Record, error) {
	if err := s.writeOrganization(org, change.Organization); err != nil {
		return audit.Record{}, err
	}
	if err := s.writePolicy(org, change.Policy); err != nil {
		return audit.Record{}, err
	}
	for _, m := range change.Members {
		if known, ok := s.members.get(userRef{org, m.Name}); ok && m.User == 0 {
			m.User = known.User
		}
		m.Org = org
		s.addMember(&m)
	}
	for _, t := range change.NewTokens {
		m, _ := s.members.get(userRef{org, t.UserName})
		t.Org = org
		s.addToken(t, m.User)
	}
	for hash, t := range s.tokens.all() {
		if t.Org == org && slices.Contains(change.Revoke, t.UID) && t.Revoked.IsZero() {
			t.Revoked = kept(change.Audit.At)
			s.tokens = s.tokens.with(hash, t)
		}
	}
	s.invite(org, change)
	r, _ := s.rights.get(org)
	if change.Grants != nil {
		r.grants = slices.Clone(*change.Grants)
	}
	var err error
	if r.aliases, err = s.rename(org, r.aliases, change); err != nil {
		return audit.Record{}, err
	}
	for _, at := range change.Checkpoint {
		s.checkpoints = s.checkpoints.with(at.Head.ID, at.Head.Version)
	}
	r.anchors = s.prune(org, r.anchors, change.Pruned)
	record := s.record(org, &r, change.Audit)
	s.rights = s.rights.with(org, r)
	return record, nil
}

// record chains a record behind the head and makes it the head.
func (s *state) record(org store.OrgID, r *rights, record audit.Record) audit.Record {
	record.Seq = r.head.Seq + 1
	record = record.Chain(r.head.Hash)
	r.head = store.AuditPlace{Seq: record.Seq, Hash: record.Hash}
	s.orgTrail = s.orgTrail.with(orgPlace{org, record.Seq}, record)
	return record
}

func (s *state) writeOrganization(id store.OrgID, as *store.Organization) error {
	if as == nil {
		return nil
	}
	org, err := s.organizationByID(id)
	if err != nil {
		return err
	}
	if org.Name != as.Name {
		if _, taken := s.organizations.get(as.Name); taken {
			return fmt.Errorf("organization %q: %w", as.Name, store.ErrExists)
		}
		left := newTree[string, store.Organization](strings.Compare)
		for name, other := range s.organizations.all() {
			if name != org.Name {
				left = left.with(name, other)
			}
		}
		s.organizations = left
	}
	org.Name, org.OrgLimits = as.Name, as.OrgLimits
	s.organizations = s.organizations.with(org.Name, org)
	return nil
}

func (s *state) rename(org store.OrgID, aliases map[api.RepoSlug]store.RepoID, change *store.OrgChange) (map[api.RepoSlug]store.RepoID, error) {
	if change.Rename == nil && len(change.Forget) == 0 {
		return aliases, nil
	}
	aliases = maps.Clone(aliases)
	if aliases == nil {
		aliases = map[api.RepoSlug]store.RepoID{}
	}
	for _, slug := range change.Forget {
		delete(aliases, slug)
	}
	if change.Rename == nil {
		return aliases, nil
	}
	from, to := store.RepoRef{Org: org, Slug: change.Rename.From}, store.RepoRef{Org: org, Slug: change.Rename.To}
	r, ok := s.repos.get(from)
	if !ok {
		return nil, fmt.Errorf("repo %s: %w", from.Slug, store.ErrNotFound)
	}
	left := New().now.repos
	for ref, other := range s.repos.all() {
		if ref.Org != from.Org || ref.Slug != from.Slug { // whoever pushed first stands in ref too
			left = left.with(ref, other)
		}
	}
	s.repos = left.with(to, r)
	aliases[from.Slug] = r.head.ID
	return aliases, nil
}

func (s *state) prune(org store.OrgID, anchors map[store.RepoID]store.AuditPlace, pruned []store.AuditAnchor) map[store.RepoID]store.AuditPlace {
	if len(pruned) == 0 {
		return anchors
	}
	anchors = maps.Clone(anchors)
	if anchors == nil {
		anchors = map[store.RepoID]store.AuditPlace{}
	}
	for _, a := range pruned {
		anchors[a.Repo] = a.AuditPlace
		if a.Repo == 0 {
			left := New().now.orgTrail
			for place, record := range s.orgTrail.all() {
				if place.org != org || place.seq > a.Seq {
					left = left.with(place, record)
				}
			}
			s.orgTrail = left
			continue
		}
		for ref, r := range s.repos.all() {
			if r.head.ID != a.Repo {
				continue
			}
			left := newRepo().trail
			for seq, record := range r.trail.from(a.Seq + 1) {
				left = left.with(seq, record)
			}
			r.trail = left
			s.repos = s.repos.with(ref, r)
		}
	}
	return anchors
}

// OrgAudit reads an organization's chain, oldest first.
func (s *Store) OrgAudit(ctx context.Context, org store.OrgID, after int64, limit int) ([]audit.Record, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var found []audit.Record
	for place, record := range now.orgTrail.from(orgPlace{org, after + 1}) {
		if place.org != org || len(found) == limit {
			break
		}
		found = append(found, record)
	}
	return found, nil
}

// FindAudit reads the records of one chain that a query asks for, newest first.
func (s *Store) FindAudit(ctx context.Context, org store.OrgID, q store.AuditQuery) ([]audit.Record, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var chain []audit.Record
	if q.Repo == 0 {
		for place, record := range now.orgTrail.from(orgPlace{org, 0}) {
			if place.org == org {
				chain = append(chain, record)
			}
		}
	}
	for ref, r := range now.repos.all() {
		if q.Repo != 0 && ref.Org == org && r.head.ID == q.Repo {
			for _, record := range r.trail.all() {
				chain = append(chain, record)
			}
		}
	}
	var found []audit.Record
	for _, record := range slices.Backward(chain) {
		if len(found) < q.Limit && asked(q, record) {
			found = append(found, record)
		}
	}
	return found, nil
}

func asked(q store.AuditQuery, r audit.Record) bool {
	action := q.Action == "" || q.Action == r.Action || strings.HasSuffix(q.Action, ".") && strings.HasPrefix(r.Action, q.Action)
	return action && (q.User == "" || q.User == r.User) && (q.Before == 0 || r.Seq < q.Before) &&
		!r.At.Before(q.From) && (q.To.IsZero() || !r.At.After(q.To))
}

// AuditEnds gives the chain's head and the anchors of all chains.
func (s *Store) AuditEnds(ctx context.Context, org store.OrgID) (store.AuditPlace, []store.AuditAnchor, error) {
	now, err := s.read(ctx)
	if err != nil {
		return store.AuditPlace{}, nil, err
	}
	r, _ := now.rights.get(org)
	var anchors []store.AuditAnchor
	for _, repo := range slices.Sorted(maps.Keys(r.anchors)) {
		anchors = append(anchors, store.AuditAnchor{Repo: repo, AuditPlace: r.anchors[repo]})
	}
	return r.head, anchors, nil
}
