package signon

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/store"
)

const (
	// secretBytes of randomness are in a session's secret and in a link's.
	secretBytes = 32
	// touchEvery is how exact a session's last use is kept.
	touchEvery = time.Minute
	// maxFound bounds the memory of what was found lately.
	maxFound = 4096
)

// ErrNoSession says that a browser is not signed in, or not any more.
var ErrNoSession = errors.New("not signed in")

// Enter signs a browser in as whom a provider vouches for. The session that the
// browser had before ends: a secret that somebody planted is worth nothing. renewal
// is what [provider.Provider.Renew] takes, empty for nothing.
func (d *Desk) Enter(ctx context.Context, claims provider.Claims, renewal, old string, from From) (secret string, err error) {
	from.How = "provider"
	user, err := d.admit(ctx, claims, from)
	if err != nil {
		return "", err
	}
	return d.begin(ctx, user, vouched{claims.Issuer, claims.Subject, renewal}, old, from)
}

func (d *Desk) begin(ctx context.Context, user store.UserID, by vouched, old string, from From) (string, error) {
	in, err := d.store.Memberships(ctx, user)
	if err != nil {
		return "", fmt.Errorf("find the memberships: %w", err)
	}
	if !slices.ContainsFunc(in, func(m store.Membership) bool { return m.Removed.IsZero() }) {
		d.refused(in, from, api.ErrorCodeOrganization)
		return "", errTakenOut
	}
	if old != "" {
		if err := d.end(ctx, old); err != nil {
			return "", err
		}
	}
	secret, err := d.issue(ctx, store.BrowserSession, user, by, d.cfg.Life)
	if err != nil {
		return "", err
	}
	return secret, d.SignedIn(ctx, user, from)
}

var errTakenOut = &api.Error{
	Code: api.Permission, Message: "you are not a member of an organization here any more: an admin can take you back",
	Details: api.Details{ErrorCode: api.ErrorCodeOrganization},
}

func (d *Desk) issue(ctx context.Context, kind store.SessionKind, user store.UserID, by vouched, life time.Duration) (string, error) {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // it never returns an error; see crypto/rand
	secret := base64.RawURLEncoding.EncodeToString(b)
	now := d.now()
	err := d.store.AddSession(ctx, store.Session{
		Hash: hashOf(secret), Kind: kind, User: user, Created: now, Seen: now, Until: now.Add(life),
		Issuer: by.issuer, Renewal: by.seal(secret), Asks: store.Asks{Asked: now},
	})
	if err != nil {
		return "", fmt.Errorf("begin a session: %w", err)
	}
	return secret, nil
}

// Link makes a link's secret that signs a user in once.
func (d *Desk) Link(ctx context.Context, user store.UserID) (string, error) {
	return d.issue(ctx, store.LinkSession, user, vouched{}, d.cfg.Links)
}

// Linked says whom a link signs in, and does not use it up: whoever looks ahead at
// an address, as mail and chat programs do, is no person. The error is as Follow's.
func (d *Desk) Linked(ctx context.Context, link string, from From) (store.UserID, error) {
	from.How = "link"
	s, err := d.store.Session(ctx, hashOf(link))
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && s.Kind != store.LinkSession:
		return 0, errLinkOver
	case err != nil:
		return 0, fmt.Errorf("read a link: %w", err)
	case !s.Ended.IsZero() || !d.now().Before(s.Until):
		in, err := d.store.Memberships(ctx, s.User)
		if err != nil {
			return 0, fmt.Errorf("find the memberships: %w", err)
		}
		d.refused(in, from, api.ErrorCodeTokenInvalid)
		return 0, errLinkOver
	}
	return s.User, nil
}

var errLinkOver = &api.Error{
	Code: api.Authentication, Message: "this link was used before, or is too old: server login-link makes a new one",
	Details: api.Details{ErrorCode: api.ErrorCodeTokenInvalid},
}

// Follow signs a browser in by a link. A link that was followed, or is too old, is
// an [api.Authentication].
func (d *Desk) Follow(ctx context.Context, link, old string, from From) (secret string, err error) {
	user, err := d.Linked(ctx, link, from)
	if err != nil {
		return "", err
	}
	// Of two who follow it at once one succeeds.
	_, err = d.store.EndSession(ctx, hashOf(link), d.now())
	if errors.Is(err, store.ErrNotFound) {
		return "", errLinkOver
	}
	if err != nil {
		return "", fmt.Errorf("follow a link: %w", err)
	}
	from.How = "link"
	return d.begin(ctx, user, vouched{}, old, from)
}

// Session finds whose browser shows a secret, on a word of their provider that is as
// fresh as it has to be. Otherwise the error is [ErrNoSession], or the store's.
func (d *Desk) Session(ctx context.Context, secret string, word Word) (store.UserID, error) {
	hash, now := hashOf(secret), d.now()
	s, err := d.session(ctx, hash)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return 0, ErrNoSession
	case err != nil:
		return 0, fmt.Errorf("find the session: %w", err)
	case s.Kind != store.BrowserSession, !s.Ended.IsZero(), !now.Before(s.Until), now.Sub(s.Seen) >= d.cfg.Idle:
		return 0, ErrNoSession
	}
	if err := d.renew(ctx, secret, s, word); err != nil {
		return 0, err
	}
	if now.Sub(s.Seen) >= touchEvery {
		if err := d.store.TouchSession(ctx, hash, now); err != nil {
			return 0, fmt.Errorf("note the use of a session: %w", err)
		}
		d.drop(hash)
	}
	return s.User, nil
}

// session reads a session, or knows it from less than [FoundFor] ago. That a token
// was not signed out is known as well: a zero session.
func (d *Desk) session(ctx context.Context, hash [32]byte) (store.Session, error) {
	now := d.now()
	d.mu.Lock()
	f, ok := d.found[hash]
	d.mu.Unlock()
	if !ok || !now.Before(f.until) {
		s, err := d.store.Session(ctx, hash)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return s, err
		}
		f = found{session: s, until: now.Add(FoundFor)}
		d.mu.Lock()
		if len(d.found) >= maxFound {
			clear(d.found) // each costs one read to be found again
		}
		d.found[hash] = f
		d.mu.Unlock()
	}
	if f.session.Kind == "" {
		return f.session, store.ErrNotFound
	}
	return f.session, nil
}

// hashOf is under what a secret is stored.
func hashOf(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }

func (d *Desk) drop(hash [32]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.found, hash)
}

func (d *Desk) end(ctx context.Context, secret string) error {
	hash := hashOf(secret)
	_, err := d.store.EndSession(ctx, hash, d.now())
	d.drop(hash)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// Leave signs a browser out, and with everywhere all others of the same person.
func (d *Desk) Leave(ctx context.Context, secret string, everywhere bool, from From) error {
	user, err := d.Session(ctx, secret, AnyAge)
	if errors.Is(err, ErrNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := d.end(ctx, secret); err != nil {
		return err
	}
	if everywhere {
		if _, err := d.store.EndSessions(ctx, user, store.BrowserSession, d.now()); err != nil {
			return fmt.Errorf("end all sessions: %w", err)
		}
		d.mu.Lock()
		clear(d.found)
		d.mu.Unlock()
	}
	from.How = "session"
	return d.note(ctx, user, from, audit.ActionSignOut)
}
