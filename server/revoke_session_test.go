package server_test

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/devoidc"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/signon"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// replicas are two servers on one database, and the provider of both.
type replicas struct {
	t        *testing.T
	one, two *servertest.Server
	box      *devoidc.Box
	org      store.Organization
	rules    *organization.Rules
}

func newReplicas(t *testing.T) *replicas {
	dsn := pgtest.DSN(t)
	box, err := devoidc.Start("", devoidc.Config{
		Clients: []devoidc.Client{{ID: "teammem"}},
		Users:   []devoidc.User{{Subject: "sub-dana", Name: "dana", Email: "dana@acme.example", Verified: true, Groups: []string{"writers"}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(box.Stop)
	configured := servertest.Configured(func(c *server.Config) {
		c.Database = dsn
		c.Providers = []provider.Config{{Issuer: box.Issuer, ClientID: "web", ClientSecret: "s", CLIClientID: "teammem"}}
		c.SignOn.Join = []signon.Rule{{Kind: "domain", Name: "acme.example", Organization: server.FirstOrganization, Role: api.Viewer}}
	})
	r := &replicas{t: t, one: servertest.Start(t, configured), two: servertest.Start(t, configured), box: box}
	box.SetClient(devoidc.Client{ID: "web", Secret: "s", Redirects: []string{r.one.URL + "/sign-in/callback"}})
	if r.org, err = r.one.Store().Organization(t.Context(), server.FirstOrganization); err != nil {
		t.Fatal(err)
	}
	// As a command beside the servers: neither is told.
	r.rules = organization.New(r.one.Store(), time.Now, nil)
	return r
}

func (r *replicas) do(method, address string, form url.Values, into any) *http.Response {
	r.t.Helper()
	request, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		r.t.Fatal(err)
	}
	return answer
}

// token signs dana in by the device flow; the token says what groups she has now.
func (r *replicas) token() string {
	r.t.Helper()
	var asked struct {
		Device string `json:"device_code"`
		User   string `json:"user_code"`
	}
	r.do(http.MethodPost, r.box.Issuer+"/device_authorization", url.Values{"client_id": {"teammem"}, "scope": {"openid email profile groups"}}, &asked)
	if err := r.box.Confirm(asked.User, "dana", true); err != nil {
		r.t.Fatal(err)
	}
	var token struct {
		Access string `json:"access_token"`
	}
	r.do(http.MethodPost, r.box.Issuer+"/oauth/token", url.Values{
		"client_id": {"teammem"}, "grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {asked.Device},
	}, &token)
	if token.Access == "" {
		r.t.Fatal("there is no token")
	}
	return token.Access
}

// write is the status of a PUT of something new.
func (r *replicas) write(s *servertest.Server, token string) int {
	r.t.Helper()
	key := "n" + strings.ToLower(rand.Text()) + ".md"
	body := `{"entries":{"` + key + `":"new"},"baseChecksums":{"` + key + `":null}}`
	request, err := http.NewRequest(http.MethodPut, s.URL+api.PathTeamMemory+"?repo=acme/widgets", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := s.Client().Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// ask is the status of a request without a body.
func (r *replicas) ask(s *servertest.Server, method, path, token string) int {
	r.t.Helper()
	request, err := http.NewRequest(method, s.URL+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := s.Client().Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// browser signs dana in with the pages of the first server.
func (r *replicas) browser() *http.Client {
	r.t.Helper()
	client := &http.Client{}
	var err error
	if client.Jar, err = cookiejar.New(nil); err != nil {
		r.t.Fatal(err)
	}
	page, err := client.Get(r.one.URL + "/sign-in")
	if err != nil {
		r.t.Fatal(err)
	}
	_ = page.Body.Close()
	answer, err := client.PostForm(r.box.Issuer+"/login", url.Values{"request": {page.Request.URL.Query().Get("request")}, "user": {"dana"}})
	if err != nil {
		r.t.Fatal(err)
	}
	_ = answer.Body.Close()
	return client
}

// signedIn reports whether a server's first page shows that somebody is.
func (r *replicas) signedIn(client *http.Client, s *servertest.Server) bool {
	r.t.Helper()
	answer, err := client.Get(s.URL + "/")
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Contains(string(text), `id="user"`)
}

// holds waits until something is refused, and says how long that took.
func (r *replicas) holds(what string, since time.Time, refused func() bool) {
	r.t.Helper()
	for !refused() {
		if time.Since(since) > 10*time.Second {
			r.t.Fatalf("%s: still taken", what)
		}
	}
	took := time.Since(since)
	r.t.Logf("%s: refused after %s", what, took)
	if took > 2*time.Second {
		r.t.Errorf("%s: refused after %s, want under 1 s on a quiet machine", what, took)
	}
}

// TestAGroupThatIsTakenAwayTakesItsRight: at the next request of a token that is
// without it, and on the other server within a second, the tokens of before included.
func TestAGroupThatIsTakenAwayTakesItsRight(t *testing.T) {
	r := newReplicas(t)
	if err := r.rules.SetGrant(t.Context(), organization.Operator(r.org.ID), store.Grant{Kind: store.ForGroup, Name: "writers", Role: api.Member}); err != nil {
		t.Fatal(err)
	}
	before := r.token()
	for _, s := range []*servertest.Server{r.one, r.two} {
		if got := r.write(s, before); got != http.StatusOK {
			t.Fatalf("a member of the group is answered %d", got)
		}
	}
	r.box.SetUser(devoidc.User{Subject: "sub-dana", Name: "dana", Email: "dana@acme.example", Verified: true})
	// Tokens of one second are equally new; the one without the group is to be newer.
	for second := time.Now().Unix(); time.Now().Unix() == second; {
		time.Sleep(10 * time.Millisecond)
	}
	after := r.token()
	if got := r.write(r.one, after); got != http.StatusForbidden {
		t.Errorf("the first request without the group: %d", got)
	}
	since := time.Now()
	if got := r.write(r.one, before); got != http.StatusForbidden {
		t.Errorf("the next request with the token of before, on the same server: %d", got)
	}
	r.holds("a right of a group, by the token of before, on the other server", since, func() bool { return r.write(r.two, before) == http.StatusForbidden })
}

// TestAProvidersTokenThatIsSignedOut is refused on both servers, and the chain says
// who signed in and out by it, and who tried it again.
func TestAProvidersTokenThatIsSignedOut(t *testing.T) {
	r := newReplicas(t)
	token := r.token()
	if got := r.ask(r.one, http.MethodPost, api.PathSession, token); got != http.StatusOK {
		t.Fatalf("signing in: %d", got)
	}
	if got := r.ask(r.two, http.MethodGet, api.PathWhoAmI, token); got != http.StatusOK {
		t.Fatalf("the other server: %d", got)
	}
	if got := r.ask(r.one, http.MethodDelete, api.PathSession, token); got != http.StatusOK {
		t.Fatalf("signing out: %d", got)
	}
	since := time.Now()
	if got := r.ask(r.one, http.MethodGet, api.PathWhoAmI, token); got != http.StatusUnauthorized {
		t.Errorf("the next request on the same server: %d", got)
	}
	r.holds("a provider's token that was signed out, on the other server", since, func() bool {
		return r.ask(r.two, http.MethodGet, api.PathWhoAmI, token) == http.StatusUnauthorized
	})
	r.wantAudit("signin dana provider", "signout dana provider", "refused dana provider")
}

// TestAMemberWhoIsTakenOut is out on both servers, with their browser and their
// provider's token, and the chain says so.
func TestAMemberWhoIsTakenOut(t *testing.T) {
	r := newReplicas(t)
	token, client := r.token(), r.browser()
	for _, s := range []*servertest.Server{r.one, r.two} {
		// Cookies do not mind the port: on one host the second server is shown it too.
		if !r.signedIn(client, s) || r.write(s, token) != http.StatusForbidden {
			t.Fatal("dana is not signed in")
		}
	}
	ask := func(s *servertest.Server) int { return r.ask(s, http.MethodGet, api.PathWhoAmI, token) }
	// First a session that is signed out on the other server.
	other := r.browser()
	answer, err := other.Post(r.two.URL+"/sign-out", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	// The cookie went with it; what was stolen of it before does not hold either.
	stolen := r.browser()
	at, err := url.Parse(r.one.URL)
	if err != nil {
		t.Fatal(err)
	}
	kept := stolen.Jar.Cookies(at)
	if !r.signedIn(stolen, r.one) || !r.signedIn(stolen, r.two) {
		t.Fatal("dana is not signed in")
	}
	if answer, err = stolen.Post(r.one.URL+"/sign-out", "", nil); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	_ = answer.Body.Close()
	stolen.Jar.SetCookies(at, kept)
	if r.signedIn(stolen, r.one) {
		t.Error("the session holds on the server that ended it")
	}
	r.holds("a browser's session, on the other server", since, func() bool { return !r.signedIn(stolen, r.two) })

	// Both servers have just seen the token.
	for _, s := range []*servertest.Server{r.one, r.two} {
		if got := ask(s); got != http.StatusOK {
			t.Fatalf("before: %d", got)
		}
	}
	if err := r.rules.RemoveMember(t.Context(), organization.Operator(r.org.ID), "dana"); err != nil {
		t.Fatal(err)
	}
	since = time.Now()
	for name, s := range map[string]*servertest.Server{"one": r.one, "two": r.two} {
		r.holds("a member who was taken out, by browser, on server "+name, since, func() bool { return !r.signedIn(client, s) })
		r.holds("a member who was taken out, by a provider's token, on server "+name, since, func() bool { return ask(s) == http.StatusForbidden })
	}
	again := r.browser()
	if r.signedIn(again, r.one) {
		t.Error("dana is signed in again")
	}
	r.wantAudit("signin dana provider", "signout dana session", "member.remove operator command", "refused dana provider")
}

// wantAudit waits until the organization's chain holds records of ACTION USER HOW.
func (r *replicas) wantAudit(want ...string) {
	r.t.Helper()
	var have []string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		records, err := r.one.Store().OrgAudit(r.t.Context(), r.org.ID, 0, 1000)
		if err != nil {
			r.t.Fatal(err)
		}
		have = nil
		for _, record := range records {
			var deed struct {
				How string `json:"how"`
			}
			if err := json.Unmarshal(record.Subject, &deed); err != nil {
				r.t.Fatal(err)
			}
			have = append(have, record.Action+" "+record.User+" "+deed.How)
		}
		missing := false
		for _, w := range want {
			missing = missing || !strings.Contains("\n"+strings.Join(have, "\n")+"\n", "\n"+w+"\n")
		}
		if !missing {
			return
		}
	}
	r.t.Errorf("the chain holds\n%s\nwant among them\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
}
