package signin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammem/client/config"
)

// browserTime is how long a person may take in the browser.
const browserTime = 10 * time.Minute

// Browser signs in by a browser on this machine, which comes back to a port of
// loopback that only this sign-in knows. show is called with the address to open.
func (f *Flow) Browser(ctx context.Context, show func(Prompt)) (config.Grant, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return config.Grant{}, fmt.Errorf("wait for the browser: %w", err)
	}
	f.oauth.RedirectURL = "http://" + listener.Addr().String() + "/callback"
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	came := make(chan url.Values, 1)
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler:           landing(state, came),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	defer func() {
		// The page is still on its way to the browser.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(last)
		<-served
	}()
	ctx, cancel := context.WithTimeout(ctx, browserTime)
	defer cancel()
	show(Prompt{Address: f.oauth.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)), Expires: f.now().Add(browserTime)})
	select {
	case q := <-came:
		return f.exchange(ctx, q, verifier)
	case <-ctx.Done():
		return config.Grant{}, f.refused(ctx.Err())
	}
}

func (f *Flow) exchange(ctx context.Context, q url.Values, verifier string) (config.Grant, error) {
	if iss := q.Get("iss"); iss != "" && iss != f.announced.Issuer {
		return config.Grant{}, errors.New("another provider answered than the one that was asked")
	}
	if code := q.Get("error"); code != "" {
		return config.Grant{}, &RefusedError{Issuer: f.announced.Issuer, Code: code}
	}
	token, err := f.oauth.Exchange(f.context(ctx), q.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		return config.Grant{}, f.refused(err)
	}
	return f.grant(token)
}

// landing is the page that the browser comes back to. Only the answer to our own
// question counts, and only the first.
func landing(state string, came chan<- url.Values) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Security-Policy", "default-src 'none'")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		q := r.URL.Query()
		if q.Get("state") != state {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprint(w, "<!doctype html><title>teammem</title><p>This is not the sign-in that waits here.")
			return
		}
		select {
		case came <- q:
		default:
		}
		_, _ = fmt.Fprint(w, `<!doctype html><title>teammem</title><p id="done">Back to the terminal: this page can be closed.`)
	})
	return mux
}
