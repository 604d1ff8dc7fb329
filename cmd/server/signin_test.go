package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/teammem/teammem/devoidc"
)

// pageFile is the page that a script saw last.
const pageFile = "page.html"

// keep keeps a page for the script, and checks its status.
func keep(ts *testscript.TestScript, answer *http.Response, err error, want string) {
	ts.Check(err)
	text, err := io.ReadAll(answer.Body)
	ts.Check(err)
	ts.Check(answer.Body.Close())
	ts.Check(os.WriteFile(ts.MkAbs(pageFile), text, 0o600))
	if got := fmt.Sprint(answer.StatusCode); got != want {
		ts.Fatalf("%s: status %s, want %s\n%s", answer.Request.URL.Path, got, want, text)
	}
}

// linkIn is the link in a file, at the script's server.
func linkIn(ts *testscript.TestScript, file string) (page, secret string) {
	link, err := url.Parse(strings.TrimSpace(ts.ReadFile(file)))
	ts.Check(err)
	return ts.Getenv("URL") + link.RequestURI(), link.Query().Get("t")
}

func newBrowser(ts *testscript.TestScript) *http.Client {
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	return &http.Client{Jar: jar, Timeout: 20 * time.Second}
}

func lookAt(ts *testscript.TestScript, _ bool, args []string) {
	page, _ := linkIn(ts, args[0])
	answer, err := newBrowser(ts).Get(page)
	keep(ts, answer, err, args[1])
}

func press(ts *testscript.TestScript, _ bool, args []string) {
	_, secret := linkIn(ts, args[0])
	answer, err := newBrowser(ts).PostForm(ts.Getenv("URL")+"/sign-in/link", url.Values{"t": {secret}})
	keep(ts, answer, err, args[1])
}

func secretOf(ts *testscript.TestScript, _ bool, args []string) {
	_, secret := linkIn(ts, args[0])
	ts.Setenv("SECRET", secret)
}

// startProvider starts a provider; the web client returns to wherever it says.
func startProvider(ts *testscript.TestScript, _ bool, _ []string) {
	box, err := devoidc.Start("", devoidc.Config{Users: []devoidc.User{
		{Subject: "sub-dana", Name: "dana", Email: "dana@acme.example", Verified: true},
		{Subject: "sub-lee", Name: "lee", Email: "lee@acme.example", Verified: true},
		{Subject: "sub-sam", Name: "sam", Email: "sam@acme.example"},
	}}, nil)
	ts.Check(err)
	ts.Defer(box.Stop)
	ts.Value(background{}).(*background).provider = box
	ts.Setenv("ISSUER", box.Issuer)
}

// signIn signs a user of the provider in, in a browser of their own.
func signIn(ts *testscript.TestScript, _ bool, args []string) {
	box, client := ts.Value(background{}).(*background).provider, newBrowser(ts)
	box.SetClient(devoidc.Client{ID: "teammem-web", Secret: "devoidc", Redirects: []string{ts.Getenv("URL") + "/sign-in/callback"}})
	page, err := client.Get(ts.Getenv("URL") + "/sign-in")
	ts.Check(err)
	ts.Check(page.Body.Close())
	answer, err := client.PostForm(box.Issuer+"/login", url.Values{"request": {page.Request.URL.Query().Get("request")}, "user": {args[0]}})
	keep(ts, answer, err, args[1])
}

// awaitScan scans anew until a line matches: a server notes whom it served within a second
// or two, and there are findings.
func awaitScan(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile(args[0])
	poll(ts, 10*time.Second, func() error {
		if ts.Exec("server", "scan", "--restart") == nil {
			return errors.New("nothing was found")
		}
		if found := ts.ReadFile("stdout"); !want.MatchString(found) {
			return fmt.Errorf("no finding matches %s:\n%s", args[0], found)
		}
		return nil
	})
}

// awaitAudit waits until a record of the trail matches: refusals are gathered first.
func awaitAudit(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile(args[0])
	poll(ts, 10*time.Second, func() error {
		ts.Check(ts.Exec("server", "audit", "export"))
		if trail := ts.ReadFile("stdout"); !want.MatchString(trail) {
			return fmt.Errorf("no record matches %s:\n%s", args[0], trail)
		}
		return nil
	})
}
