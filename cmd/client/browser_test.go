package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/rogpeppe/go-internal/testscript"
)

var browserAddress = regexp.MustCompile(`to sign in, open\s+(\S+)`)

// loginInBrowser runs client login --browser and opens the address that it shows in a
// real browser, where it signs in as a user, or refuses. Before that a stranger tries
// the port that waits.
func loginInBrowser(ts *testscript.TestScript, _ bool, args []string) {
	stdout, shown := &lockedBuffer{}, &lockedBuffer{}
	cmd := clientCommand(ts, "login", "--browser")
	cmd.Stdout, cmd.Stderr = stdout, shown
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ts.Defer(func() { _ = cmd.Process.Kill() })
	var address string
	poll(ts, "the address is shown", func() bool {
		found := browserAddress.FindStringSubmatch(shown.String())
		if found != nil {
			address = found[1]
		}
		return found != nil
	})
	asked, err := url.Parse(address)
	ts.Check(err)
	landing, err := url.Parse(asked.Query().Get("redirect_uri"))
	ts.Check(err)
	if landing.Hostname() != "127.0.0.1" || asked.Query().Get("code_challenge_method") != "S256" {
		ts.Fatalf("the sign-in goes by %s", address)
	}
	strangers(ts, landing)
	if args[0] == "refuse" {
		// As a provider sends the browser back whose page was answered with no.
		answer, err := http.Get(landing.String() + "?" + url.Values{"error": {"access_denied"}, "state": {asked.Query().Get("state")}}.Encode())
		ts.Check(err)
		ts.Check(answer.Body.Close())
	} else {
		ts.Check(inBrowser(ts, func(ctx context.Context) error {
			return chromedp.Do(ctx, chromedp.Navigate(address), chromedp.Click(`button[value="`+args[0]+`"]`), chromedp.WaitVisible("#done"))
		}))
	}
	select {
	case err = <-ended:
	case <-time.After(30 * time.Second):
		err = errors.New("it does not end")
	}
	ts.Check(os.WriteFile(ts.MkAbs("login.out"), []byte(stdout.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("login.err"), []byte(shown.String()), 0o600))
	if (err == nil) != (args[0] != "refuse") {
		ts.Fatalf("login: %v\n%s", err, shown.String())
	}
}

// strangers sends the port answers that are not the one it waits for.
func strangers(ts *testscript.TestScript, landing *url.URL) {
	for _, c := range []struct {
		method, query string
		want          int
	}{
		{http.MethodGet, "?code=mallory", http.StatusBadRequest},
		{http.MethodGet, "?code=mallory&state=x", http.StatusBadRequest},
		{http.MethodGet, "?error=access_denied&state=", http.StatusBadRequest},
		{http.MethodPost, "?code=mallory&state=x", http.StatusMethodNotAllowed},
	} {
		r, err := http.NewRequest(c.method, landing.String()+c.query, nil)
		ts.Check(err)
		answer, err := http.DefaultClient.Do(r)
		ts.Check(err)
		ts.Check(answer.Body.Close())
		if answer.StatusCode != c.want {
			ts.Fatalf("%s %s is answered %d, want %d", c.method, c.query, answer.StatusCode, c.want)
		}
	}
}

// inBrowser does something in a browser without a window.
func inBrowser(ts *testscript.TestScript, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ctx, stop := chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(ts.MkAbs("chromium")), chromedp.Flag("headless", true),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("no-first-run", true), chromedp.Flag("disable-dev-shm-usage", true))
	defer stop()
	ctx, closeTab := chromedp.NewContext(ctx)
	defer closeTab()
	return do(ctx)
}

// poll waits until something is so.
func poll(ts *testscript.TestScript, what string, so func() bool) {
	for deadline := time.Now().Add(20 * time.Second); !so(); {
		if time.Now().After(deadline) {
			ts.Fatalf("not in time: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
