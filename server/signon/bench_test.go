package signon

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/devoidc"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/auth/provider"
)

// BenchmarkAuthenticateProviderToken is what finding the caller of a provider's token
// costs, to be held against a 304 as a whole, BenchmarkNotModified of server/rest.
func BenchmarkAuthenticateProviderToken(b *testing.B) {
	box, err := devoidc.Start("", devoidc.Config{
		TokenLife: time.Hour, Clients: []devoidc.Client{{ID: "teammem"}},
		Users: []devoidc.User{{Subject: "sub-dana", Name: "dana", Email: "dana@acme.example", Verified: true}},
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(box.Stop)
	f := newFixture(b, "domain:acme.example=acme:member")
	log := slog.New(slog.DiscardHandler)
	providers, err := provider.New(log, []provider.Config{{Issuer: box.Issuer, ClientID: "teammem"}}, nil, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	desk := New(log, f.store, providers, time.Now, f.a.cfg, func() {})
	a := auth.New(log, f.store, time.Now, auth.Config{Foreign: desk})
	b.Cleanup(a.Close)
	given := auth.Credentials{Authorization: "Bearer " + deviceToken(b, box)}
	b.ReportAllocs()
	for b.Loop() {
		caller, err := a.Authenticate(b.Context(), given)
		if err != nil || !caller.MayOn(api.Read, "acme/widgets") {
			b.Fatal(err)
		}
	}
}

// deviceToken signs dana in by the device flow.
func deviceToken(b *testing.B, box *devoidc.Box) string {
	post := func(path string, form url.Values, into any) {
		answer, err := http.PostForm(box.Issuer+path, form)
		if err != nil {
			b.Fatal(err)
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(into); err != nil || answer.StatusCode != http.StatusOK {
			b.Fatal(path, answer.Status, err)
		}
	}
	var asked struct {
		Device string `json:"device_code"`
		User   string `json:"user_code"`
	}
	post("/device_authorization", url.Values{"client_id": {"teammem"}, "scope": {"openid email profile"}}, &asked)
	if err := box.Confirm(asked.User, "dana", true); err != nil {
		b.Fatal(err)
	}
	var token struct {
		Access string `json:"access_token"`
	}
	post("/oauth/token", url.Values{"client_id": {"teammem"}, "grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {asked.Device}}, &token)
	return token.Access
}
