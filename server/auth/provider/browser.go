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
		Scopes: p.scopes(k, "profile", "email", "groups", oidc.ScopeOfflineAccess),
	}
}

// Finish takes the code that a browser came back with and says who it is, and what
// [Provider.Renew] takes, if the provider gives any. The ID token has to be for this
// very sign-in.
func (p *Provider) Finish(ctx context.Context, f Flow, redirect, code string) (who Claims, renewal string, err error) {
	k, err := p.discover(ctx)
	if err != nil {
		return Claims{}, "", p.unavailable(err)
	}
	token, err := p.oauth(k, redirect).Exchange(oidc.ClientContext(ctx, p.client), code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		if code := refusedFor(err); code != "" {
			return Claims{}, "", refusef("code", "the identity provider does not take the sign-in: %s", code)
		}
		return Claims{}, "", &Unavailable{Issuer: p.cfg.Issuer, Err: errors.New("it did not exchange the code")}
	}
	if who, err = p.vouched(ctx, token); err != nil {
		return Claims{}, "", err
	}
	if who.Nonce == "" || who.Nonce != f.Nonce {
		return Claims{}, "", refusef("nonce", "the ID token was not made for this sign-in")
	}
	return who, token.RefreshToken, nil
}

// Renew asks the provider anew about somebody who signed in, and says what to take
// next time. A [Refusal] is its word that the sign-in is over; anything else says
// nothing of the person.
func (p *Provider) Renew(ctx context.Context, subject, renewal string) (who Claims, next string, err error) {
	k, err := p.discover(ctx)
	if err != nil {
		return Claims{}, "", p.unavailable(err)
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.oauth(k, "").TokenSource(ctx, &oauth2.Token{RefreshToken: renewal}).Token()
	if err != nil {
		if refusedFor(err) == "invalid_grant" { // others are about us, not about the person
			return Claims{}, "", refusef("renewal", "the identity provider has ended the sign-in")
		}
		return Claims{}, "", &Unavailable{Issuer: p.cfg.Issuer, Err: errors.New("it did not renew the sign-in")}
	}
	next = token.RefreshToken // the one of before, where the provider gives no other
	if raw, _ := token.Extra("id_token").(string); raw != "" {
		who, err = p.vouched(ctx, token)
	} else {
		who = Claims{Issuer: p.cfg.Issuer, Subject: subject, Issued: p.now()}
		err = p.fill(ctx, &who, token.AccessToken)
	}
	if err == nil && who.Subject != subject {
		err = refusef("subject", "the provider speaks of somebody else than who signed in")
	}
	return who, next, err
}

// refusedFor is the provider's code for why it gave no tokens, or nothing when it
// did not answer in that form. The error's text may hold all that it answered; only
// the code is ours to show.
func refusedFor(err error) string {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		return clean(refused.ErrorCode)
	}
	return ""
}

// vouched is whom the ID token speaks of that came with others.
func (p *Provider) vouched(ctx context.Context, token *oauth2.Token) (Claims, error) {
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
	if claims.Email == "" || !claims.Grouped {
		_ = p.fill(ctx, &claims, token.AccessToken) // what it does not say stays unknown
	}
	return claims, nil
}

// fill reads of the provider's userinfo what is not known of a person.
func (p *Provider) fill(ctx context.Context, c *Claims, access string) error {
	more, err := p.userInfo(ctx, access)
	if err != nil {
		return p.unavailable(err)
	}
	if text(more["sub"]) != c.Subject {
		return refusef("subject", "the provider speaks of somebody else than who signed in")
	}
	p.cfg.describe(c, more)
	return nil
}
