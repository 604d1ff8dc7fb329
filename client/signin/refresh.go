package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/teammem/teammem/client/config"
)

const (
	// freshFor is how long a token has to be good for still, at least; of one that
	// lives shortly a third of its life.
	freshFor = 30 * time.Second
	// refreshTime bounds a refresh, and the wait for another process's.
	refreshTime = 15 * time.Second
	// againAfter is how long a provider is left alone that did not answer.
	againAfter = 5 * time.Second
)

// Keeper keeps the sign-in for one server fresh. It is safe for concurrent use.
type Keeper struct {
	paths  config.Paths
	origin string
	client *http.Client
	now    func() time.Time

	mu     sync.Mutex
	rested time.Time // the provider is left alone until then
}

// NewKeeper makes a Keeper for a server's origin.
func NewKeeper(paths config.Paths, origin string, client *http.Client, now func() time.Time) *Keeper {
	return &Keeper{paths: paths, origin: origin, client: client, now: now}
}

func (k *Keeper) fresh(g *config.Grant) bool {
	if g.Expires.IsZero() {
		return true // the provider does not say, and the server will
	}
	least := min(freshFor, g.Expires.Sub(g.Issued)/3)
	return k.now().Before(g.Expires.Add(-least))
}

// Token gives a token that is still good, a new one where it must be. Where there is
// none to be had it gives the old one: what the server says to that is told to the
// person, and a new sign-in holds at once.
func (k *Keeper) Token(ctx context.Context, g config.Grant) string {
	if g.Ended || g.Refresh == "" || k.fresh(&g) {
		return g.Token
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now().Before(k.rested) {
		return g.Token
	}
	fresh, err := k.refresh(ctx)
	if err != nil {
		k.rested = k.now().Add(againAfter)
		return g.Token
	}
	return fresh.Token
}

// refresh gets the next token, once for all processes.
func (k *Keeper) refresh(ctx context.Context) (config.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	unlock, err := k.paths.LockCredentials(ctx)
	if err != nil {
		return config.Grant{}, err
	}
	defer unlock()
	// Another process may have been first, or a person have signed in anew or out.
	g, ok, err := k.paths.Grant(k.origin)
	switch {
	case err != nil:
		return g, err
	case !ok:
		return g, config.ErrNoToken
	case g.Ended || k.fresh(&g):
		return g, nil
	}
	// A refresh token is good for one use: where its successor could not be kept, on a
	// full disk, it is left unused, and the sign-in holds.
	if err := k.paths.CanSave(); err != nil {
		return g, err
	}
	token, err := k.next(ctx, g)
	var answer *oauth2.RetrieveError
	switch {
	case errors.As(err, &answer) && answer.ErrorCode == "invalid_grant":
		// It was revoked, or somebody else used it. Trying again cures nothing.
		g.Ended = true
		return g, k.paths.SaveGrant(k.origin, g)
	case err != nil:
		return g, err
	}
	if err := fill(&g, token, k.now()); err != nil {
		return g, err
	}
	return g, k.paths.SaveGrant(k.origin, g)
}

func (k *Keeper) next(ctx context.Context, g config.Grant) (*oauth2.Token, error) {
	cfg := oauth2.Config{ClientID: g.ClientID, Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: oauth2.AuthStyleInParams}}
	return cfg.TokenSource(oidc.ClientContext(ctx, k.client), &oauth2.Token{RefreshToken: g.Refresh}).Token()
}

// Revoke ends a sign-in at the provider. A provider without an address for that is
// no error: the tokens end by themselves.
func Revoke(ctx context.Context, client *http.Client, g config.Grant) error {
	if g.RevokeURL == "" || g.Refresh == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	form := url.Values{"token": {g.Refresh}, "token_type_hint": {"refresh_token"}, "client_id": {g.ClientID}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("revoke at the identity provider: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("revoke at the identity provider: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNoContent {
		return fmt.Errorf("revoke at the identity provider: it answers with status %s", answer.Status)
	}
	return nil
}
