package memory

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/teammem/teammem/server/store"
)

// signOn is what people are known by besides tokens of ours.
type signOn struct {
	identities  tree[identityRef, identity]
	sessions    tree[string, store.Session] // by hash; one that was dropped is zero
	invitations tree[invitationRef, store.Invitation]
}

type identity struct {
	store.Identity
	vouched time.Time
}

type identityRef struct{ issuer, subject string }

type invitationRef struct {
	org   store.OrgID
	email string
}

func newSignOn() signOn {
	return signOn{
		identities: newTree[identityRef, identity](func(a, b identityRef) int {
			return cmp.Or(strings.Compare(a.issuer, b.issuer), strings.Compare(a.subject, b.subject))
		}),
		sessions: newTree[string, store.Session](strings.Compare),
		invitations: newTree[invitationRef, store.Invitation](func(a, b invitationRef) int {
			return cmp.Or(cmp.Compare(a.org, b.org), strings.Compare(a.email, b.email))
		}),
	}
}

// Identity finds the user of a provider's subject. [store.ErrNotFound].
func (s *Store) Identity(ctx context.Context, issuer, subject string) (store.UserID, error) {
	now, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	id, ok := now.signOn.identities.get(identityRef{issuer, subject})
	if !ok {
		return 0, fmt.Errorf("identity: %w", store.ErrNotFound)
	}
	return id.User, nil
}

// BindIdentity says who a provider's subject is, see [store.Store].
func (s *Store) BindIdentity(ctx context.Context, id store.Identity) (user store.UserID, err error) {
	err = s.write(ctx, func(next *state) error {
		ref := identityRef{id.Issuer, id.Subject}
		if known, ok := next.signOn.identities.get(ref); ok {
			user = known.User
			return nil
		}
		if id.User == 0 {
			id.User = store.UserID(next.nextID())
		}
		id.Created, user = kept(id.Created), id.User
		next.signOn.identities = next.signOn.identities.with(ref, identity{Identity: id})
		return nil
	})
	return user, err
}

// Vouch notes when a token of the subject was issued, see [store.Store].
func (s *Store) Vouch(ctx context.Context, issuer, subject string, issued time.Time) (newest bool, err error) {
	err = s.write(ctx, func(next *state) error {
		ref := identityRef{issuer, subject}
		id, ok := next.signOn.identities.get(ref)
		issued = kept(issued)
		if newest = ok && !issued.Before(id.vouched); newest {
			id.vouched = issued
			next.signOn.identities = next.signOn.identities.with(ref, id)
		}
		return nil
	})
	return newest, err
}

// AddSession adds a session, and drops those that ended by themselves a day ago.
func (s *Store) AddSession(ctx context.Context, session store.Session) error {
	return s.write(ctx, func(next *state) error {
		for hash, old := range next.signOn.sessions.all() {
			if old.Kind != "" && old.Until.Before(session.Created.Add(-store.SessionKept)) {
				next.signOn.sessions = next.signOn.sessions.with(hash, store.Session{})
			}
		}
		if known, ok := next.signOn.sessions.get(string(session.Hash[:])); ok && known.Kind != "" {
			return nil
		}
		session.Created, session.Seen = kept(session.Created), kept(session.Seen)
		session.Until, session.Ended, session.Asks = kept(session.Until), kept(session.Ended), keptAsks(session.Asks)
		next.signOn.sessions = next.signOn.sessions.with(string(session.Hash[:]), session)
		return nil
	})
}

// Session finds a session by its secret's hash. [store.ErrNotFound].
func (s *Store) Session(ctx context.Context, hash [32]byte) (store.Session, error) {
	now, err := s.read(ctx)
	if err != nil {
		return store.Session{}, err
	}
	session, ok := now.signOn.sessions.get(string(hash[:]))
	if !ok || session.Kind == "" {
		return store.Session{}, fmt.Errorf("session: %w", store.ErrNotFound)
	}
	return session, nil
}

// TouchSession notes when a session was last used. It never goes back.
func (s *Store) TouchSession(ctx context.Context, hash [32]byte, at time.Time) error {
	return s.write(ctx, func(next *state) error {
		session, ok := next.signOn.sessions.get(string(hash[:]))
		if at = kept(at); ok && session.Seen.Before(at) && session.Kind != "" {
			session.Seen = at
			next.signOn.sessions = next.signOn.sessions.with(string(hash[:]), session)
		}
		return nil
	})
}

// RenewSession notes that a session's provider is asked, or was, see [store.Store].
func (s *Store) RenewSession(ctx context.Context, hash [32]byte, was, is store.Asks, renewal string) (renewed bool, err error) {
	err = s.write(ctx, func(next *state) error {
		session, ok := next.signOn.sessions.get(string(hash[:]))
		if !ok || session.Kind == "" || !session.Ended.IsZero() || session.Asks != keptAsks(was) {
			return nil
		}
		session.Asks, session.Renewal, renewed = keptAsks(is), renewal, true
		next.signOn.sessions = next.signOn.sessions.with(string(hash[:]), session)
		return nil
	})
	return renewed, err
}

func keptAsks(a store.Asks) store.Asks {
	return store.Asks{Asked: kept(a.Asked), Asking: kept(a.Asking)}
}

// EndSession ends a session, once. [store.ErrNotFound].
func (s *Store) EndSession(ctx context.Context, hash [32]byte, at time.Time) (ended store.Session, err error) {
	err = s.write(ctx, func(next *state) error {
		session, ok := next.signOn.sessions.get(string(hash[:]))
		if !ok || session.Kind == "" || !session.Ended.IsZero() {
			return fmt.Errorf("session: %w", store.ErrNotFound)
		}
		session.Ended, session.Renewal, session.Asking = kept(at), "", time.Time{}
		ended = session
		next.signOn.sessions = next.signOn.sessions.with(string(hash[:]), session)
		return nil
	})
	return ended, err
}

// EndSessions ends all sessions of a kind that a user has.
func (s *Store) EndSessions(ctx context.Context, user store.UserID, kind store.SessionKind, at time.Time) (n int, err error) {
	err = s.write(ctx, func(next *state) error {
		n = 0
		for hash, session := range next.signOn.sessions.all() {
			if session.User == user && session.Kind == kind && session.Ended.IsZero() && session.Until.After(at) {
				session.Ended, session.Renewal, session.Asking = kept(at), "", time.Time{}
				next.signOn.sessions = next.signOn.sessions.with(hash, session)
				n++
			}
		}
		return nil
	})
	return n, err
}

// Invitations lists those of an organization, an address, or both.
func (s *Store) Invitations(ctx context.Context, org store.OrgID, email string) ([]store.Invitation, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	return now.invited(org, email), nil
}

func (s *state) invited(org store.OrgID, email string) (all []store.Invitation) {
	for _, i := range s.signOn.invitations.all() {
		if i.Org != 0 && (org == 0 || i.Org == org) && (email == "" || i.Email == email) {
			all = append(all, i)
		}
	}
	return all
}

func (s *state) invite(org store.OrgID, change *store.OrgChange) {
	for _, i := range change.Invite {
		i.Org, i.Created, i.Until = org, kept(i.Created), kept(i.Until)
		s.signOn.invitations = s.signOn.invitations.with(invitationRef{org, i.Email}, i)
	}
	for _, email := range change.Uninvite {
		s.signOn.invitations = s.signOn.invitations.with(invitationRef{org, email}, store.Invitation{})
	}
}
