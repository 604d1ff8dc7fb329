// Package signin signs a person in with an identity provider, from a terminal: by
// the device authorization grant, or by a browser and a port of loopback, and keeps
// the sign-in fresh afterwards.
//
// What it is given comes from the server that the person named: issuer, client id
// and scopes. The provider's addresses come from the provider; the issuer is
// compared exactly, and all of them are https, or http on this machine. Nothing
// follows a redirect. What was got is kept by package config, bound to the server's
// origin.
//
// A token is refreshed under a lock that all processes of this machine share:
// refresh tokens may be good for one use, and a provider may take a second use for
// a theft and end everything. The commands call it.
package signin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/config"
)

// Flow is a provider that was asked for its addresses.
type Flow struct {
	announced api.Provider
	client    *http.Client
	oauth     oauth2.Config
	revokeURL string
	now       func() time.Time
}

// Discover asks a provider for its addresses.
func Discover(ctx context.Context, client *http.Client, announced api.Provider, now func() time.Time) (*Flow, error) {
	if err := checkAddress("issuer", announced.Issuer); err != nil {
		return nil, err
	}
	if announced.Token != "access" && announced.Token != "id" {
		return nil, fmt.Errorf("the server takes a token %q of %s, which this client does not know", announced.Token, announced.Issuer)
	}
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, client), announced.Issuer)
	if err != nil {
		return nil, fmt.Errorf("ask the identity provider %s: %w", announced.Issuer, err)
	}
	var says struct {
		Revoke string `json:"revocation_endpoint"`
	}
	if err := p.Claims(&says); err != nil {
		return nil, fmt.Errorf("ask the identity provider %s: %w", announced.Issuer, err)
	}
	f := &Flow{announced: announced, client: client, revokeURL: says.Revoke, now: now}
	f.oauth = oauth2.Config{ClientID: announced.ClientID, Endpoint: p.Endpoint(), Scopes: announced.Scopes}
	// A public client has no secret to prove itself with.
	f.oauth.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	for what, address := range map[string]string{
		"token address": f.oauth.Endpoint.TokenURL, "sign-in address": f.oauth.Endpoint.AuthURL,
		"device address": f.oauth.Endpoint.DeviceAuthURL, "revocation address": f.revokeURL,
	} {
		if address == "" {
			continue
		}
		if err := checkAddress(what, address); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func checkAddress(what, address string) error {
	u, err := url.Parse(address)
	if err != nil || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }) || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return fmt.Errorf("the identity provider's %s %q is not an https address", what, address)
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// HasDevice reports whether the provider has the device authorization grant.
func (f *Flow) HasDevice() bool { return f.oauth.Endpoint.DeviceAuthURL != "" }

func (f *Flow) context(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, f.client)
}

// Prompt is what a person is asked to do.
type Prompt struct {
	Address  string // to open
	Complete string // the same with the code in it; may be empty
	Code     string // to enter there
	Expires  time.Time
}

// Device signs in by the device authorization grant. show is called with what the
// person has to do; then it waits for them.
func (f *Flow) Device(ctx context.Context, show func(Prompt)) (config.Grant, error) {
	asked, err := f.oauth.DeviceAuth(f.context(ctx))
	if err != nil {
		return config.Grant{}, f.refused(err)
	}
	if err := checkAddress("page", asked.VerificationURI); err != nil {
		return config.Grant{}, err
	}
	prompt := Prompt{Address: asked.VerificationURI, Code: printable(asked.UserCode), Expires: asked.Expiry}
	if checkAddress("page", asked.VerificationURIComplete) == nil {
		prompt.Complete = asked.VerificationURIComplete
	}
	show(prompt)
	token, err := f.oauth.DeviceAccessToken(f.context(ctx), asked)
	if err != nil {
		return config.Grant{}, f.refused(err)
	}
	return f.grant(token)
}

// RefusedError says that the provider did not sign the person in.
type RefusedError struct {
	Issuer string
	Code   string // of OAuth, such as access_denied
}

func (e *RefusedError) Error() string {
	switch e.Code {
	case "access_denied":
		return "the sign-in was refused at " + e.Issuer
	case "expired_token":
		return "nobody confirmed the sign-in at " + e.Issuer + " in time"
	}
	return fmt.Sprintf("the identity provider %s does not sign in: %s", e.Issuer, printable(e.Code))
}

// printable is a stranger's word as a terminal may show it: what could steer it, or
// turn the line round, is left out, and so is what is too long to be read.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), 64)]
}

// refused keeps of a provider's refusal its code: the rest is text of a stranger.
func (f *Flow) refused(err error) error {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) && answer.ErrorCode != "" {
		return &RefusedError{Issuer: f.announced.Issuer, Code: answer.ErrorCode}
	}
	if errors.As(err, &answer) {
		return fmt.Errorf("the identity provider %s answers with status %s", f.announced.Issuer, answer.Response.Status)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &RefusedError{Issuer: f.announced.Issuer, Code: "expired_token"}
	}
	return fmt.Errorf("ask the identity provider %s: %w", f.announced.Issuer, err)
}

// endOf reads when an ID token ends. It is not verified: the server does that, and
// here it only says when to ask for the next one.
func endOf(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Expires float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.Expires <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Expires), 0)
}

// grant makes of a token what is kept.
func (f *Flow) grant(token *oauth2.Token) (config.Grant, error) {
	g := config.Grant{
		Issuer: f.announced.Issuer, ClientID: f.announced.ClientID, Kind: f.announced.Token,
		TokenURL: f.oauth.Endpoint.TokenURL, RevokeURL: f.revokeURL,
	}
	err := fill(&g, token, f.now())
	return g, err
}

// fill puts a new token into a grant. A provider that gives no new refresh token
// means the old one.
func fill(g *config.Grant, token *oauth2.Token, now time.Time) error {
	g.Token = token.AccessToken
	if g.Kind == "id" {
		g.Token, _ = token.Extra("id_token").(string)
		token.Expiry = endOf(g.Token)
	}
	if g.Token == "" {
		return fmt.Errorf("the identity provider %s gives no %s token", g.Issuer, g.Kind)
	}
	if token.RefreshToken != "" {
		g.Refresh = token.RefreshToken
	}
	g.Issued, g.Expires, g.Ended = now, token.Expiry, false
	return nil
}
