package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Policy reads the newest version.
func (s *Store) Policy(ctx context.Context, org store.OrgID) (store.Policy, error) {
	now, err := s.read(ctx)
	if err != nil {
		return store.Policy{}, err
	}
	o, err := now.organizationByID(org)
	if err != nil {
		return store.Policy{}, err
	}
	var newest store.Policy
	for ref, policy := range now.policies.from(policyRef{org: org}) {
		if ref.org != org {
			break
		}
		newest = policy
	}
	newest.FingerprintKey = o.FingerprintKey
	newest.Redacted = len(now.withdrawn(org, nil)) > 0
	return newest, nil
}

// writePolicy adds a version.
func (s *state) writePolicy(org store.OrgID, policy *store.Policy) error {
	if policy == nil {
		return nil
	}
	ref := policyRef{org, policy.Version}
	if _, taken := s.policies.get(ref); taken {
		return fmt.Errorf("policy %d: %w", policy.Version, store.ErrExists)
	}
	as := *policy
	as.At, as.Document = kept(policy.At), slices.Clone(policy.Document)
	s.policies = s.policies.with(ref, as)
	return nil
}

// Findings lists what was found in the live entries.
func (s *Store) Findings(ctx context.Context, ref store.RepoRef, after api.Key, limit int) ([]store.Finding, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	r, ok := now.repos.get(ref)
	if !ok {
		return nil, nil
	}
	var rows []store.Row
	for _, row := range r.rows.all() {
		if !row.Deleted && row.Key > after {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b store.Row) int { return cmp.Compare(a.Key, b.Key) })
	var all []store.Finding
	for _, row := range rows {
		found, _ := r.found.get(foundRef{row.Key, row.Version})
		if len(found) == 0 {
			continue
		}
		if limit == 0 {
			break
		}
		limit--
		all = append(all, found...)
	}
	return all, nil
}

// foundIn adds the findings of one version.
func foundIn(all tree[foundRef, []store.Finding], version api.Version, findings []store.Finding) tree[foundRef, []store.Finding] {
	byKey := map[api.Key][]store.Finding{}
	for _, f := range findings {
		f.Version = version
		byKey[f.Key] = append(byKey[f.Key], f)
	}
	for key, found := range byKey {
		all = all.with(foundRef{key, version}, found)
	}
	return all
}
