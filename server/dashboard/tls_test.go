package dashboard_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/devoidc"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/signon"
)

// withProvider is a server whose people come from acme.example, and its provider.
func withProvider(t *testing.T, options ...servertest.Option) (*servertest.Server, *devoidc.Box) {
	t.Helper()
	box, err := devoidc.Start("", devoidc.Config{
		Users: []devoidc.User{{Subject: "sub-dana", Name: "dana", Email: "dana@acme.example", Verified: true}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(box.Stop)
	srv := servertest.Start(t, append(options, servertest.Configured(func(c *server.Config) {
		c.Providers = []provider.Config{{Issuer: box.Issuer, ClientID: "web", ClientSecret: "s", Name: "Acme"}}
		c.SignOn.Join = []signon.Rule{{Kind: "domain", Name: "acme.example", Organization: server.FirstOrganization, Role: api.Member}}
	}))...)
	box.SetClient(devoidc.Client{ID: "web", Secret: "s", Redirects: []string{srv.URL + "/sign-in/callback"}})
	return srv, box
}

// asDana answers at the provider as a person does, without a browser.
func asDana(t *testing.T, client *http.Client, address string) *http.Response {
	t.Helper()
	page, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	_ = page.Body.Close()
	at := page.Request.URL
	answer, err := client.PostForm(at.Scheme+"://"+at.Host+at.Path, url.Values{"request": {at.Query().Get("request")}, "user": {"dana"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer
}

// alone is a browser without a window: it keeps cookies, and stops at redirects
// where told.
func alone(t *testing.T, srv *servertest.Server) *http.Client {
	t.Helper()
	client := srv.Client()
	var err error
	if client.Jar, err = cookiejar.New(nil); err != nil {
		t.Fatal(err)
	}
	return client
}

// session is the secret that a browser keeps of a server.
func session(client *http.Client, srv *servertest.Server) string {
	at, err := url.Parse(srv.URL)
	if err != nil {
		return ""
	}
	for _, c := range client.Jar.Cookies(at) {
		if strings.HasSuffix(c.Name, "teammem-session") {
			return c.Value
		}
	}
	return ""
}

// shows is the page that a request is answered with.
func shows(t *testing.T, client *http.Client, r *http.Request) string {
	t.Helper()
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTheCookieOverTLS and on this machine without it, as a real browser keeps it.
func TestTheCookieOverTLS(t *testing.T) {
	for name, c := range map[string]struct {
		options []servertest.Option
		prefix  string
		secure  bool
	}{
		"TLS":      {[]servertest.Option{servertest.WithTLS()}, "__Host-", true},
		"loopback": {nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := browser(t, chromedp.Flag("ignore-certificate-errors", true))
			srv, _ := withProvider(t, c.options...)
			if err := chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/"), chromedp.Click(".sign-in"), chromedp.WaitVisible(`button[value="dana"]`),
				chromedp.Click(`button[value="dana"]`), chromedp.WaitVisible("#user")); err != nil {
				t.Fatal(err)
			}
			// Its scripts see nothing of it.
			if seen, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.cookie`)); err != nil || seen != "" {
				t.Errorf("scripts see %q, %v", seen, err)
			}
			client := alone(t, srv)
			var set []*http.Cookie
			client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
				set = append(set, r.Response.Cookies()...)
				return nil
			}
			asDana(t, client, srv.URL+"/sign-in")
			var names []string
			for _, got := range set {
				if !strings.HasPrefix(got.Name, c.prefix+"teammem-") || got.Secure != c.secure || !got.HttpOnly || got.SameSite != http.SameSiteLaxMode || got.Path != "/" || got.Domain != "" {
					t.Errorf("%s secure=%v httpOnly=%v sameSite=%d path=%s domain=%s", got.Name, got.Secure, got.HttpOnly, got.SameSite, got.Path, got.Domain)
				}
				names = append(names, strings.TrimPrefix(got.Name, c.prefix))
			}
			if got := strings.Join(names, " "); got != "teammem-sign-in teammem-sign-in teammem-session" {
				t.Errorf("the cookies are %s", got)
			}
		})
	}
}

// TestHeaders: every answer of ours, good or bad, has the headers of the checklist.
func TestHeaders(t *testing.T) {
	for name, options := range map[string][]servertest.Option{"TLS": {servertest.WithTLS()}, "loopback": nil} {
		t.Run(name, func(t *testing.T) {
			srv, _ := withProvider(t, options...)
			client := alone(t, srv)
			client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			for _, c := range []struct {
				method, path string
				want         int
			}{
				{http.MethodGet, "/", http.StatusOK},
				{http.MethodHead, "/", http.StatusOK},
				{http.MethodGet, "/sign-in", http.StatusSeeOther},
				{http.MethodGet, "/sign-in/callback", http.StatusBadRequest},
				{http.MethodGet, "/sign-in/link?t=x", http.StatusUnauthorized},
				{http.MethodPost, "/sign-in/link", http.StatusUnauthorized},
				{http.MethodPost, "/sign-out", http.StatusSeeOther},
				{http.MethodPost, "/sign-out/everywhere", http.StatusSeeOther},
				{http.MethodGet, api.PathWellKnown, http.StatusOK},
				{http.MethodGet, "/static/nothing.css", http.StatusNotFound},
				{http.MethodGet, api.PathWhoAmI, http.StatusUnauthorized},
			} {
				r, err := http.NewRequest(c.method, srv.URL+c.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				want := map[string]string{"X-Content-Type-Options": "nosniff"}
				if name == "TLS" {
					want["Strict-Transport-Security"] = "max-age=31536000"
				} else {
					want["Strict-Transport-Security"] = ""
				}
				if c.path == "/" || strings.HasPrefix(c.path, "/sign-") {
					want["Referrer-Policy"], want["X-Frame-Options"], want["Cache-Control"] = "no-referrer", "DENY", "no-store"
					want["Content-Security-Policy"] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
						"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
				}
				if answer.StatusCode != c.want {
					t.Errorf("%s %s: %d, want %d", c.method, c.path, answer.StatusCode, c.want)
				}
				for header, value := range want {
					if got := answer.Header.Get(header); got != value {
						t.Errorf("%s %s: %s is %q, want %q", c.method, c.path, header, got, value)
					}
				}
			}
		})
	}
}

// TestASignInBelongsToItsBrowser: the answers of a provider that a stranger plants,
// replays or turns elsewhere sign nobody in, and nobody is sent to another site.
func TestASignInBelongsToItsBrowser(t *testing.T) {
	srv, box := withProvider(t, servertest.WithTLS())
	// The stranger's own sign-in, stopped before the server hears of it.
	stranger := alone(t, srv)
	var planted string
	stranger.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/sign-in/callback" {
			planted = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}
	asDana(t, stranger, srv.URL+"/sign-in")
	victim := alone(t, srv)
	refused := func(what string, client *http.Client, address string) {
		t.Helper()
		before := box.Asked("/oauth/token")
		answer, err := client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode < 400 || session(client, srv) != "" || box.Asked("/oauth/token") != before {
			t.Errorf("%s: %s, session %q, the code was exchanged %d times", what, answer.Status, session(client, srv), box.Asked("/oauth/token")-before)
		}
	}
	refused("an answer planted in a browser that began nothing", victim, planted)
	begin, err := victim.Get(srv.URL + "/sign-in")
	if err != nil {
		t.Fatal(err)
	}
	_ = begin.Body.Close()
	refused("an answer planted in a browser that began another sign-in", victim, planted)
	refused("the same without a state", victim, strings.Replace(planted, "state=", "was=", 1))

	// Where to go afterwards is on this server, whatever is asked for, and whoever
	// was signed in before is signed out: a session that was planted is worth nothing.
	at, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, elsewhere := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", "/\t/evil.example", "evil.example", "javascript:alert(1)", "/./\\evil.example"} {
		old := session(victim, srv)
		answer := asDana(t, victim, srv.URL+"/sign-in?"+url.Values{"return": {elsewhere}}.Encode())
		if answer.Request.URL.Host != at.Host || answer.Request.URL.Path != "/" || answer.StatusCode != http.StatusOK {
			t.Errorf("%q leads to %s, %s", elsewhere, answer.Request.URL, answer.Status)
		}
		if now := session(victim, srv); now == "" || now == old {
			t.Errorf("%q: the session is the one of before", elsewhere)
		}
		if old != "" {
			r, err := http.NewRequest(http.MethodGet, srv.URL+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.AddCookie(&http.Cookie{Name: "__Host-teammem-session", Value: old})
			if user := shows(t, srv.Client(), r); strings.Contains(user, `id="user"`) {
				t.Errorf("the session of before still holds")
			}
		}
	}
	for _, secret := range []string{planted, session(victim, srv)} {
		u, _ := url.Parse(secret)
		if code := u.Query().Get("code"); code != "" {
			secret = code
		}
		if strings.Contains(srv.Log(), secret) {
			t.Errorf("the log holds a secret")
		}
	}
}

// TestPlainHTTPFromElsewhere: by a name that is not this machine's nobody is signed in
// without TLS.
func TestPlainHTTPFromElsewhere(t *testing.T) {
	srv, _ := withProvider(t)
	for _, c := range []struct {
		host string
		want int
	}{{"memory.acme.example", http.StatusForbidden}, {"192.0.2.7:8080", http.StatusForbidden}, {"127.0.0.1.evil.example", http.StatusForbidden}, {"localhost:8080", http.StatusSeeOther}, {"[::1]:8080", http.StatusSeeOther}} {
		r, err := http.NewRequest(http.MethodGet, srv.URL+"/sign-in", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		client := srv.Client()
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != c.want || c.want == http.StatusForbidden && len(answer.Cookies()) != 0 {
			t.Errorf("%s: %d and %d cookies, want %d", c.host, answer.StatusCode, len(answer.Cookies()), c.want)
		}
	}
}

// TestAGroupIsLeftAtTheNextRequest: what a group gave to a browser that is open is gone
// with the next form, and with the next page of rights.
func TestAGroupIsLeftAtTheNextRequest(t *testing.T) {
	srv, box := withProvider(t)
	b := &team{t: t, Server: srv}
	b.TokenOf(server.FirstOrganization, "boss", api.Admin)
	b.as("boss").post("/access/set", "kind", "group", "name", "leads", "pattern", "", "role", "admin").says(t, "leads")
	groups := func(names ...string) {
		box.SetUser(devoidc.User{Subject: "sub-dana", Name: "dana", Email: "dana@acme.example", Verified: true, Groups: names})
	}
	groups("leads")
	dana := &visitor{b, alone(t, srv)}
	asDana(t, dana.http, srv.URL+"/sign-in")
	for _, c := range []struct {
		groups []string
		want   int
	}{{[]string{"leads"}, http.StatusOK}, {nil, http.StatusForbidden}, {[]string{"leads"}, http.StatusOK}, {[]string{"staff"}, http.StatusForbidden}} {
		groups(c.groups...)
		if p := dana.post("/people/set", "name", "new-one", "role", "viewer"); p.status != c.want {
			t.Errorf("in %v a form is answered %d, want %d", c.groups, p.status, c.want)
		}
		groups("leads")
		dana.get("/people")
		groups(c.groups...)
		if p := dana.get("/people"); p.status != c.want {
			t.Errorf("in %v a page of rights is answered %d, want %d", c.groups, p.status, c.want)
		}
	}
}
