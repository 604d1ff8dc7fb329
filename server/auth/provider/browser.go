package provider

import (
	"context"
	"errors"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Flow is one browser's sign-in under way. It is kept by the browser itself, in a
// cookie that its scripts cannot read.
type Flow struct {
	Issuer   string `json:"i"`
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE
	Return   string `json:"r"` // where to go afterwards, on this server
}

// Begin gives the address to send a browser to. redirect is where it comes back.
func (p *Provider) Begin(ctx context.Context, f Flow, redirect string) (string, error) {
	k, err := p.discover(ctx)
	if err != nil {
		return "", p.unavailable(err)
	}
	return p.oauth(k, redirect).AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), nil
}

// CheckAnswer checks that the provider that a browser came back from is the one that
// was asked: of several one may send on an answer that another gave. iss is what the
// answer says, which providers of old leave out.
func (p *Provider) CheckAnswer(iss string) error {
	k := p.known.Load()
	if iss != "" && iss != p.cfg.Issuer || iss == "" && k != nil && k.names {
		return refusef("issuer", "another provider answered than the one that was asked")
	}
	return nil
}

// NewVerifier is a fresh secret for PKCE.
func NewVerifier() string { return oauth2.GenerateVerifier() }

func (p *Provider) oauth(k *known, redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, Endpoint: k.oidc.Endpoint(), RedirectURL: redirect,
		Scopes: p.scopes(k, "profile", "email", "groups"),
	}
}

// Finish takes the code that a browser came back with and says who it is. The ID
// token has to be for this very sign-in.
func (p *Provider) Finish(ctx context.Context, f Flow, redirect, code string) (Claims, error) {
	k, err := p.discover(ctx)
	if err != nil {
		return Claims{}, p.unavailable(err)
	}
	token, err := p.oauth(k, redirect).Exchange(oidc.ClientContext(ctx, p.client), code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		// Its text may hold what the provider answered; only the code is ours to show.
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) && refused.ErrorCode != "" {
			return Claims{}, refusef("code", "the identity provider does not take the sign-in: %s", clean(refused.ErrorCode))
		}
		return Claims{}, &Unavailable{Issuer: p.cfg.Issuer, Err: errors.New("it did not exchange the code")}
	}
	raw, _ := token.Extra("id_token").(string)
	t, err := parse(raw)
	if err != nil {
		return Claims{}, err
	}
	if t.issuer != p.cfg.Issuer {
		return Claims{}, refusef("issuer", "the ID token's issuer is %q and the server is configured with %q: they are compared exactly", t.issuer, p.cfg.Issuer)
	}
	claims, err := p.verify(ctx, t, ID)
	if err != nil {
		return Claims{}, err
	}
	if claims.Nonce == "" || claims.Nonce != f.Nonce {
		return Claims{}, refusef("nonce", "the ID token was not made for this sign-in")
	}
	if claims.Email == "" || !claims.Grouped {
		if more, err := p.userInfo(ctx, token.AccessToken); err == nil && text(more["sub"]) == claims.Subject {
			p.cfg.describe(&claims, more)
		}
	}
	return claims, nil
}
