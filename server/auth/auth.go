// Package auth says who is calling. It knows bearer tokens of ours: random,
// shown once, kept in the store as a SHA-256 and a short prefix for people, of
// one user with one role in one organization, with an expiry, and void at once
// when they are revoked.
//
// What is promised: a refusal says the same, whatever is wrong with a token
// (unknown, expired, revoked), and costs the same one read of the store; a token
// that was revoked, by this process or another, is void within [FoundFor]; the
// secret is never logged and never stored. When a token was last used is noted
// once a minute at most, beside the requests.
//
// It keeps no table of its own: tokens are in the store. rest asks it once a
// request; the server command makes tokens with [NewToken]. What a role may do is
// the table in api; who applies it is rest, in one place.
package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// FoundFor is how long a found token is believed without asking the store again.
// It bounds how long a token revoked by another process still holds.
const FoundFor = 500 * time.Millisecond

// Tokens is what auth needs of the store.
type Tokens interface {
	TokenByHash(ctx context.Context, hash [32]byte) (store.Token, error)
	TouchToken(ctx context.Context, id store.TokenID, at time.Time) error
}

// Identity is who a valid token speaks for.
type Identity struct {
	Org        store.OrgID
	OrgUID     string
	OrgName    string
	MaxEntries int // of a repo of the organization; 0: the server's default
	User       store.UserID
	UserName   string
	Token      store.TokenID
	TokenUID   string
	Role       api.Role
	Expires    time.Time // zero: never
}

// Auth authenticates requests. Its methods are safe for concurrent use.
type Auth struct {
	tokens Tokens
	now    func() time.Time
	found  *foundTokens
	usage  *usage
}

// New makes an Auth and starts the goroutine that notes when tokens are used.
// Close ends it.
func New(log *slog.Logger, tokens Tokens, now func() time.Time) *Auth {
	return &Auth{
		tokens: tokens,
		now:    now,
		found:  newFoundTokens(),
		usage:  startUsage(log, tokens),
	}
}

// Close waits until the uses noted so far are stored. No request may be
// authenticated afterwards.
func (a *Auth) Close() { a.usage.close() }

// The refusals. They are constant: what they reveal must not depend on what is
// wrong with a token.
var (
	errMissing = &api.Error{
		Code:    api.Authentication,
		Message: "this needs a token: send the header Authorization: Bearer tm_…",
		Details: api.Details{ErrorCode: api.ErrorCodeTokenMissing},
	}
	errInvalid = &api.Error{
		Code:    api.Authentication,
		Message: "the token is not valid here: it is unknown, has expired, or was revoked",
		Details: api.Details{ErrorCode: api.ErrorCodeTokenInvalid},
	}
)

// Authenticate reads an Authorization header and finds whom it speaks for. The
// error is an *[api.Error] with the code [api.Authentication], or that of the
// store when it could not be asked: a database that is away does not make a
// token invalid.
func (a *Auth) Authenticate(ctx context.Context, header string) (Identity, error) {
	secret, ok := bearer(header)
	if !ok {
		return Identity{}, errMissing
	}
	now := a.now()
	hash := sha256.Sum256([]byte(secret))
	if who, ok := a.found.get(hash, now); ok {
		return who, nil
	}
	token, err := a.tokens.TokenByHash(ctx, hash)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Identity{}, errInvalid
	case err != nil:
		return Identity{}, fmt.Errorf("find the token: %w", err)
	case !valid(token, now):
		return Identity{}, errInvalid
	}
	who := identityOf(token)
	a.found.put(hash, who, now)
	if now.Sub(token.LastUsed) >= noteEvery {
		a.usage.note(token.ID, now)
	}
	return who, nil
}

// bearer gives the secret of an Authorization header. A header of another scheme
// counts as none.
func bearer(header string) (secret string, ok bool) {
	scheme, secret, found := strings.Cut(strings.TrimSpace(header), " ")
	secret = strings.TrimSpace(secret)
	return secret, found && strings.EqualFold(scheme, "Bearer") && secret != ""
}

func valid(token store.Token, now time.Time) bool {
	expired := !token.Expires.IsZero() && !now.Before(token.Expires)
	return !expired && token.Revoked.IsZero()
}

func identityOf(t store.Token) Identity {
	return Identity{
		Org:        t.Org,
		OrgUID:     t.OrgUID,
		OrgName:    t.OrgName,
		MaxEntries: t.OrgMaxEntries,
		User:       t.User,
		UserName:   t.UserName,
		Token:      t.ID,
		TokenUID:   t.UID,
		Role:       t.Role,
		Expires:    t.Expires,
	}
}
