package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Provider is one identity provider.
type Provider struct {
	cfg    Config
	now    func() time.Time
	client *http.Client
	keys   *keys

	known  atomic.Pointer[known]
	mu     sync.Mutex // held while the provider is looked for
	tried  time.Time
	failed error // of the last try
}

// known is what a provider says of itself.
type known struct {
	oidc   *oidc.Provider
	keysAt string
	scopes []string
	device bool
	// names says that the provider tells, with each answer to a browser, who it is
	// (RFC 9207).
	names bool
}

func newProvider(cfg Config, transport http.RoundTripper, now func() time.Time) *Provider {
	p := &Provider{cfg: cfg, now: now}
	p.client = &http.Client{
		Transport: capped{transport},
		Timeout:   askTimeout,
		// A token must not follow a redirect, nor what is believed come from
		// another place than the one that was named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	p.keys = newKeys(p.client, func(ctx context.Context) (string, error) {
		k, err := p.discover(ctx)
		if err != nil {
			return "", err
		}
		return k.keysAt, nil
	})
	return p
}

// capped bounds what an answer may hold.
type capped struct{ http.RoundTripper }

func (c capped) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// Config is what the provider was configured with.
func (p *Provider) Config() Config { return p.cfg }

// retryAfter is how long a failure of discovery is believed, so that a provider
// that is down is not asked anew by each request.
const retryAfter = 2 * time.Second

// discover finds out the provider's addresses, once.
func (p *Provider) discover(ctx context.Context) (*known, error) {
	if k := p.known.Load(); k != nil {
		return k, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := p.known.Load(); k != nil {
		return k, nil
	}
	if p.failed != nil && time.Since(p.tried) < retryAfter {
		return nil, p.failed
	}
	// Others wait for the answer as well, so one request's end is not its end.
	k, err := p.look(context.WithoutCancel(ctx))
	p.tried, p.failed = time.Now(), err
	if err == nil {
		p.known.Store(k)
	}
	return k, err
}

func (p *Provider) look(ctx context.Context) (*known, error) {
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.cfg.Issuer)
	var mismatch *oidc.IssuerMismatchError
	switch {
	case errors.As(err, &mismatch):
		return nil, fmt.Errorf("the server is configured with the issuer %q and the provider calls itself %q: they are compared exactly, so configure the second", mismatch.Provided, mismatch.Discovered)
	case err != nil:
		return nil, &Unavailable{Issuer: p.cfg.Issuer, Err: err}
	}
	k := &known{oidc: found}
	var says struct {
		Keys   string   `json:"jwks_uri"`
		Scopes []string `json:"scopes_supported"`
		Device string   `json:"device_authorization_endpoint"`
		Names  bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := found.Claims(&says); err != nil {
		return nil, &Unavailable{Issuer: p.cfg.Issuer, Err: err}
	}
	k.keysAt, k.scopes, k.device, k.names = says.Keys, says.Scopes, says.Device != "", says.Names
	for what, address := range map[string]string{"keys": says.Keys, "token endpoint": found.Endpoint().TokenURL, "sign-in page": found.Endpoint().AuthURL, "userinfo": found.UserInfoEndpoint()} {
		if address != "" && !isPrivate(address) {
			return nil, &Unavailable{Issuer: p.cfg.Issuer, Err: fmt.Errorf("it says that its %s is at %q: want https://, or http:// on this machine", what, clean(address))}
		}
	}
	return k, nil
}

// lookUntilFound tries until the provider answers, and tells once that it does not.
func (p *Provider) lookUntilFound(ctx context.Context, log *slog.Logger) {
	pause, told := time.Second, false
	for {
		_, err := p.discover(ctx)
		if err == nil || ctx.Err() != nil {
			if told && err == nil {
				log.Info("the identity provider answers", "issuer", p.cfg.Issuer)
			}
			return
		}
		if !told {
			log.Warn("the identity provider is not known yet; sign-in waits for it, everything else works", "issuer", p.cfg.Issuer, "error", err)
			told = true
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, time.Minute)
		case <-ctx.Done():
			return
		}
	}
}

// scopes are those to ask for: the configured ones, or of the usual ones those that
// the provider says it knows. Some refuse a request for one they do not know.
func (p *Provider) scopes(k *known, usual ...string) []string {
	if len(p.cfg.Scopes) > 0 {
		return p.cfg.Scopes
	}
	scopes := []string{oidc.ScopeOpenID}
	for _, scope := range usual {
		if slices.Contains(k.scopes, scope) || len(k.scopes) == 0 && scope != "groups" {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// Announcement is what a client needs to know to sign in by itself.
type Announcement struct {
	Issuer   string
	Name     string
	ClientID string
	Scopes   []string
	Device   bool
	Bearer   Kind
}

// Announce says how a client signs in. Of a provider that is not known yet it says
// what was configured.
func (p *Provider) Announce() Announcement {
	a := Announcement{Issuer: p.cfg.Issuer, Name: p.cfg.Name, ClientID: p.cfg.CLIClientID, Bearer: p.cfg.Bearer, Scopes: p.cfg.Scopes}
	if k := p.known.Load(); k != nil {
		a.Scopes, a.Device = p.scopes(k, "profile", "email", "offline_access", "groups"), k.device
	}
	return a
}

// verify holds a token against everything.
func (p *Provider) verify(ctx context.Context, t *unverified, kind Kind) (Claims, error) {
	if err := t.check(&p.cfg, kind, p.now()); err != nil {
		return Claims{}, err
	}
	// What was signed is what was read: both are the same bytes.
	_, err := p.keys.VerifySignature(ctx, t.raw)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return Claims{}, refusal
	case err != nil && ctx.Err() != nil:
		return Claims{}, ctx.Err()
	case err != nil:
		return Claims{}, p.unavailable(err)
	}
	c := Claims{Issuer: p.cfg.Issuer}
	c.Subject, _ = t.claims.text("sub") // checked, as are the times
	c.Nonce, _ = t.claims.text("nonce")
	c.Issued, _, _ = t.claims.instant("iat")
	c.Expires, _, _ = t.claims.instant("exp")
	p.cfg.describe(&c, t.claims)
	return c, nil
}

func (p *Provider) unavailable(err error) error {
	var known *Unavailable
	if errors.As(err, &known) {
		return known
	}
	return &Unavailable{Issuer: p.cfg.Issuer, Err: err}
}

// complete asks the provider for what an access token leaves out of a person: many
// hold the subject alone. Where that does not work what is known has to do.
func (p *Provider) complete(ctx context.Context, log *slog.Logger, token string, c Claims) Claims {
	if p.cfg.Bearer != Access || c.Email != "" && c.Grouped {
		return c
	}
	more, err := p.userInfo(ctx, token)
	if err != nil {
		log.Info("the identity provider says nothing more of a person than the token does", "issuer", p.cfg.Issuer, "error", err)
		return c
	}
	if text(more["sub"]) == c.Subject {
		p.cfg.describe(&c, more)
	}
	return c
}

func (p *Provider) userInfo(ctx context.Context, token string) (members, error) {
	k, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	info, err := k.oidc.UserInfo(oidc.ClientContext(ctx, p.client), oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token}))
	if err != nil {
		return nil, err
	}
	var claims members
	return claims, info.Claims(&claims)
}
