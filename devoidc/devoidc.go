// Package devoidc is an OpenID Connect provider for tests and for trying teammem
// out: a real one (zitadel's, certified), with accounts that need no password. It
// has the authorization code flow with PKCE, the device flow, refresh tokens that
// hold once, revocation, and signing keys that can be changed while it runs.
//
// It keeps everything in memory and is fit for a loopback address only: whoever
// reaches it can sign in as anyone. A refresh token that comes a second time ends
// the whole family of tokens that came of one sign-in, as the strictest providers
// do. What it was asked for is counted, so that a test can say how much work a
// forged token caused.
//
// Tests of both wings and cmd/devoidc are its callers.
package devoidc

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// User is an account.
type User struct {
	Subject  string // what the provider calls it for good
	Name     string // to sign in with
	Email    string
	Verified bool
	Groups   []string
}

// Client is a program that people sign in to.
type Client struct {
	ID        string
	Secret    string   // empty: a public client, such as a command line
	Redirects []string // of a public one any port of loopback is taken
	NoDevice  bool     // the device flow is not for it
}

// Config is what a Provider is made of.
type Config struct {
	Issuer        string // exactly as tokens shall name it
	Users         []User
	Clients       []Client
	TokenLife     time.Duration // of access tokens and ID tokens; 0: five minutes
	PollEvery     time.Duration // of the device flow, whole seconds; 0: one
	OpaqueTokens  bool          // access tokens say nothing by themselves
	SilentAccess  bool          // access tokens name the subject and nothing more of a person
	WithoutDevice bool          // there is no device flow
}

// Provider answers as a provider. Its methods are safe for concurrent use.
type Provider struct {
	cfg     Config
	op      *op.Provider
	handler http.Handler

	mu       sync.Mutex
	users    map[string]*User // by subject
	clients  map[string]*Client
	requests map[string]*authRequest
	codes    map[string]string // code to request
	devices  map[string]*device
	refresh  map[string]*grant // by refresh token, used ones included
	access   map[string]*grant // by the access token's id
	keys     []*key            // the last one signs
	asked    map[string]int    // by path
}

// New makes a provider. It is served with [Provider.ServeHTTP] under the issuer's
// address.
func New(cfg Config) (*Provider, error) {
	if cfg.TokenLife == 0 {
		cfg.TokenLife = 5 * time.Minute
	}
	if cfg.PollEvery == 0 {
		cfg.PollEvery = time.Second
	}
	p := &Provider{
		cfg: cfg, users: map[string]*User{}, clients: map[string]*Client{}, requests: map[string]*authRequest{}, codes: map[string]string{},
		devices: map[string]*device{}, refresh: map[string]*grant{}, access: map[string]*grant{}, asked: map[string]int{},
	}
	for _, u := range cfg.Users {
		p.SetUser(u)
	}
	for _, c := range cfg.Clients {
		p.clients[c.ID] = &c
	}
	p.Rotate()
	config := &op.Config{
		CryptoKey:             sha256.Sum256([]byte(rand.Text())),
		CodeMethodS256:        true,
		AuthMethodPost:        true,
		GrantTypeRefreshToken: true,
		SupportedScopes:       []string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail, oidc.ScopeOfflineAccess, scopeGroups},
		DeviceAuthorization: op.DeviceAuthorizationConfig{
			Lifetime: 5 * time.Minute, PollInterval: cfg.PollEvery, UserFormPath: p.path("/device"), UserCode: op.UserCodeBase20,
		},
	}
	var storage op.Storage = p
	if cfg.WithoutDevice {
		storage = withoutDevice{p}
	}
	var err error
	p.op, err = op.NewProvider(config, storage, op.StaticIssuer(cfg.Issuer), op.WithAllowInsecure(), op.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, fmt.Errorf("make the provider: %w", err)
	}
	p.handler = p.mount()
	return p, nil
}

// path is a path below the issuer's own.
func (p *Provider) path(path string) string {
	u, err := url.Parse(p.cfg.Issuer)
	if err != nil {
		return path
	}
	return strings.TrimSuffix(u.Path, "/") + path
}

func (p *Provider) mount() http.Handler {
	mux := http.NewServeMux()
	callback := op.AuthCallbackURL(p.op)
	withIssuer := op.NewIssuerInterceptor(p.op.IssuerFromRequest).HandlerFunc
	mux.HandleFunc("GET /login", p.showLogin)
	mux.HandleFunc("POST /login", withIssuer(func(w http.ResponseWriter, r *http.Request) { p.login(w, r, callback) }))
	mux.HandleFunc("GET /device", p.showDevice)
	mux.HandleFunc("POST /device", p.confirmDevice)
	mux.Handle("/", p.op)
	return http.StripPrefix(p.path(""), mux)
}

// ServeHTTP answers one request, and counts it.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked[strings.TrimPrefix(r.URL.Path, p.path(""))]++
	p.mu.Unlock()
	p.handler.ServeHTTP(w, r)
}

// Asked is how often a path below the issuer was asked for.
func (p *Provider) Asked(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[path]
}

// SetUser makes an account, or changes it.
func (p *Provider) SetUser(u User) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users[u.Subject] = &u
}

// byName finds an account by the name it signs in with; the caller holds the lock.
func (p *Provider) byName(name string) *User {
	for _, u := range p.users {
		if u.Name == name {
			return u
		}
	}
	return nil
}
