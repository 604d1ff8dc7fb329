// Package signon decides who comes in, other than by a token of ours: whom a
// provider vouches for, which browser is signed in, and by which link somebody may
// sign in once.
//
// A person is known by the provider's issuer and subject, never by an address.
// Whoever comes for the first time becomes a member by a rule of the operator (a
// verified address of a domain, a group) or by an invitation to a verified address,
// and otherwise not at all: nothing is stored of them. A member who was taken out
// stays out, whatever rules say, until an admin or an invitation takes them back.
// Somebody's name is theirs: a stranger who is called the same becomes "dana-2".
// What the provider says of groups is written down whenever it differs, and holds
// from the next request on.
//
// Browsers are known by a secret in a cookie, of which a hash is stored. A session
// ends when it is signed out, here or on another server of the database, within
// [FoundFor]; when it was not used for a while; and at an age, however it is used.
// Its provider is asked whether the person is still there, and in which groups: before
// whatever changes something or shows rights, and before a page that is only read where
// the last answer is older than [Config.Recheck]. A question is asked once, however many
// requests and servers wait for its answer.
//
// auth asks it about bearer tokens, the dashboard about browsers. It knows no HTTP
// and no SQL.
package signon

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/store"
)

// FoundFor is how long a session, and a token's being signed out, is believed
// without asking the store again.
const FoundFor = 500 * time.Millisecond

// Store is what signon needs of a [store.Store].
type Store interface {
	Identity(ctx context.Context, issuer, subject string) (store.UserID, error)
	BindIdentity(ctx context.Context, id store.Identity) (store.UserID, error)
	Vouch(ctx context.Context, issuer, subject string, issued time.Time) (bool, error)
	AddSession(ctx context.Context, s store.Session) error
	Session(ctx context.Context, hash [32]byte) (store.Session, error)
	TouchSession(ctx context.Context, hash [32]byte, at time.Time) error
	RenewSession(ctx context.Context, hash [32]byte, was, is store.Asks, renewal string) (bool, error)
	EndSession(ctx context.Context, hash [32]byte, at time.Time) (store.Session, error)
	EndSessions(ctx context.Context, user store.UserID, kind store.SessionKind, at time.Time) (int, error)
	Invitations(ctx context.Context, org store.OrgID, email string) ([]store.Invitation, error)
	Organization(ctx context.Context, name string) (store.Organization, error)
	Members(ctx context.Context, org store.OrgID) ([]store.Member, error)
	Memberships(ctx context.Context, user store.UserID) ([]store.Membership, error)
	Administer(ctx context.Context, org store.OrgID, about store.About, decide store.DecideOrg) (audit.Record, error)
}

// Config is what a Desk is told.
type Config struct {
	Join  []Rule
	Idle  time.Duration // an unused browser session ends after it
	Life  time.Duration // any browser session ends after it
	Links time.Duration // a sign-in link holds so long
	// Recheck is how old a provider's word may be where something is only read.
	Recheck time.Duration
	// Refused hears when somebody known is refused; nil for nobody. It must not wait.
	Refused func(auth.Refusal)
}

// DefaultConfig is a working day without use, and a week at most; pages are looked at
// in bursts.
func DefaultConfig() Config {
	return Config{Idle: 12 * time.Hour, Life: 7 * 24 * time.Hour, Links: 15 * time.Minute, Recheck: 2 * time.Second}
}

// From is where a sign-in comes from, for the audit.
type From struct {
	Address string
	Client  string
	How     string // provider, session or link
}

// Desk is where people sign in. Its methods are safe for concurrent use.
type Desk struct {
	log       *slog.Logger
	store     Store
	providers *provider.Set
	now       func() time.Time
	cfg       Config
	forget    func()

	mu       sync.Mutex
	found    map[[32]byte]found
	admitted map[[32]byte]store.UserID // by the hash of a token that was verified
	// questions are those under way; away until when a provider is not asked.
	questions map[[32]byte]*question
	away      map[string]time.Time
	gone      time.Duration // after it another server that asks has gone
}

// found is what was found under a hash not long ago.
type found struct {
	session store.Session
	until   time.Time
}

// New makes a Desk. forget is called when somebody's groups or membership changed.
func New(log *slog.Logger, s Store, providers *provider.Set, now func() time.Time, cfg Config, forget func()) *Desk {
	return &Desk{
		log: log, store: s, providers: providers, now: now, cfg: cfg, forget: forget, found: map[[32]byte]found{}, admitted: map[[32]byte]store.UserID{},
		questions: map[[32]byte]*question{}, away: map[string]time.Time{}, gone: askWithin + askWithin/4,
	}
}

// Providers are those that people sign in with.
func (d *Desk) Providers() *provider.Set { return d.providers }

// Bearer finds whom a provider's token speaks for. It implements auth.Foreign: the
// error is the contract's, or that of the store. Of a token that was signed out it
// says whose it was.
func (d *Desk) Bearer(ctx context.Context, token string) (store.UserID, error) {
	claims, err := d.providers.Bearer(ctx, token)
	if err != nil {
		return 0, wire(err)
	}
	hash := sha256.Sum256([]byte(token))
	ended, err := d.session(ctx, hash)
	switch {
	case err == nil && !ended.Ended.IsZero():
		return ended.User, errSignedOut
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return 0, fmt.Errorf("find out whether a token was signed out: %w", err)
	}
	d.mu.Lock()
	user, ok := d.admitted[hash]
	d.mu.Unlock()
	if ok {
		return user, nil
	}
	if user, err = d.admit(ctx, claims, From{How: "provider"}); err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.admitted) >= maxFound {
		clear(d.admitted) // each costs a few reads to be admitted again
	}
	d.admitted[hash] = user
	return user, nil
}

var errSignedOut = &api.Error{
	Code: api.Authentication, Message: "this sign-in was ended: sign in anew with client login",
	Details: api.Details{ErrorCode: api.ErrorCodeTokenInvalid},
}

// wire is an error of a provider as the contract says it.
func wire(err error) error {
	var refusal *provider.Refusal
	var away *provider.Unavailable
	switch {
	case errors.As(err, &refusal):
		return &api.Error{
			Code: api.Authentication, Message: "the token is not valid here: " + refusal.Text,
			Details: api.Details{ErrorCode: api.ErrorCodeTokenInvalid},
		}
	case errors.As(err, &away):
		return &api.Error{
			Code: api.Overloaded, Message: fmt.Sprintf("the identity provider %s does not answer, so the token cannot be checked; try again in a moment", away.Issuer),
			Details: api.Details{ErrorCode: api.ErrorCodeBusy}, RetryAfter: 2 * time.Second, Err: err,
		}
	}
	return err
}

// Announce says what a client may sign in with.
func (d *Desk) Announce() []api.Provider {
	var all []api.Provider
	for _, p := range d.providers.All() {
		a := p.Announce()
		if a.Scopes == nil {
			a.Scopes = []string{"openid"}
		}
		all = append(all, api.Provider{Issuer: a.Issuer, Name: a.Name, ClientID: a.ClientID, Scopes: a.Scopes, Device: a.Device, Token: string(a.Bearer)})
	}
	return all
}

// BeganBearer records that a program was signed in as a user.
func (d *Desk) BeganBearer(ctx context.Context, user store.UserID, address, client string) error {
	return d.SignedIn(ctx, user, From{Address: address, Client: client, How: "provider"})
}

// EndedBearer signs a provider's token out, and records it.
func (d *Desk) EndedBearer(ctx context.Context, token string, user store.UserID, address, client string) error {
	if err := d.EndBearer(ctx, token, user); err != nil {
		return err
	}
	d.forget()
	return d.note(ctx, user, From{Address: address, Client: client, How: "provider"}, audit.ActionSignOut)
}

// EndBearer signs a provider's token out: it is not taken any more, on any server,
// until it ends by itself.
func (d *Desk) EndBearer(ctx context.Context, token string, user store.UserID) error {
	claims, err := d.providers.Bearer(ctx, token)
	if err != nil {
		return wire(err)
	}
	now := d.now()
	hash := sha256.Sum256([]byte(token))
	err = d.store.AddSession(ctx, store.Session{
		Hash: hash, Kind: store.BearerSession, User: user, Created: now, Seen: now,
		Until: claims.Expires.Add(provider.Leeway), Ended: now,
	})
	d.drop(hash)
	return err
}
