package signon

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/devoidc"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/store"
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

// TestAGroupLeavesAnOpenBrowser: its right is gone at the very next request, whichever
// server that reaches, without any time between.
func TestAGroupLeavesAnOpenBrowser(t *testing.T) {
	f, box := atProvider(t)
	secret := f.enter(box)
	for _, step := range []struct {
		on     *Desk
		groups []string
	}{{f.a, []string{"staff"}}, {f.b, nil}, {f.a, []string{"leads"}}, {f.a, []string{"staff"}}, {f.b, []string{"leads"}}} {
		box.SetUser(dana(step.groups...))
		user, err := step.on.Session(context.Background(), secret, Now)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.member(user).Groups.List(); strings.Join(got, " ") != strings.Join(step.groups, " ") {
			t.Errorf("the groups are %q, want %q", got, step.groups)
		}
	}
}

// TestWhatIsOnlyReadGoesByALateWord, no older than is configured.
func TestWhatIsOnlyReadGoesByALateWord(t *testing.T) {
	f, box := atProvider(t)
	secret := f.enter(box)
	for _, c := range []struct {
		word Word
		wait time.Duration
		asks int
	}{{Lately, 0, 0}, {Lately, time.Second, 0}, {Lately, time.Second, 1}, {Lately, 0, 0}, {AnyAge, 10 * time.Second, 0}, {Now, 0, 1}, {Now, 0, 1}, {Lately, 0, 0}} {
		f.clock = f.clock.Add(c.wait)
		before := box.Asked("/oauth/token")
		if _, err := f.b.Session(context.Background(), secret, c.word); err != nil {
			t.Fatal(err)
		}
		if n := box.Asked("/oauth/token") - before; n != c.asks {
			t.Errorf("after %v with word %d the provider was asked %d times, want %d", c.wait, c.word, n, c.asks)
		}
	}
}

// TestTheProviderEndsASignIn, and one that does not answer ends none.
func TestTheProviderEndsASignIn(t *testing.T) {
	f, box := atProvider(t)
	ctx := context.Background()
	secret := f.enter(box)
	box.Stop()
	for range 2 {
		if _, err := f.a.Session(ctx, secret, Now); err != nil {
			t.Errorf("while the provider is away: %v", err)
		}
	}
	if err := box.Resume(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*Desk{f.b, f.a} {
		if _, err := d.Session(ctx, secret, Now); err != nil {
			t.Errorf("when it is back: %v", err)
		}
	}
	box.EndAll("sub-dana")
	if _, err := f.a.Session(ctx, secret, Now); err != nil {
		t.Errorf("a provider that did not answer was asked again at once: %v", err)
	}
	f.clock = f.clock.Add(away)
	for range 2 {
		if _, err := f.a.Session(ctx, secret, Now); !errors.Is(err, ErrNoSession) {
			t.Errorf("after the provider ended the sign-in: %v", err)
		}
	}
}

// TestManyRequestsAskOnce: what renews a sign-in is taken once, and a second use of it
// would end the sign-in. Those that come at one time share an answer on each server, and
// one that was on its way already is nobody's.
func TestManyRequestsAskOnce(t *testing.T) {
	f, box := atProvider(t)
	secret := f.enter(box)
	for _, word := range []Word{Lately, Now, Now} {
		f.clock = f.clock.Add(time.Minute)
		before := box.Asked("/oauth/token")
		var requests sync.WaitGroup
		for i := range 16 {
			requests.Go(func() {
				if _, err := []*Desk{f.a, f.b}[i%2].Session(context.Background(), secret, word); err != nil {
					t.Error(err)
				}
			})
		}
		requests.Wait()
		if n, most := box.Asked("/oauth/token")-before, map[Word]int{Lately: 1, Now: 16}[word]; n < 1 || n > most {
			t.Errorf("with word %d the provider was asked %d times", word, n)
		}
	}
}

// TestAQuestionUnderWay is waited for, and the next is the one that counts: its answer
// may be older than the request. One of a server that has gone is asked anew.
func TestAQuestionUnderWay(t *testing.T) {
	f, box := atProvider(t)
	ctx := context.Background()
	secret := f.enter(box)
	asking := func() store.Session {
		t.Helper()
		s, err := f.store.Session(ctx, hashOf(secret))
		if err != nil {
			t.Fatal(err)
		}
		claimed := store.Asks{Asked: s.Asked, Asking: after(f.clock, s.Asks)}
		if mine, err := f.store.RenewSession(ctx, s.Hash, s.Asks, claimed, s.Renewal); !mine || err != nil {
			t.Fatalf("asking: %v, %v", mine, err)
		}
		s.Asks = claimed
		return s
	}
	s := asking() // on a third server, which answers while the request waits
	came := make(chan error)
	before := box.Asked("/oauth/token")
	go func() {
		_, err := f.a.Session(ctx, secret, Now)
		came <- err
	}()
	for !f.a.waits(s.Hash) {
		runtime.Gosched()
	}
	if _, err := f.store.RenewSession(ctx, s.Hash, s.Asks, store.Asks{Asked: s.Asking}, s.Renewal); err != nil {
		t.Fatal(err)
	}
	if err := <-came; err != nil {
		t.Fatal(err)
	}
	if n := box.Asked("/oauth/token") - before; n > 1 {
		t.Errorf("the provider was asked %d times", n)
	}
	asking() // and never answers
	f.b.gone = 0
	box.SetUser(dana("staff"))
	user, err := f.b.Session(ctx, secret, Now)
	if got := f.member(user).Groups; err != nil || got != "staff" {
		t.Errorf("after a server has gone: %q, %v", got, err)
	}
}

// waits reports whether a request of this desk is at a question.
func (d *Desk) waits(hash [32]byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.questions[hash] != nil
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
