package remote_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/remote"
)

// TestTheTokenStaysHome: it is in one header of a request to the server's own
// origin, and goes along with no redirect.
func TestTheTokenStaysHome(t *testing.T) {
	elsewhere := answers(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed: %s %s with %v", r.Method, r.URL, r.Header)
	})
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := answers(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL+r.URL.Path, status) })
		c := clientOf(t, server.URL)
		_, got := c.Get(t.Context(), repo, remote.Query{})
		_, put := c.Put(t.Context(), repo, api.Push{Entries: map[api.Key]string{"t.md": "text"}}, "")
		_, listened := c.Listen(t.Context(), repo, "")
		for what, err := range map[string]error{"get": got, "put": put, "listen": listened} {
			var stranger *remote.Stranger
			if !errors.As(err, &stranger) {
				t.Errorf("%s, %d: %v", what, status, err)
			}
		}
		if server.asked.Load() != 3 {
			t.Errorf("%d: asked %d times for three calls", status, server.asked.Load())
		}
	}

	server := answers(t, func(w http.ResponseWriter, r *http.Request) {
		anonymous := r.URL.Path == api.PathWellKnown
		for name, values := range r.Header {
			if text := strings.Join(values, " "); strings.Contains(text, token) && (name != "Authorization" || text != "Bearer "+token) {
				t.Errorf("the token stands in %s", name)
			}
		}
		if got := r.Header.Get("Authorization"); anonymous != (got == "") {
			t.Errorf("%s: Authorization %q", r.URL.Path, got)
		}
		if strings.Contains(r.URL.String(), token) {
			t.Errorf("the token stands in the address")
		}
		w.WriteHeader(http.StatusTeapot)
	})
	c := clientOf(t, server.URL)
	_, got := c.Get(t.Context(), repo, remote.Query{})
	_, known := c.WellKnown(t.Context())
	_, who := c.WhoAmI(t.Context())
	for _, err := range []error{got, known, who} {
		if err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("the error is %v", err)
		}
	}
}

// TestUnknownAuthority: a certificate that nobody trusts is told with the cure, at
// once; with its authority named the way is open.
func TestUnknownAuthority(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(aMemory))
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()

	slow := func(o *remote.Options) { o.Pause = time.Hour } // a second try would never end
	_, err := clientOf(t, server.URL, slow).Get(t.Context(), repo, remote.Query{})
	var unreachable *remote.Unreachable
	if !errors.As(err, &unreachable) || !strings.Contains(unreachable.Hint(), "--ca FILE") {
		t.Fatalf("%v", err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	trusting := func(o *remote.Options) { o.CAFile = ca }
	if answer, err := clientOf(t, server.URL, trusting).Get(t.Context(), repo, remote.Query{}); err != nil || answer.Memory.Version != 7 {
		t.Errorf("%+v, %v", answer, err)
	}
	for name, file := range map[string]string{"no such file": ca + ".not", "no certificate": os.Args[0]} {
		if _, err := remote.New(remote.Options{Server: server.URL, CAFile: file}); err == nil || !strings.Contains(err.Error(), "certificate file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSilentServer: one that takes a connection and never answers ends with the
// caller's patience, and one that does not listen is told as such.
func TestSilentServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = clientOf(t, "http://"+listener.Addr().String()).Get(ctx, repo, remote.Query{})
	var unreachable *remote.Unreachable
	if !errors.As(err, &unreachable) || !unreachable.Timeout || !strings.Contains(err.Error(), "did not answer in time") {
		t.Errorf("silent: %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = clientOf(t, "http://"+listener.Addr().String()).Get(t.Context(), repo, remote.Query{})
	if !errors.As(err, &unreachable) || unreachable.Timeout || strings.Contains(err.Error(), "repo=") {
		t.Errorf("not there: %v", err)
	}
}
