package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammem/server/store"
)

// CreateToken adds a token, and its user where there is none of that name.
func (s *Store) CreateToken(ctx context.Context, token store.Token) (store.Token, error) {
	err := s.write(ctx, func(next *state) error {
		if _, err := next.organizationByID(token.Org); err != nil {
			return err
		}
		for hash, other := range next.tokens.all() {
			if hash == string(token.Hash[:]) || other.UID == token.UID {
				return fmt.Errorf("token: %w", store.ErrExists)
			}
		}
		token.ID = store.TokenID(next.nextID())
		token.User = next.userNamed(token.Org, token.UserName)
		token.Created, token.Expires = kept(token.Created), kept(token.Expires)
		token.Revoked, token.LastUsed = kept(token.Revoked), kept(token.LastUsed)
		next.tokens = next.tokens.with(string(token.Hash[:]), token)
		token = next.filled(token)
		return nil
	})
	if err != nil {
		return store.Token{}, err
	}
	return token, nil
}

// userNamed finds a user of an organization or makes one.
func (s *state) userNamed(org store.OrgID, name string) store.UserID {
	ref := userRef{org: org, name: name}
	if id, ok := s.users.get(ref); ok {
		return id
	}
	id := store.UserID(s.nextID())
	s.users = s.users.with(ref, id)
	s.names = s.names.with(id, name)
	return id
}

// filled adds what reads say of a token's organization.
func (s *state) filled(token store.Token) store.Token {
	if org, err := s.organizationByID(token.Org); err == nil {
		token.OrgUID, token.OrgName, token.OrgMaxEntries = org.UID, org.Name, org.MaxEntries
	}
	return token
}

// Tokens lists an organization's tokens, newest first.
func (s *Store) Tokens(ctx context.Context, org store.OrgID) ([]store.Token, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var all []store.Token
	for _, token := range now.tokens.all() {
		if token.Org == org {
			all = append(all, now.filled(token))
		}
	}
	slices.SortFunc(all, func(a, b store.Token) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	return all, nil
}

// TokenByHash finds a token.
func (s *Store) TokenByHash(ctx context.Context, hash [32]byte) (store.Token, error) {
	now, err := s.read(ctx)
	if err != nil {
		return store.Token{}, err
	}
	token, ok := now.tokens.get(string(hash[:]))
	if !ok {
		return store.Token{}, fmt.Errorf("token: %w", store.ErrNotFound)
	}
	return now.filled(token), nil
}

// RevokeToken ends a token; the first time stands.
func (s *Store) RevokeToken(ctx context.Context, org store.OrgID, uid string, at time.Time) error {
	return s.changeToken(ctx, func(t store.Token) bool { return t.Org == org && t.UID == uid }, func(t *store.Token) {
		if t.Revoked.IsZero() {
			t.Revoked = kept(at)
		}
	})
}

// TouchToken notes when a token was last used; the latest time stands.
func (s *Store) TouchToken(ctx context.Context, id store.TokenID, at time.Time) error {
	return s.changeToken(ctx, func(t store.Token) bool { return t.ID == id }, func(t *store.Token) {
		if at = kept(at); t.LastUsed.Before(at) {
			t.LastUsed = at
		}
	})
}

func (s *Store) changeToken(ctx context.Context, wanted func(store.Token) bool, change func(*store.Token)) error {
	return s.write(ctx, func(next *state) error {
		for hash, token := range next.tokens.all() {
			if wanted(token) {
				change(&token)
				next.tokens = next.tokens.with(hash, token)
				return nil
			}
		}
		return fmt.Errorf("token: %w", store.ErrNotFound)
	})
}
