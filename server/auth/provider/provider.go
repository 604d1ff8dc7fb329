// Package provider knows the identity providers that an organization signs in
// with, by OpenID Connect: it finds out their addresses and keys, verifies the
// tokens they made, and carries a browser's sign-in to its end.
//
// It keeps keys and addresses in memory and nothing else. A provider that is down
// stops nothing: addresses are found out when they are needed and looked for in
// the background until then, keys that were good stay good, and what cannot be
// verified meanwhile is a fault that will pass, not a refusal.
//
// What is promised of a token: its issuer is compared exactly, as the string that
// was configured; its algorithm is one of a list without none and HMAC; the key
// comes from the provider and never from the token; an audience is ours, and who
// it was made for as well; an access token does not pass for an ID token, nor the
// other way round; clocks may differ by [Leeway]. All that can be said without a
// key is said before one is asked for, and asking is bounded: one question to a
// provider every [refetchEvery], whatever strangers send.
//
// auth verifies bearer tokens with it, and the dashboard signs people in.
package provider

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind is what a token is for.
type Kind string

// The kinds.
const (
	Access Kind = "access"
	ID     Kind = "id"
)

// Config is one provider as an administrator names it.
type Config struct {
	Issuer       string   `json:"issuer"`        // exactly as the provider spells it
	Name         string   `json:"name"`          // for people; empty: the issuer's host
	ClientID     string   `json:"client-id"`     // of this server's pages
	ClientSecret string   `json:"-"`             // empty: a public client
	SecretFile   string   `json:"secret-file"`   // the file that holds it
	CLIClientID  string   `json:"cli-client-id"` // of client login; empty: ClientID
	Audiences    []string `json:"audiences"`     // of bearer tokens; empty: both client ids
	Scopes       []string `json:"scopes"`        // empty: the usual ones that the provider knows
	Bearer       Kind     `json:"bearer"`        // which token the API takes; empty: access

	NameClaim   string `json:"name-claim"` // empty: preferred_username, else email, else name
	EmailClaim  string `json:"email-claim"`
	GroupsClaim string `json:"groups-claim"` // a name, or a path with dots
}

// Check fills in what is usual and says what cannot be meant.
func (c *Config) Check() error {
	if c.CLIClientID == "" {
		c.CLIClientID = c.ClientID
	}
	if c.Bearer == "" {
		c.Bearer = Access
	}
	if c.EmailClaim == "" {
		c.EmailClaim = "email"
	}
	if c.GroupsClaim == "" {
		c.GroupsClaim = "groups"
	}
	if len(c.Audiences) == 0 {
		c.Audiences = slices.Compact([]string{c.ClientID, c.CLIClientID})
	}
	u, err := url.Parse(c.Issuer)
	switch {
	case c.Issuer == "":
		return errors.New("a provider has no issuer")
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return fmt.Errorf("the issuer %q is not an address", c.Issuer)
	case !isPrivate(c.Issuer):
		return fmt.Errorf("the issuer %q: want https://, or http:// on this machine", c.Issuer)
	case c.ClientID == "":
		return fmt.Errorf("the provider %s has no client id", c.Issuer)
	case c.Bearer != Access && c.Bearer != ID:
		return fmt.Errorf("bearer %q of the provider %s: want access or id", c.Bearer, c.Issuer)
	}
	if c.Name == "" {
		c.Name = u.Host
	}
	return nil
}

// isPrivate reports whether nobody on the way can read or change what is sent to an
// address, which takes our secret and gives the keys that we believe.
func isPrivate(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()))
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// clients are those whose tokens we take.
func (c *Config) clients() []string { return []string{c.ClientID, c.CLIClientID} }

// Set is all providers of a server. Its methods are safe for concurrent use.
type Set struct {
	log *slog.Logger
	now func() time.Time
	all []*Provider

	mu       sync.Mutex
	verified map[[32]byte]Claims // of bearer tokens, until they end
}

// New makes the providers; it asks none of them anything. The configurations are
// checked.
func New(log *slog.Logger, configs []Config, transport http.RoundTripper, now func() time.Time) (*Set, error) {
	s := &Set{log: log, now: now, verified: map[[32]byte]Claims{}}
	if transport == nil {
		transport = http.DefaultTransport
	}
	for _, cfg := range configs {
		if err := cfg.Check(); err != nil {
			return nil, err
		}
		if s.By(cfg.Issuer) != nil {
			return nil, fmt.Errorf("the issuer %s is configured twice", cfg.Issuer)
		}
		s.all = append(s.all, newProvider(cfg, transport, now))
	}
	return s, nil
}

// All are the providers in the order they were configured in.
func (s *Set) All() []*Provider { return s.all }

// By finds the one whose issuer is exactly this.
func (s *Set) By(issuer string) *Provider {
	for _, p := range s.all {
		if p.cfg.Issuer == issuer {
			return p
		}
	}
	return nil
}

// maxVerified bounds the memory of verified tokens, at about a kilobyte each.
const maxVerified = 4096

// Bearer verifies a token that came with a request of the API. What was verified
// once is known by its hash until it ends.
func (s *Set) Bearer(ctx context.Context, token string) (Claims, error) {
	hash := sha256.Sum256([]byte(token))
	now := s.now()
	s.mu.Lock()
	claims, ok := s.verified[hash]
	s.mu.Unlock()
	if ok && now.Before(claims.Expires.Add(Leeway)) {
		return claims, nil
	}
	p, t, err := s.read(token)
	if err != nil {
		return Claims{}, err
	}
	claims, err = p.verify(ctx, t, p.cfg.Bearer)
	if err != nil {
		return Claims{}, err
	}
	claims = p.complete(ctx, s.log, token, claims)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.verified) >= maxVerified {
		s.makeRoom(now)
	}
	s.verified[hash] = claims
	return claims, nil
}

func (s *Set) makeRoom(now time.Time) {
	for hash, claims := range s.verified {
		if !now.Before(claims.Expires) {
			delete(s.verified, hash)
		}
	}
	if len(s.verified) >= maxVerified {
		clear(s.verified)
	}
}

// read takes a token apart and finds whose it says it is. No provider is asked.
func (s *Set) read(token string) (*Provider, *unverified, error) {
	t, err := parse(token)
	if err != nil {
		return nil, nil, err
	}
	p := s.By(t.issuer)
	if p == nil {
		return nil, nil, s.strange(t.issuer)
	}
	return p, t, nil
}

// strange says what is wrong with an issuer that is not configured. One that
// differs by a slash is the usual slip, so it is named.
func (s *Set) strange(issuer string) error {
	for _, p := range s.all {
		if strings.TrimRight(p.cfg.Issuer, "/") == strings.TrimRight(issuer, "/") {
			return refusef("issuer", "the token's issuer is %q and the server is configured with %q: they are compared exactly, so configure the first", issuer, p.cfg.Issuer)
		}
	}
	return refusef("issuer", "the token is of an issuer that this server does not know")
}

// LooksLike reports whether a bearer token may be a provider's at all: three parts,
// of which the first is a JSON object.
func LooksLike(token string) bool {
	return strings.HasPrefix(token, "eyJ") && strings.Count(token, ".") == 2
}

// Run finds out the addresses of all providers in the background, so that the
// first sign-in need not wait and an administrator reads early what is wrong. It
// returns when all are known, or ctx ends.
func (s *Set) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, p := range s.all {
		all.Go(func() { p.lookUntilFound(ctx, s.log) })
	}
	all.Wait()
}

// Refusal says why a token or a sign-in is refused.
type Refusal struct {
	Reason string // a word for logs and tests: "issuer", "expired", …
	Text   string
}

func (r *Refusal) Error() string { return r.Text }

func refusef(reason, format string, args ...any) error {
	return &Refusal{Reason: reason, Text: fmt.Sprintf(format, args...)}
}

// Unavailable says that a provider could not be asked, which will pass.
type Unavailable struct {
	Issuer string
	Err    error
}

func (e *Unavailable) Error() string {
	return fmt.Sprintf("the identity provider %s cannot be asked: %v", e.Issuer, e.Err)
}
func (e *Unavailable) Unwrap() error { return e.Err }
