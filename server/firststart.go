package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/store"
)

// What a database holds after its first start.
const (
	FirstOrganization = "local"
	FirstUser         = "admin"
	adminTokenFile    = "admin.token"
)

// FirstStart is what the first start of a database made.
type FirstStart struct {
	Secret string // the admin's token
	File   string // where it lies, readable by its owner only
}

// firstStart gives an empty database an organization and an admin's token, once.
// It is taken up again where it was interrupted: an organization "local" without
// any token counts as empty. It returns nil when there was nothing to do.
func firstStart(ctx context.Context, s store.Store, data string, now time.Time) (*FirstStart, error) {
	org, empty, err := findEmpty(ctx, s, now)
	if err != nil || !empty {
		return nil, err
	}
	secret, token := auth.NewToken(org.ID, FirstUser, api.Admin, now, time.Time{})
	file := filepath.Join(data, adminTokenFile)
	// The file comes first: a token that nobody knows would be lost for good.
	if err := writeSecret(file, secret); err != nil {
		return nil, fmt.Errorf("keep the admin's token: %w", err)
	}
	err = organization.New(s, func() time.Time { return now }, nil).FirstToken(ctx, token)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create the admin's token: %w", err), os.Remove(file))
	}
	return &FirstStart{Secret: secret, File: file}, nil
}

// findEmpty gives the organization that still needs its first token.
func findEmpty(ctx context.Context, s store.Store, now time.Time) (org store.Organization, empty bool, err error) {
	all, err := s.Organizations(ctx)
	switch {
	case err != nil:
		return org, false, fmt.Errorf("list the organizations: %w", err)
	case len(all) > 1, len(all) == 1 && all[0].Name != FirstOrganization:
		return org, false, nil
	case len(all) == 1:
		tokens, err := s.Tokens(ctx, all[0].ID)
		if err != nil {
			return org, false, fmt.Errorf("list the tokens: %w", err)
		}
		return all[0], len(tokens) == 0, nil
	}
	org, err = organization.Create(ctx, s, auth.NewOrganization(FirstOrganization, now))
	if errors.Is(err, store.ErrExists) {
		// Another server of this database started in the same moment.
		return org, false, nil
	}
	if err != nil {
		return org, false, fmt.Errorf("create the organization %s: %w", FirstOrganization, err)
	}
	return org, true, nil
}

// writeSecret puts a secret in a file of its owner, whole or not at all.
func writeSecret(file, secret string) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".token-*") // made with mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(secret + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
