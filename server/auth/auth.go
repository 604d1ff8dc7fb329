// Package auth says who is calling, and what they may do. It knows bearer tokens
// of ours: random, shown once, kept in the store as a SHA-256 and a short prefix
// for people, of one user in one organization, with an expiry, and void at once
// when they are revoked.
//
// What a [Caller] may do follows from three things. The user has a role in the
// organization: the highest of what was given by hand and what the provider's
// groups give. Grants say otherwise for repos of a pattern: of those that fit, one
// for the member counts before one for a group and that before one for everyone,
// then the longer pattern, then the higher role. And the token takes away: its
// role is a cap, its scope and its repos are a narrowing. Which role holds which
// right is the table in api ([api.Role.May]); rest asks it in one place.
//
// What is promised: a refusal says the same, whatever is wrong with a token
// (unknown, expired, revoked, of a member who left), and costs the same one read
// of the store; a token that was revoked, a role or a grant that was changed, holds
// at the next request on this server ([Auth.Forget]) and within [FoundFor] where
// another process made the change; whoever fails too often at the [Door] waits; the
// secret is never logged and never stored. When a token was last used is noted once
// a minute at most, beside the requests.
//
// It keeps no table of its own: tokens, members and grants are in the store. rest
// asks it once a request; package organization makes the changes.
package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// FoundFor is how long a found token and an organization's grants are believed
// without asking the store again. It bounds how long a token revoked by another
// process still holds.
const FoundFor = 500 * time.Millisecond

// Tokens is what auth needs of the store.
type Tokens interface {
	TokenByHash(ctx context.Context, hash [32]byte) (store.Token, error)
	TouchToken(ctx context.Context, id store.TokenID, at time.Time) error
	Access(ctx context.Context, org store.OrgID) (store.Access, error)
	Memberships(ctx context.Context, user store.UserID) ([]store.Membership, error)
}

// Config is what an Auth is told.
type Config struct {
	// Failures is how many failed sign-ins a minute an address, and an account, may
	// have; 0 is [DefaultFailures], below 0 any number.
	Failures int
	// Foreign knows tokens that others made; nil where there are none.
	Foreign Foreign
	// Refused hears of every refusal; nil for nobody. It must not wait.
	Refused func(Refusal)
}

// Foreign finds whom a token speaks for that is none of ours. The error is an
// *[api.Error] for a refusal, and for an issuer that cannot be asked, which is no
// refusal; or that of the store. With a refusal the user may be known all the same.
type Foreign interface {
	Bearer(ctx context.Context, token string) (store.UserID, error)
}

// Refusal is what is known of a request that was refused.
type Refusal struct {
	Org      store.OrgID // zero where none is known: nothing of one may be told by it
	User     string
	TokenUID string
	How      How
	Why      string // an error code, see [api.Details]
	What     string // the operation; empty at the door
	Repo     api.RepoSlug
	From     string // address
}

// Credentials are what a request brings to be known by.
type Credentials struct {
	Authorization string
	Organization  string // of the header [api.HeaderOrganization]
	From          []netip.Addr
}

// Auth authenticates requests. Its methods are safe for concurrent use.
type Auth struct {
	tokens Tokens
	now    func() time.Time
	cfg    Config
	found  *foundTokens
	rules  *foundRules
	others *foundOthers
	door   *Door
	usage  *usage
}

// New makes an Auth and starts the goroutine that notes when tokens are used.
// Close ends it.
func New(log *slog.Logger, tokens Tokens, now func() time.Time, cfg Config) *Auth {
	return &Auth{
		tokens: tokens,
		now:    now,
		cfg:    cfg,
		found:  newFoundTokens(),
		rules:  newFoundRules(),
		others: newFoundOthers(),
		door:   NewDoor(cfg.Failures, now),
		usage:  startUsage(log, tokens),
	}
}

// Close waits until the uses noted so far are stored. No request may be
// authenticated afterwards.
func (a *Auth) Close() { a.usage.close() }

// Door is where failed sign-ins are counted, of tokens and of anything else.
func (a *Auth) Door() *Door { return a.door }

// ShareFailures has tell called with whose failed sign-in was counted. It is called before
// the first one.
func (a *Auth) ShareFailures(tell func(account string)) { a.door.tell = tell }

// FailedElsewhere notes how many failures of an account all servers on the database
// counted.
func (a *Auth) FailedElsewhere(account string, count int, since time.Time) {
	a.door.Elsewhere(account, count, since)
}

// Forget makes the next request of everybody ask the store. Whoever changes a
// right, a token or a member on this server calls it after the change.
func (a *Auth) Forget() {
	a.found.forget()
	a.rules.forget()
	a.others.forget()
}

// Refused passes on that a request was refused.
func (a *Auth) Refused(r Refusal) {
	if a.cfg.Refused != nil && r.Org != 0 {
		a.cfg.Refused(r)
	}
}

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
	errForeign = &api.Error{
		Code:    api.Permission,
		Message: "the token does not belong to the organization that is named: leave --org out, or use a token of that organization",
		Details: api.Details{ErrorCode: api.ErrorCodeOrganization},
	}
)

// Authenticate finds whom a request's credentials speak for. The error is an
// *[api.Error] with the code [api.Authentication], [api.RateLimit] at the door or
// [api.Permission] for another organization, or that of the store when it could
// not be asked: a database that is away does not make a token invalid.
func (a *Auth) Authenticate(ctx context.Context, given Credentials) (Caller, error) {
	secret, ok := bearer(given.Authorization)
	if !ok {
		return Caller{}, errMissing
	}
	now := a.now()
	hash := sha256.Sum256([]byte(secret))
	if a.cfg.Foreign != nil && isForeign(secret) {
		return a.foreign(ctx, secret, hash, given)
	}
	if token, ok := a.found.get(hash, now); ok {
		return a.callerOfToken(ctx, token, given)
	}
	// Whoever holds a token that was good a while ago is not locked out by the
	// failures of others at the same address.
	credential := credentialAccount(hash)
	if !a.found.knows(hash) {
		if err := a.door.Check(given.From, credential); err != nil {
			return Caller{}, err
		}
	}
	known := a.found.generation()
	token, err := a.tokens.TokenByHash(ctx, hash)
	switch {
	case errors.Is(err, store.ErrNotFound):
		a.door.Failed(given.From, credential)
		return Caller{}, errInvalid
	case err != nil:
		return Caller{}, fmt.Errorf("find the token: %w", err)
	case !valid(token, now):
		a.found.drop(hash)
		a.door.Failed(given.From, credential)
		a.Refused(Refusal{
			Org: token.Org, User: token.UserName, TokenUID: token.UID, How: ByToken, Why: api.ErrorCodeTokenInvalid, From: addressOf(given.From),
		})
		return Caller{}, errInvalid
	}
	caller, err := a.callerOfToken(ctx, &token, given)
	if err != nil {
		return Caller{}, err
	}
	a.found.put(hash, &token, now, known)
	if now.Sub(token.LastUsed) >= noteEvery {
		a.usage.note(token.ID, now)
	}
	return caller, nil
}

// callerOfToken is the caller that a valid token speaks for.
func (a *Auth) callerOfToken(ctx context.Context, token *store.Token, given Credentials) (Caller, error) {
	rules, err := a.rulesOf(ctx, token.Org)
	if err != nil {
		return Caller{}, err
	}
	if name := given.Organization; name != "" && name != token.OrgName && name != token.OrgUID {
		return Caller{}, errForeign
	}
	return callerOf(token.Member, rules, ByToken, token), nil
}

// CallerOf is a person who was known by something else than a token of ours, in
// the organization that they name or in their only one. Whoever is in several and
// names none gets an [api.InvalidRequest] that lists them. A person without any
// organization, or not in the one named, is refused alike.
func (a *Auth) CallerOf(ctx context.Context, user store.UserID, how How, organization string) (Caller, error) {
	all, err := a.tokens.Memberships(ctx, user)
	if err != nil {
		return Caller{}, fmt.Errorf("find the memberships: %w", err)
	}
	m, err := Choose(all, organization)
	if err != nil {
		return Caller{}, err
	}
	rules, err := a.rulesOf(ctx, m.Org)
	if err != nil {
		return Caller{}, err
	}
	return callerOf(m, rules, how, nil), nil
}

// MembershipsOf lists the organizations that somebody is in, by name.
func (a *Auth) MembershipsOf(ctx context.Context, user store.UserID) ([]store.Membership, error) {
	all, err := a.tokens.Memberships(ctx, user)
	if err != nil {
		return nil, fmt.Errorf("find the memberships: %w", err)
	}
	return slices.DeleteFunc(all, func(m store.Membership) bool { return !m.Removed.IsZero() }), nil
}

// Choose finds the membership that a person means.
func Choose(all []store.Membership, organization string) (store.Member, error) {
	all = slices.DeleteFunc(slices.Clone(all), func(m store.Membership) bool { return !m.Removed.IsZero() })
	if organization == "" && len(all) == 1 {
		return all[0].Member, nil
	}
	names := make([]string, len(all))
	for i, m := range all {
		if organization != "" && (organization == m.OrgName || organization == m.OrgUID) {
			return m.Member, nil
		}
		names[i] = m.OrgName
	}
	if organization == "" && len(all) > 1 {
		return store.Member{}, &api.Error{
			Code:    api.InvalidRequest,
			Message: fmt.Sprintf("you are in several organizations, %s: name one with the header %s (client: --org)", strings.Join(names, ", "), api.HeaderOrganization),
			Details: api.Details{ErrorCode: api.ErrorCodeOrganization, Organizations: names},
		}
	}
	return store.Member{}, &api.Error{
		Code:    api.Permission,
		Message: "you are not a member of the organization that is meant: an admin of it can make you one",
		Details: api.Details{ErrorCode: api.ErrorCodeOrganization},
	}
}

// rulesOf are an organization's grants, of this moment or of one less than
// [FoundFor] ago.
func (a *Auth) rulesOf(ctx context.Context, org store.OrgID) (*rules, error) {
	now := a.now()
	if r, ok := a.rules.get(org, now); ok {
		return r, nil
	}
	known := a.rules.generation()
	access, err := a.tokens.Access(ctx, org)
	if err != nil {
		return nil, fmt.Errorf("find the organization's grants: %w", err)
	}
	r := rulesOf(access)
	a.rules.put(org, r, now, known)
	return r, nil
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
	return !expired && token.Revoked.IsZero() && token.Member.Removed.IsZero()
}
