// Package servertest is a real server in a box, for the tests of both wings: a
// listener on loopback, SQLite in a temporary directory or a real Postgres, the
// same composition that cmd/server runs.
//
//	s := servertest.Start(t)
//	get(s.URL+api.PathWhoAmI, s.Token(api.Member))
//
// A box ends with its test, which fails when the server did not end well.
//
// Beside it stands the black-box suite of the wire, [Conformance]: it speaks HTTP
// only and can be pointed at any server, in a box or not.
package servertest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/store"
)

// Server is a server in a box.
type Server struct {
	URL    string        // without a slash at the end; it stays over a Restart
	CAFile string        // with [WithTLS]: the certificate to trust
	Config server.Config // as the server was started with it

	t    testing.TB
	log  *logBuffer
	pool *x509.CertPool

	mu     sync.Mutex // guards what follows against a Close from the test's cleanup
	run    *server.Server
	cancel context.CancelFunc
	ended  chan error
}

// Option changes a box before it starts.
type Option func(testing.TB, *Server)

// Configured lets a test change the server's configuration.
func Configured(change func(*server.Config)) Option {
	return func(_ testing.TB, s *Server) { change(&s.Config) }
}

// Start starts a server. It has the organization "local" of every first start.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	s := &Server{t: t, Config: server.DefaultConfig(t.TempDir()), log: &logBuffer{}}
	s.Config.Listen = "127.0.0.1:0"
	s.Config.Grace = 10 * time.Second
	for _, option := range options {
		option(t, s)
	}
	s.start()
	t.Cleanup(s.Close)
	return s
}

func (s *Server) start() {
	s.t.Helper()
	log := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	run, err := server.New(context.Background(), log, s.Config, time.Now)
	if err != nil {
		s.t.Fatalf("start the server: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run.Run(ctx) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.cancel, s.ended = run, cancel, ended
	s.URL = run.URL()
	s.Config.Listen = s.URL[strings.LastIndex(s.URL, "/")+1:]
}

// Close ends the server as a signal would; requests under way are finished. It
// does nothing when the server has ended.
func (s *Server) Close() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return
	}
	s.cancel()
	if err := errors.Join(<-s.ended, s.run.Close()); err != nil {
		s.t.Errorf("end the server: %v", err)
	}
	s.run = nil
}

// Restart ends the server and starts it again with the same database and the same
// address. Between Close and Restart the address refuses connections.
func (s *Server) Restart() {
	s.t.Helper()
	s.Close()
	s.start()
}

// Store is the running server's store, to look behind the wire.
func (s *Server) Store() store.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run.Store()
}

// MetricsURL is where Prometheus asks the running server, see [server.Config].
func (s *Server) MetricsURL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run.MetricsURL()
}

// Token makes a token of the role in the organization "local"; its user has the
// role's name.
func (s *Server) Token(role api.Role) string {
	s.t.Helper()
	return s.TokenOf(server.FirstOrganization, string(role), role)
}

// TokenOf makes a token of any user in any organization, which is made where it
// is new.
func (s *Server) TokenOf(organization, user string, role api.Role) string {
	s.t.Helper()
	return s.TokenUntil(organization, user, role, time.Time{})
}

// TokenUntil is TokenOf for a token that ends; the zero time is never.
func (s *Server) TokenUntil(organization, user string, role api.Role, ends time.Time) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	db := s.Store()
	org, err := db.Organization(ctx, organization)
	if errors.Is(err, store.ErrNotFound) {
		org, err = db.CreateOrganization(ctx, auth.NewOrganization(organization, time.Now()))
	}
	if err != nil {
		s.t.Fatalf("find the organization %s: %v", organization, err)
	}
	secret, token := auth.NewToken(org.ID, user, role, time.Now(), ends)
	if _, err := db.CreateToken(ctx, token); err != nil {
		s.t.Fatalf("create a token: %v", err)
	}
	return secret
}

// Client is an HTTP client that trusts the server and shares nothing with others.
func (s *Server) Client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if s.pool != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: s.pool}
	}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// Log is what the server logged so far, all levels.
func (s *Server) Log() string { return s.log.String() }

// logBuffer takes the log of many goroutines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
