package devoidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// registered is a Client as the library wants to see one. A client without a
// secret is a native one: the library takes any other for one that must prove who
// it is, in the device flow too.
type registered struct {
	*Client
	p *Provider
}

var _ op.Client = registered{}

func (c registered) GetID() string                    { return c.ID }
func (c registered) RedirectURIs() []string           { return c.Redirects }
func (c registered) PostLogoutRedirectURIs() []string { return nil }
func (c registered) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}

func (c registered) ApplicationType() op.ApplicationType {
	if c.Secret == "" {
		return op.ApplicationTypeNative
	}
	return op.ApplicationTypeWeb
}

func (c registered) AuthMethod() oidc.AuthMethod {
	if c.Secret == "" {
		return oidc.AuthMethodNone
	}
	return oidc.AuthMethodBasic
}

func (c registered) GrantTypes() []oidc.GrantType {
	grants := []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken}
	if !c.NoDevice {
		grants = append(grants, oidc.GrantTypeDeviceCode)
	}
	return grants
}

func (c registered) AccessTokenType() op.AccessTokenType {
	if c.p.cfg.OpaqueTokens {
		return op.AccessTokenTypeBearer
	}
	return op.AccessTokenTypeJWT
}

func (c registered) LoginURL(id string) string            { return c.p.path("/login") + "?request=" + id }
func (c registered) IDTokenLifetime() time.Duration       { return c.p.cfg.TokenLife }
func (c registered) DevMode() bool                        { return false }
func (c registered) IsScopeAllowed(scope string) bool     { return scope == scopeGroups }
func (c registered) IDTokenUserinfoClaimsAssertion() bool { return true }
func (c registered) ClockSkew() time.Duration             { return 0 }

func (c registered) RestrictAdditionalIdTokenScopes() func([]string) []string { return allScopes }

func (c registered) RestrictAdditionalAccessTokenScopes() func([]string) []string { return allScopes }

func allScopes(scopes []string) []string { return scopes }

// GetClientByClientID implements op.Storage.
func (p *Provider) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.clients[id]
	if !ok {
		return nil, errors.New("there is no such client")
	}
	return registered{c, p}, nil
}

// AuthorizeClientIDSecret implements op.Storage.
func (p *Provider) AuthorizeClientIDSecret(_ context.Context, id, secret string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.clients[id]
	if !ok || c.Secret == "" || subtle.ConstantTimeCompare([]byte(c.Secret), []byte(secret)) != 1 {
		return errors.New("the client's secret is wrong")
	}
	return nil
}

// GetKeyByIDAndClientID implements op.Storage: no client signs its requests.
func (p *Provider) GetKeyByIDAndClientID(context.Context, string, string) (*jose.JSONWebKey, error) {
	return nil, errors.New("no client has a key")
}

// ValidateJWTProfileScopes implements op.Storage.
func (p *Provider) ValidateJWTProfileScopes(context.Context, string, []string) ([]string, error) {
	return nil, errors.New("no client has a key")
}

// Health implements op.Storage.
func (p *Provider) Health(context.Context) error { return nil }

// SetClient registers a client, or changes it.
func (p *Provider) SetClient(c Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clients[c.ID] = &c
}
