package remote_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/remote"
)

const (
	repo  api.RepoSlug = "acme/widgets"
	token string       = "tm_of_a_test"
)

// script is a server that answers as a test says, and counts.
type script struct {
	*httptest.Server
	asked atomic.Int32
}

func answers(t *testing.T, answer http.HandlerFunc) *script {
	t.Helper()
	s := &script{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// saying answers every request alike.
func saying(t *testing.T, status int, kind, body string, header ...string) *script {
	t.Helper()
	return answers(t, func(w http.ResponseWriter, _ *http.Request) {
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

func clientOf(t *testing.T, server string, change ...func(*remote.Options)) *remote.Client {
	t.Helper()
	opts := remote.Options{Server: server, Token: func() string { return token }, Tries: 3, Pause: time.Millisecond}
	for _, c := range change {
		c(&opts)
	}
	c, err := remote.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// aMemory is a small answer as a server of ours gives it.
const aMemory = `{"organizationId":"o1","repo":"acme/widgets","version":7,"epoch":"e1","lastModified":"2026-03-01T12:00:00.000Z",` +
	`"checksum":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",` +
	`"content":{"entries":{"t.md":"text"},"entryChecksums":{"t.md":"sha256:982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"}},"deleted":{}}`
