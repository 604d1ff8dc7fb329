package provider

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/devoidc"
)

// saying is a way to a provider on which what it says of itself is changed.
type saying struct{ with map[string]any }

func (s saying) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration") {
		return answer, err
	}
	defer answer.Body.Close()
	says := map[string]any{}
	if err := json.NewDecoder(answer.Body).Decode(&says); err != nil {
		return nil, err
	}
	for name, value := range s.with {
		says[name] = value
	}
	text, err := json.Marshal(says)
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return answer, err
}

func startBox(t *testing.T) *devoidc.Box {
	t.Helper()
	box, err := devoidc.Start("", devoidc.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(box.Stop)
	return box
}

func saysOfItself(t *testing.T, box *devoidc.Box, with map[string]any) (*Provider, error) {
	t.Helper()
	set, err := New(slog.New(slog.DiscardHandler), []Config{{Issuer: box.Issuer, ClientID: web}}, saying{with}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	p := set.By(box.Issuer)
	_, err = p.Begin(t.Context(), Flow{State: "s", Nonce: "n", Verifier: NewVerifier()}, "https://memory.acme.example/sign-in/callback")
	return p, err
}

// TestAddressesInTheClear: no secret is sent to, and no key taken from, an address
// that others on the way can read or change.
func TestAddressesInTheClear(t *testing.T) {
	box := startBox(t)
	if _, err := saysOfItself(t, box, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"jwks_uri", "token_endpoint", "authorization_endpoint", "userinfo_endpoint"} {
		for _, address := range []string{"http://login.acme.example/x", "http://127.0.0.1.evil.example/x", "ftp://127.0.0.1/x", "javascript:alert(1)"} {
			if _, err := saysOfItself(t, box, map[string]any{name: address}); err == nil || !strings.Contains(err.Error(), "want https://") {
				t.Errorf("%s at %s: %v", name, address, err)
			}
		}
	}
}

// TestWhoAnswered: RFC 9207, sections 2.4 and 2.3.
func TestWhoAnswered(t *testing.T) {
	box := startBox(t)
	for _, c := range []struct {
		names bool
		iss   string // "own": the provider's
		taken bool
	}{{false, "", true}, {false, "own", true}, {false, "https://evil.example", false}, {true, "own", true}, {true, "", false}, {true, "https://evil.example", false}} {
		p, err := saysOfItself(t, box, map[string]any{"authorization_response_iss_parameter_supported": c.names})
		if err != nil {
			t.Fatal(err)
		}
		iss := strings.Replace(c.iss, "own", p.Config().Issuer, 1)
		if err := p.CheckAnswer(iss); (err == nil) != c.taken {
			t.Errorf("a provider that says who it is (%v) answers as %q: %v", c.names, c.iss, err)
		}
	}
}
