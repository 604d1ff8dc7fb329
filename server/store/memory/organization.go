package memory

import (
	"context"
	"fmt"

	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// CreateOrganization adds an organization.
func (s *Store) CreateOrganization(ctx context.Context, org store.Organization, records ...audit.Record) (store.Organization, error) {
	err := s.write(ctx, func(next *state) error {
		if _, taken := next.organizations.get(org.Name); taken {
			return fmt.Errorf("organization %q: %w", org.Name, store.ErrExists)
		}
		org.ID, org.Created = store.OrgID(next.nextID()), kept(org.Created)
		next.organizations = next.organizations.with(org.Name, org)
		var r rights
		for _, record := range records {
			next.record(org.ID, &r, record)
		}
		next.rights = next.rights.with(org.ID, r)
		return nil
	})
	if err != nil {
		return store.Organization{}, err
	}
	return org, nil
}

// Organizations lists all, by name.
func (s *Store) Organizations(ctx context.Context) ([]store.Organization, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var all []store.Organization
	for _, org := range now.organizations.all() {
		all = append(all, org)
	}
	return all, nil
}

// Organization finds one by name.
func (s *Store) Organization(ctx context.Context, name string) (store.Organization, error) {
	now, err := s.read(ctx)
	if err != nil {
		return store.Organization{}, err
	}
	org, ok := now.organizations.get(name)
	if !ok {
		return store.Organization{}, fmt.Errorf("organization %q: %w", name, store.ErrNotFound)
	}
	return org, nil
}

func (s *state) organizationByID(id store.OrgID) (store.Organization, error) {
	for _, org := range s.organizations.all() {
		if org.ID == id {
			return org, nil
		}
	}
	return store.Organization{}, fmt.Errorf("organization: %w", store.ErrNotFound)
}
