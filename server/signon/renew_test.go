package signon

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/devoidc"
	"github.com/teammem/teammem/server/auth/provider"
)

const redirect = "http://127.0.0.1:9/sign-in/callback"

// atProvider is a fixture whose people come from a real provider.
func atProvider(t *testing.T) (*fixture, *devoidc.Box) {
	t.Helper()
	f := newFixture(t, "domain:acme.example=acme:viewer")
	f.clock = time.Now()
	box, err := devoidc.Start("", devoidc.Config{
		Users:   []devoidc.User{dana("leads", "staff")},
		Clients: []devoidc.Client{{ID: "web", Secret: "s", Redirects: []string{redirect}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(box.Stop)
	for _, d := range []*Desk{f.a, f.b} {
		configs := []provider.Config{{Issuer: box.Issuer, ClientID: "web", ClientSecret: "s"}}
		if d.providers, err = provider.New(slog.New(slog.DiscardHandler), configs, nil, d.now); err != nil {
			t.Fatal(err)
		}
	}
	return f, box
}

func dana(groups ...string) devoidc.User {
	return devoidc.User{Subject: "sub-dana", Name: "dana", Email: "dana@acme.example", Verified: true, Groups: groups}
}

// enter signs dana in as a browser does.
func (f *fixture) enter(box *devoidc.Box) (secret string) {
	f.t.Helper()
	ctx := context.Background()
	p := f.a.Providers().By(box.Issuer)
	flow := provider.Flow{Issuer: box.Issuer, State: "s", Nonce: "n", Verifier: provider.NewVerifier()}
	address, err := p.Begin(ctx, flow, redirect)
	if err != nil {
		f.t.Fatal(err)
	}
	var code string
	jar, _ := cookiejar.New(nil) // it never returns an error without options
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), redirect) {
			code = r.URL.Query().Get("code")
			return http.ErrUseLastResponse
		}
		return nil
	}}
	page, err := browser.Get(address)
	if err != nil {
		f.t.Fatal(err)
	}
	_ = page.Body.Close()
	answer, err := browser.PostForm(box.Issuer+"/login", url.Values{"request": {page.Request.URL.Query().Get("request")}, "user": {"dana"}})
	if err != nil {
		f.t.Fatal(err)
	}
	_ = answer.Body.Close()
	claims, renewal, err := p.Finish(ctx, flow, redirect, code)
	if err != nil || renewal == "" {
		f.t.Fatalf("the provider gives no renewal: %q, %v", renewal, err)
	}
	if secret, err = f.a.Enter(ctx, claims, renewal, "", From{}); err != nil {
		f.t.Fatal(err)
	}
	return secret
}

// TestAGroupLeavesAnOpenBrowser: its right is gone at the next request, whichever
// server that reaches.
func TestAGroupLeavesAnOpenBrowser(t *testing.T) {
	f, box := atProvider(t)
	secret := f.enter(box)
	for _, step := range []struct {
		on     *Desk
		groups []string
	}{{f.a, []string{"staff"}}, {f.b, nil}, {f.a, []string{"leads"}}, {f.b, []string{"leads"}}} {
		box.SetUser(dana(step.groups...))
		f.clock = f.clock.Add(AskEvery)
		user, err := step.on.Session(context.Background(), secret)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.member(user).Groups.List(); strings.Join(got, " ") != strings.Join(step.groups, " ") {
			t.Errorf("the groups are %q, want %q", got, step.groups)
		}
	}
}

// TestTheProviderEndsASignIn, and one that does not answer ends none.
func TestTheProviderEndsASignIn(t *testing.T) {
	f, box := atProvider(t)
	ctx := context.Background()
	secret := f.enter(box)
	box.Stop()
	f.clock = f.clock.Add(AskEvery)
	if _, err := f.a.Session(ctx, secret); err != nil {
		t.Errorf("while the provider is away: %v", err)
	}
	if err := box.Resume(); err != nil {
		t.Fatal(err)
	}
	f.clock = f.clock.Add(AskEvery)
	if _, err := f.b.Session(ctx, secret); err != nil {
		t.Errorf("when it is back: %v", err)
	}
	box.EndAll("sub-dana")
	f.clock = f.clock.Add(AskEvery - time.Millisecond)
	if _, err := f.a.Session(ctx, secret); err != nil {
		t.Errorf("before it is time to ask: %v", err)
	}
	f.clock = f.clock.Add(time.Millisecond)
	for range 2 {
		if _, err := f.a.Session(ctx, secret); !errors.Is(err, ErrNoSession) {
			t.Errorf("after the provider ended the sign-in: %v", err)
		}
	}
}

// TestManyRequestsAskOnce: what renews a sign-in is taken once, and a second use of it
// would end the sign-in.
func TestManyRequestsAskOnce(t *testing.T) {
	f, box := atProvider(t)
	secret := f.enter(box)
	for range 3 {
		f.clock = f.clock.Add(AskEvery)
		before := box.Asked("/oauth/token")
		var requests sync.WaitGroup
		for i := range 16 {
			requests.Go(func() {
				if _, err := []*Desk{f.a, f.b}[i%2].Session(context.Background(), secret); err != nil {
					t.Error(err)
				}
			})
		}
		requests.Wait()
		if n := box.Asked("/oauth/token") - before; n != 1 {
			t.Errorf("the provider was asked %d times", n)
		}
	}
}

// TestWhatRenewsIsSealed: the store alone does not open it, nor does another's secret.
func TestWhatRenewsIsSealed(t *testing.T) {
	f, box := atProvider(t)
	secret, other := f.enter(box), f.enter(box)
	s, err := f.store.Session(context.Background(), hashOf(secret))
	if err != nil {
		t.Fatal(err)
	}
	by, ok := unseal(secret, s)
	if !ok || !box.Alive(by.Renewal) || strings.Contains(s.Renewal, by.Renewal) {
		t.Errorf("sealed as %q, opens: %v", s.Renewal, ok)
	}
	if _, ok := unseal(other, s); ok {
		t.Error("another's secret opens it")
	}
	elsewhere := s
	elsewhere.Issuer = "https://evil.example"
	if _, ok := unseal(secret, elsewhere); ok {
		t.Error("it opens for another provider")
	}
	if err := f.a.Leave(context.Background(), secret, false, From{}); err != nil {
		t.Fatal(err)
	}
	if s, err = f.store.Session(context.Background(), hashOf(secret)); err != nil || s.Renewal != "" {
		t.Errorf("after signing out %q is kept, %v", s.Renewal, err)
	}
}
