package dashboard_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/devoidc"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/signon"
)

// browser is a real one, without a window.
func browser(t *testing.T, options ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium here")
	}
	home, err := os.MkdirTemp("", "teammem-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	ctx, stop := chromedp.NewExecAllocator(ctx, append(options,
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(home), chromedp.Flag("headless", true),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("no-first-run", true), chromedp.Flag("disable-dev-shm-usage", true))...)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		closeTab()
		stop()
		cancel()
		_ = os.RemoveAll(home)
	})
	return ctx
}

func see(t *testing.T, ctx context.Context, selector, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Text(selector))
	if err != nil || !strings.Contains(text, want) {
		t.Fatalf("%s shows %q, %v; want %q", selector, text, err, want)
	}
}

// TestSignInWithABrowser: through the provider's page and back, out again, and out
// everywhere; a second browser is signed out with the first.
func TestSignInWithABrowser(t *testing.T) {
	first := browser(t)
	box, err := devoidc.Start("/realms/acme", devoidc.Config{
		Users: []devoidc.User{{Subject: "sub-dana", Name: "dana", Email: "dana@acme.example", Verified: true}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(box.Stop)
	srv := servertest.Start(t, servertest.Configured(func(c *server.Config) {
		c.Providers = []provider.Config{{Issuer: box.Issuer, ClientID: "web", ClientSecret: "s", Name: "Acme"}}
		c.SignOn.Join = []signon.Rule{{Kind: "domain", Name: "acme.example", Organization: server.FirstOrganization, Role: api.Maintainer}}
	}))
	box.SetClient(devoidc.Client{ID: "web", Secret: "s", Redirects: []string{srv.URL + "/sign-in/callback"}})

	signIn := func(ctx context.Context) {
		t.Helper()
		if err := chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/"), chromedp.Click(".sign-in"), chromedp.WaitVisible(`button[value="dana"]`),
			chromedp.Click(`button[value="dana"]`), chromedp.WaitVisible("#user")); err != nil {
			t.Fatal(err)
		}
		see(t, ctx, "#user", "dana")
		see(t, ctx, ".role", "maintainer")
	}
	signIn(first)
	if err := chromedp.Do(first, chromedp.Navigate(srv.URL+"/settings"), chromedp.Click("#sign-out"), chromedp.WaitVisible(".sign-in")); err != nil {
		t.Fatal(err)
	}
	signIn(first)
	second := browser(t)
	signIn(second)
	if err := chromedp.Do(first, chromedp.Navigate(srv.URL+"/settings"), chromedp.Click("#sign-out-everywhere"), chromedp.WaitVisible(".sign-in")); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for time.Since(began) < time.Second {
		if err := chromedp.Do(second, chromedp.Navigate(srv.URL+"/")); err != nil {
			t.Fatal(err)
		}
		if title, err := chromedp.Run(second, chromedp.Title()); err == nil && strings.HasPrefix(title, "Sign in") {
			return
		}
	}
	t.Error("the second browser is still signed in a second later")
}

// TestAFormOfAnotherSite, and a state that belongs to no sign-in, change nothing.
func TestAFormOfAnotherSite(t *testing.T) {
	srv := servertest.Start(t)
	for _, c := range []struct {
		method, path, header string
		want                 int
	}{
		{http.MethodPost, "/sign-out", "cross-site", http.StatusForbidden},
		{http.MethodPost, "/sign-out", "same-origin", http.StatusSeeOther},
		{http.MethodGet, "/sign-in/callback?state=x&code=y", "cross-site", http.StatusBadRequest},
		{http.MethodGet, "/sign-in/link?t=x", "none", http.StatusUnauthorized},
		{http.MethodGet, "/sign-in?issuer=https://evil.example", "none", http.StatusNotFound},
		{http.MethodGet, "/", "none", http.StatusOK},
	} {
		r, err := http.NewRequest(c.method, srv.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Sec-Fetch-Site", c.header)
		client := srv.Client()
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s %s from %s: %d, want %d", c.method, c.path, c.header, answer.StatusCode, c.want)
		}
		if c.want != http.StatusForbidden && !strings.HasPrefix(answer.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s %s has the policy %q", c.method, c.path, answer.Header.Get("Content-Security-Policy"))
		}
	}
}
