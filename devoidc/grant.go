package devoidc

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// grant is what one sign-in gave a client, over all the tokens that came of it.
type grant struct {
	client, subject string
	scopes, aud     []string
	at              time.Time
	ended           bool
	current         string // the refresh token that still holds
}

func (g *grant) GetAMR() []string          { return []string{"pwd"} }
func (g *grant) GetAudience() []string     { return g.aud }
func (g *grant) GetAuthTime() time.Time    { return g.at }
func (g *grant) GetClientID() string       { return g.client }
func (g *grant) GetScopes() []string       { return g.scopes }
func (g *grant) GetSubject() string        { return g.subject }
func (g *grant) SetCurrentScopes([]string) {}

// CreateAccessToken implements op.Storage.
func (p *Provider) CreateAccessToken(_ context.Context, r op.TokenRequest) (string, time.Time, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, until := p.issue(p.grantOf(r))
	return id, until, nil
}

// CreateAccessAndRefreshTokens implements op.Storage. The refresh token that was
// shown is used up.
func (p *Provider) CreateAccessAndRefreshTokens(_ context.Context, r op.TokenRequest, current string) (id, refresh string, until time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.grantOf(r)
	if g.ended || g.current != current {
		g.ended = true
		return "", "", time.Time{}, errSpent
	}
	g.current = rand.Text()
	p.refresh[g.current] = g
	id, until = p.issue(g)
	return id, g.current, until, nil
}

var errSpent = oidc.ErrInvalidGrant().WithDescription("the refresh token was used before, or was revoked")

func (p *Provider) issue(g *grant) (id string, until time.Time) {
	id = rand.Text()
	p.access[id] = g
	return id, time.Now().Add(p.cfg.TokenLife)
}

// grantOf is the grant that a request goes on with, or a new one.
func (p *Provider) grantOf(r op.TokenRequest) *grant {
	if g, ok := r.(*grant); ok {
		return g
	}
	g := &grant{subject: r.GetSubject(), scopes: r.GetScopes(), aud: slices.Clone(r.GetAudience()), at: time.Now()}
	if named, ok := r.(interface{ GetClientID() string }); ok {
		g.client = named.GetClientID()
	}
	return g
}

// TokenRequestByRefreshToken implements op.Storage. One that comes twice was
// stolen, as far as anyone can tell: all that came of its sign-in ends.
func (p *Provider) TokenRequestByRefreshToken(_ context.Context, token string) (op.RefreshTokenRequest, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, ok := p.refresh[token]
	if !ok || g.ended {
		return nil, errSpent
	}
	if g.current != token {
		g.ended = true
		return nil, errSpent
	}
	return g, nil
}

// GetRefreshTokenInfo implements op.Storage.
func (p *Provider) GetRefreshTokenInfo(_ context.Context, client, token string) (string, string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, ok := p.refresh[token]
	if !ok || g.client != client {
		return "", "", op.ErrInvalidRefreshToken
	}
	return g.subject, token, nil
}

// RevokeToken implements op.Storage: with a token its whole grant ends.
func (p *Provider) RevokeToken(_ context.Context, token, _, client string) *oidc.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, tokens := range []map[string]*grant{p.refresh, p.access} {
		if g, ok := tokens[token]; ok {
			if g.client != client {
				return oidc.ErrInvalidClient().WithDescription("the token is another client's")
			}
			g.ended = true
		}
	}
	return nil
}

// TerminateSession implements op.Storage.
func (p *Provider) TerminateSession(_ context.Context, subject, client string) error {
	p.end(func(g *grant) bool { return g.subject == subject && g.client == client })
	return nil
}

// EndAll ends everything that a subject was given: nothing can be refreshed.
func (p *Provider) EndAll(subject string) {
	p.end(func(g *grant) bool { return g.subject == subject })
}

func (p *Provider) end(which func(*grant) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.refresh {
		if which(g) {
			g.ended = true
		}
	}
}

// Alive reports whether a refresh token still holds.
func (p *Provider) Alive(refresh string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, ok := p.refresh[refresh]
	return ok && !g.ended && g.current == refresh
}

// SetUserinfoFromScopes implements op.Storage; SetUserinfoFromRequest does it.
func (p *Provider) SetUserinfoFromScopes(context.Context, *oidc.UserInfo, string, string, []string) error {
	return nil
}

// scopeGroups asks for the groups somebody is in.
const scopeGroups = "groups"

// SetUserinfoFromRequest fills an ID token.
func (p *Provider) SetUserinfoFromRequest(_ context.Context, info *oidc.UserInfo, r op.IDTokenRequest, scopes []string) error {
	return p.describe(info, r.GetSubject(), scopes)
}

// SetUserinfoFromToken implements op.Storage.
func (p *Provider) SetUserinfoFromToken(_ context.Context, info *oidc.UserInfo, token, subject, _ string) error {
	p.mu.Lock()
	g, ok := p.access[token]
	p.mu.Unlock()
	if !ok || g.ended {
		return errors.New("the token does not hold any more")
	}
	return p.describe(info, subject, g.scopes)
}

func (p *Provider) describe(info *oidc.UserInfo, subject string, scopes []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	u, ok := p.users[subject]
	if !ok {
		return errors.New("there is no such account")
	}
	info.Subject = u.Subject
	for _, scope := range scopes {
		switch scope {
		case oidc.ScopeEmail:
			info.Email, info.EmailVerified = u.Email, oidc.Bool(u.Verified)
		case oidc.ScopeProfile:
			info.PreferredUsername, info.Name = u.Name, u.Name
		case scopeGroups:
			info.AppendClaims("groups", slices.Clone(u.Groups))
		}
	}
	return nil
}

// SetIntrospectionFromToken implements op.Storage.
func (p *Provider) SetIntrospectionFromToken(context.Context, *oidc.IntrospectionResponse, string, string, string) error {
	return errors.New("tokens are not looked into here")
}

// GetPrivateClaimsFromScopes implements op.Storage: what an access token says of a
// person.
func (p *Provider) GetPrivateClaimsFromScopes(_ context.Context, subject, _ string, _ []string) (map[string]any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u, ok := p.users[subject]
	if !ok || p.cfg.SilentAccess {
		return nil, nil
	}
	return map[string]any{"preferred_username": u.Name, "email": u.Email, "email_verified": u.Verified, "groups": slices.Clone(u.Groups)}, nil
}
