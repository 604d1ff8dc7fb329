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
		member, known := next.members.get(userRef{token.Org, token.UserName})
		if !known {
			member = store.Member{Org: token.Org, Name: token.UserName, Created: token.Created}
		}
		member.Role = member.Role.Greater(token.Role)
		next.addMember(&member)
		token = next.addToken(token, member.User)
		return nil
	})
	if err != nil {
		return store.Token{}, err
	}
	return token, nil
}

// addMember adds a member, with a user where it names none, or changes one.
func (s *state) addMember(m *store.Member) {
	if m.User == 0 {
		m.User = store.UserID(s.nextID())
	}
	m.Created, m.Removed = kept(m.Created), kept(m.Removed)
	s.members = s.members.with(userRef{m.Org, m.Name}, *m)
	s.names = s.names.with(nameRef{m.Org, m.User}, m.Name)
}

func (s *state) addToken(token store.Token, user store.UserID) store.Token {
	token.ID, token.User = store.TokenID(s.nextID()), user
	token.Created, token.Expires = kept(token.Created), kept(token.Expires)
	token.Revoked, token.LastUsed = kept(token.Revoked), kept(token.LastUsed)
	s.tokens = s.tokens.with(string(token.Hash[:]), token)
	return s.filled(token)
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
	token = now.filled(token)
	token.Member, _ = now.members.get(userRef{token.Org, token.UserName})
	return token, nil
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
