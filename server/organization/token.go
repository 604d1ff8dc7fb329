package organization

import (
	"context"
	"fmt"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/store"
)

// DefaultLife is how long a token is good for when nobody says otherwise.
const DefaultLife = 90 * 24 * time.Hour

// mostRepos bounds the patterns of a token.
const mostPatterns = 50

// TokenAsk is a token that is asked for.
type TokenAsk struct {
	User    string
	Role    api.Role // empty: what the user is
	Label   string
	Scope   api.Scope
	Repos   []string  // patterns; none: all repos
	Expires time.Time // zero: never
	// Join makes the user a member of the role where they are none, and Raise one of
	// a higher role where the token needs it. Only an operator asks for that.
	Join, Raise bool
	// Most is a cap on the role, of whoever asks; empty: none.
	Most    api.Role
	Service bool // of a new member
}

// CreateToken makes a token of a member and gives its secret, once.
func (r *Rules) CreateToken(ctx context.Context, by By, ask TokenAsk) (secret string, token store.Token, err error) {
	if ask.Label != "" {
		if err := auth.CheckName("label", ask.Label); err != nil {
			return "", token, refuse(api.InvalidRequest, api.ErrorCodeBadBody, "%v", err)
		}
	}
	repos, err := checkPatterns(ask.Repos)
	if err != nil {
		return "", token, err
	}
	now := r.now()
	secret, token = auth.NewToken(by.Org, ask.User, ask.Role, now, ask.Expires)
	token.Label, token.Scope, token.Repos = ask.Label, ask.Scope, store.NamesOf(repos)
	err = r.change(ctx, by, store.About{}, audit.ActionTokenCreate, func(state store.OrgState) (*store.OrgChange, audit.Deed, error) {
		change := &store.OrgChange{}
		member := state.Member(ask.User)
		if member == nil || !member.Removed.IsZero() {
			if !ask.Join {
				return nil, audit.Deed{}, refuse(api.NotFound, api.ErrorCodeUnknown, "there is no member %q: add the member first", ask.User)
			}
			known := member
			member = &store.Member{Name: ask.User, Created: now, Service: ask.Service, Role: ask.Role}
			if known != nil {
				member.User, member.Created = known.User, known.Created
			}
			change.Members = []store.Member{*member}
		}
		role := ask.Role
		if role == "" {
			role = member.Role
			if role == "" {
				role = api.Member
			}
		}
		if ask.Most != "" {
			role = role.Lesser(ask.Most)
		}
		if ask.Raise && member.Role.Greater(role) != member.Role {
			raised := *member
			raised.Role = role
			change.Members = []store.Member{raised}
		}
		token.Role = role
		token.OrgUID, token.OrgName = state.Organization.UID, state.Organization.Name
		change.NewTokens = []store.Token{token}
		deed := audit.Deed{Of: token.UID, After: tokenSays(token)}
		return change, deed, nil
	})
	if err != nil {
		return "", store.Token{}, err
	}
	return secret, token, nil
}

// FirstToken adds a token that exists already, of an admin whom it makes: the one with
// which an organization begins.
func (r *Rules) FirstToken(ctx context.Context, token store.Token) error {
	by := By{Org: token.Org, User: "server", How: "server"}
	return r.change(ctx, by, store.About{}, audit.ActionTokenCreate, func(store.OrgState) (*store.OrgChange, audit.Deed, error) {
		change := &store.OrgChange{
			Members:   []store.Member{{Name: token.UserName, Role: token.Role, Created: r.now()}},
			NewTokens: []store.Token{token},
		}
		return change, audit.Deed{Of: token.UID, After: tokenSays(token)}, nil
	})
}

func tokenSays(t store.Token) map[string]any {
	says := map[string]any{"user": t.UserName, "role": t.Role}
	if t.Scope != "" {
		says["scope"] = t.Scope
	}
	if t.Repos != "" {
		says["repos"] = t.Repos.List()
	}
	if !t.Expires.IsZero() {
		says["expires"] = api.NewTime(t.Expires).String()
	}
	return says
}

func checkPatterns(list []string) ([]string, error) {
	if len(list) > mostPatterns {
		return nil, refuse(api.InvalidRequest, api.ErrorCodeBadBody, "a token may name %d patterns of repos", mostPatterns)
	}
	var patterns []string
	for _, text := range list {
		pattern, err := auth.ParsePattern(text)
		if err != nil {
			return nil, refuse(api.InvalidRequest, api.ErrorCodeBadBody, "%v", err)
		}
		patterns = append(patterns, pattern)
	}
	return patterns, nil
}

// Tokens lists tokens, newest first: those of one user, or all where user is empty.
func (r *Rules) Tokens(ctx context.Context, org store.OrgID, user string) ([]store.Token, error) {
	all, err := r.store.Tokens(ctx, org)
	if err != nil || user == "" {
		return all, err
	}
	var theirs []store.Token
	for _, t := range all {
		if t.UserName == user {
			theirs = append(theirs, t)
		}
	}
	return theirs, nil
}

// RevokeToken ends a token, at once. With a user it must be theirs: another's is as
// unknown as one that does not exist. Ending one twice is no error and no change.
func (r *Rules) RevokeToken(ctx context.Context, by By, uid, user string) error {
	return r.change(ctx, by, store.About{Tokens: []string{uid}}, audit.ActionTokenRevoke, func(state store.OrgState) (*store.OrgChange, audit.Deed, error) {
		if len(state.Tokens) == 0 || user != "" && state.Tokens[0].UserName != user {
			return nil, audit.Deed{}, fmt.Errorf("%w: %w", errNoToken(uid), store.ErrNotFound)
		}
		t := state.Tokens[0]
		if !t.Revoked.IsZero() {
			return nil, audit.Deed{}, nil
		}
		return &store.OrgChange{Revoke: []string{uid}}, audit.Deed{Of: uid, Before: tokenSays(t)}, nil
	})
}

func errNoToken(uid string) *api.Error {
	return refuse(api.NotFound, api.ErrorCodeUnknown, "there is no token %q", uid)
}
