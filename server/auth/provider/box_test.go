package provider

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/teammem/teammem/devoidc"
)

// fixture is a set with one provider, which is a real one.
type fixture struct {
	t   *testing.T
	box *devoidc.Box
	set *Set
	now time.Time
}

const ours, web = "teammem", "teammem-web"

func newFixture(t *testing.T, path string, change func(*Config)) *fixture {
	t.Helper()
	box, err := devoidc.Start(path, devoidc.Config{
		Users:   []devoidc.User{{Subject: "sub-dana", Name: "dana", Email: "Dana@acme.example", Verified: true, Groups: []string{"engineering"}}},
		Clients: []devoidc.Client{{ID: ours, Redirects: []string{"http://127.0.0.1/callback"}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(box.Stop)
	cfg := Config{Issuer: box.Issuer, ClientID: web, CLIClientID: ours}
	if change != nil {
		change(&cfg)
	}
	f := &fixture{t: t, box: box, now: time.Now().Truncate(time.Second)}
	f.set, err = New(slog.New(slog.DiscardHandler), []Config{cfg}, nil, func() time.Time { return f.now })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// claims are those of a good access token.
func (f *fixture) claims(with map[string]any) map[string]any {
	claims := map[string]any{
		"iss": f.box.Issuer, "sub": "sub-dana", "aud": ours, "azp": ours, "iat": f.now.Unix(), "exp": f.now.Add(5 * time.Minute).Unix(),
		"email": "dana@acme.example", "email_verified": true, "groups": []string{"engineering"}, "preferred_username": "dana",
	}
	maps.Copy(claims, with)
	for name, value := range claims {
		if value == nil {
			delete(claims, name)
		}
	}
	return claims
}

// sign signs with the provider's own key.
func (f *fixture) sign(claims map[string]any, header map[string]any) string {
	id, key := f.box.PrivateKey()
	h := map[string]any{"kid": id, "typ": "at+jwt"}
	maps.Copy(h, header)
	return sign(f.t, jose.RS256, key, claims, h)
}

func sign(t *testing.T, algorithm jose.SignatureAlgorithm, key any, claims, header map[string]any) string {
	t.Helper()
	opts := &jose.SignerOptions{}
	for name, value := range header {
		if value != nil {
			opts.WithHeader(jose.HeaderKey(name), value)
		}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, opts)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return compact(t, signer, text)
}

func compact(t *testing.T, signer jose.Signer, text []byte) string {
	t.Helper()
	signed, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (f *fixture) bearer(token string) (Claims, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return f.set.Bearer(ctx, token)
}

func (f *fixture) wantTaken(what, token string) Claims {
	f.t.Helper()
	claims, err := f.bearer(token)
	if err != nil || claims.Subject != "sub-dana" {
		f.t.Errorf("%s: %+v, %v", what, claims, err)
	}
	return claims
}

func (f *fixture) wantRefused(what, token, reason string) *Refusal {
	f.t.Helper()
	claims, err := f.bearer(token)
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Reason != reason || claims.Subject != "" {
		f.t.Errorf("%s: %+v, %v; want a refusal for its %s", what, claims, err, reason)
		return &Refusal{}
	}
	return refusal
}
