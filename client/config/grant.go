package config

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Grant is what a sign-in with an identity provider gave: a token that ends soon,
// and what gets the next one. It is bound to one server's origin, like any token.
type Grant struct {
	Issuer    string    `json:"issuer"`
	ClientID  string    `json:"clientId"`
	Kind      string    `json:"kind"` // of the token that the server takes: access or id
	Token     string    `json:"token"`
	Refresh   string    `json:"refresh,omitempty"`
	Issued    time.Time `json:"issued"`
	Expires   time.Time `json:"expires"`
	TokenURL  string    `json:"tokenUrl"`
	RevokeURL string    `json:"revokeUrl,omitempty"`
	// Ended says that the provider gives no more: a person has to sign in anew.
	Ended bool `json:"ended,omitempty"`
}

// String leaves the secrets out.
func (g Grant) String() string   { return "sign-in with " + g.Issuer }
func (g Grant) GoString() string { return g.String() }

// savedToken is what is kept for one origin: a token, or a grant. With Keyring the
// secrets are in the system's keyring, and Mark is another one with each change, by
// whichever process: who knows what is kept under a mark need not ask the keyring.
type savedToken struct {
	Token   string `json:"token,omitempty"`
	Grant   *Grant `json:"grant,omitempty"`
	Keyring bool   `json:"keyring,omitempty"`
	Mark    string `json:"mark,omitempty"`
}

// Grant gives what was saved of a sign-in for an origin.
func (p Paths) Grant(origin string) (Grant, bool, error) {
	saved, err := p.saved(origin)
	if err != nil || saved.Grant == nil {
		return Grant{}, false, err
	}
	return *saved.Grant, true, nil
}

// SaveGrant saves a sign-in for an origin, in place of the token or sign-in before.
func (p Paths) SaveGrant(origin string, g Grant) error {
	if _, err := parseToken(g.Token); err != nil {
		return err
	}
	return p.save(origin, savedToken{Grant: &g})
}

// CanSave writes what is saved again, and so finds out whether it could be changed.
func (p Paths) CanSave() error { return p.changeCredentials(func(*credentials) {}) }

// saved reads what is kept for an origin; the zero value is nothing.
func (p Paths) saved(origin string) (savedToken, error) {
	c, err := p.readCredentials()
	if err != nil {
		return savedToken{}, err
	}
	saved := c.Tokens[origin]
	if !saved.Keyring {
		return saved, nil
	}
	if p.Keyring == nil {
		return savedToken{}, fmt.Errorf("the credentials for %s are in the system's keyring, which %s=off leaves out: log in again", origin, EnvKeyring)
	}
	text, err := p.fromKeyring(origin, saved.Mark)
	if err != nil {
		return savedToken{}, fmt.Errorf("the credentials for %s are in the system's keyring, which does not give them: unlock it, or log in again: %w", origin, err)
	}
	if json.Unmarshal([]byte(text), &saved) != nil {
		return savedToken{}, fmt.Errorf("the credentials for %s in the system's keyring are damaged: log in again", origin)
	}
	return saved, nil
}

// fromKeyring asks a keyring that has a memory by the mark.
func (p Paths) fromKeyring(origin, mark string) (string, error) {
	if k, ok := p.Keyring.(*knownKeyring); ok {
		return k.marked(origin, mark)
	}
	return p.Keyring.Get(origin)
}

// save keeps the secrets in the system's keyring, and where that does not work, for
// whatever reason, in the file that only the owner reads.
func (p Paths) save(origin string, saved savedToken) error {
	if canonical, err := InsecureOrigin(origin); err != nil || canonical != origin {
		return fmt.Errorf("save token: %q is not an origin", origin)
	}
	if p.Keyring != nil && p.Config != "" {
		if text, err := json.Marshal(saved); err == nil && p.Keyring.Set(origin, string(text)) == nil {
			saved = savedToken{Keyring: true, Mark: rand.Text()}
		}
	}
	return p.changeCredentials(func(c *credentials) { c.Tokens[origin] = saved })
}

// LockCredentials keeps other processes from changing credentials until unlock is
// called. Whoever refreshes a token, or logs in or out, holds it: a refresh token
// that can be used once must be used by one.
func (p Paths) LockCredentials(ctx context.Context) (unlock func(), err error) {
	if p.Config == "" {
		return nil, fmt.Errorf("lock credentials: %w", ErrNoPlace)
	}
	if err := os.MkdirAll(p.Config, 0o700); err != nil {
		return nil, fmt.Errorf("lock credentials: %w", err)
	}
	lock := flock.New(filepath.Join(p.Config, "credentials.lock"))
	locked, err := lock.TryLockContext(ctx, 20*time.Millisecond)
	if err == nil && !locked {
		err = errors.New("another process holds it")
	}
	if err != nil {
		return nil, fmt.Errorf("lock credentials: %w", err)
	}
	return func() { _ = lock.Unlock() }, nil
}
