// Package server puts the server together: it opens the database, brings its
// schema up, sees to the first start, binds the address, and runs the HTTP server
// until it is told to end. It is the only place that knows which store is
// behind the contract.
//
// What it keeps in the data directory: teammem.db with its companions, when no
// other database is named, redactions.jsonl, the list of what was withdrawn, and admin.token from the first start, readable by its
// owner only.
//
// What is promised: plain http is served on loopback only, unless asked for by
// name; after New the address is bound and the database current, or there is an
// error that says what to do; Run ends by draining: it says that it is not ready,
// takes no new connection, and lets what is under way finish within a bound.
// Close undoes New in reverse order. cmd/server and servertest are the callers.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/dashboard"
	"github.com/teammem/teammem/server/events"
	"github.com/teammem/teammem/server/figures"
	"github.com/teammem/teammem/server/leak"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/organization"
	"github.com/teammem/teammem/server/reading"
	"github.com/teammem/teammem/server/rest"
	"github.com/teammem/teammem/server/signon"
	"github.com/teammem/teammem/server/store"
)

// Config is what a server is told. Begin with [DefaultConfig].
type Config struct {
	Listen       string // host:port; port 0 picks one
	Database     string // sqlite:///path or postgres://…; empty: SQLite in Data
	Replica      string // postgres://… of a streaming replica of it; empty: none is asked
	Data         string // directory of the server's own files
	Redactions   string // the list of what was withdrawn; empty: in Data
	TLSCert      string // files in PEM; both or none
	TLSKey       string
	InsecureHTTP bool // serve plain http off loopback all the same

	MetricsListen string // host:port of a listener for Prometheus; empty: none

	HTTP rest.Config
	Auth auth.Config

	// Providers are those that people sign in with, beside tokens.
	Providers []provider.Config
	SignOn    signon.Config
	// PublicURL is where people reach the server; empty: where it listens.
	PublicURL string

	HeaderBytes int           // of a request; more is answered 431
	HeaderTime  time.Duration // for a request's header to arrive
	IdleTime    time.Duration // of a connection between requests
	Connections int           // open at once; more wait to be accepted

	Checkpoints time.Duration // between two notes of the repos' heads in the audit

	Heartbeat time.Duration // between two signs of life on a silent stream

	DrainDelay time.Duration // how long to serve on after saying that it is not ready
	Grace      time.Duration // for requests under way at the end
}

// DefaultConfig is a server on loopback with its files in data.
func DefaultConfig(data string) Config {
	return Config{
		Listen:      "127.0.0.1:8080",
		Data:        data,
		HTTP:        rest.DefaultConfig(),
		SignOn:      signon.DefaultConfig(),
		HeaderBytes: 64 << 10,
		HeaderTime:  10 * time.Second,
		IdleTime:    2 * time.Minute,
		Connections: 16_384,
		Checkpoints: organization.DefaultCheckpoints,
		Heartbeat:   15 * time.Second,
		Grace:       28 * time.Second,
	}
}

// Server is one running server.
type Server struct {
	log      *slog.Logger
	cfg      Config
	listener net.Listener
	observer *observer // nil: nobody counts
	store    store.Store
	replica  *replica // nil: none is asked
	auth     *auth.Auth
	orgs     *organization.Rules
	keeper   *organization.Keeper
	tallies  *tallies // nil: nobody to count with
	desk     *signon.Desk
	events   *events.Hub
	leaks    *leak.Desk
	figures  *figures.Desk
	follower *follower
	rest     *rest.Handler
	http     *http.Server
	abandon  context.CancelFunc // cancels the requests that outlive the grace
	first    *FirstStart

	certificate *certificate // nil: plain http

	endStreams func() // of Run
}

// New opens everything. The address is bound when it returns: a connection made
// before Run waits.
func New(ctx context.Context, log *slog.Logger, cfg Config, now func() time.Time) (_ *Server, err error) {
	s := &Server{log: log, cfg: cfg}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	if s.listener, err = s.listen(ctx); err != nil {
		return nil, err
	}
	if err := s.observe(ctx); err != nil {
		return nil, err
	}
	cfg = s.cfg
	database := cfg.DatabaseURL()
	if err := Migrate(ctx, log, database); err != nil {
		return nil, err
	}
	if s.store, err = OpenStore(ctx, log, database); err != nil {
		return nil, err
	}
	if s.replica, err = s.openReplica(ctx, now); err != nil {
		return nil, err
	}
	if s.first, err = firstStart(ctx, s.store, cfg.Data, now()); err != nil {
		return nil, fmt.Errorf("first start: %w", err)
	}
	orgs := organization.New(s.store, now, func() { s.auth.Forget() })
	s.orgs = orgs
	s.keeper = organization.NewKeeper(log, orgs, cfg.Checkpoints)
	cfg.Auth.Refused, s.cfg.SignOn.Refused = s.keeper.Refused, s.keeper.Refused
	if err := s.openDesk(now, cfg.Auth); err != nil {
		return nil, err
	}
	s.shareLimits(now)
	s.events = events.New(cfg.Heartbeat)
	scanner, err := scan.New(scan.Options{})
	if err != nil {
		return nil, err
	}
	rules := ledger.New(log, s.observer.timed(s.replica.beside(s.store), now), now, cfg.HTTP.Limits, scanner, s.announce)
	s.observer.count(rules)
	s.follower = newFollower(log, s.store, rules)
	s.figures = figures.New(log, s.store, now)
	rules.Count(s.figures.Count)
	s.leaks = leak.New(log, s.store, rules, now, leak.NewList(cfg.RedactionsFile()), s.look)
	// Before anybody is served: the database may be an older one than the list.
	if err := s.applyRedactions(ctx); err != nil {
		return nil, err
	}
	cfg.HTTP.SignOn = s.desk
	reads := reading.New(rules)
	if s.rest, err = rest.New(log, rules, s.auth, s.store, s.events, orgs, s.leaks, reads, s.figures, cfg.HTTP); err != nil {
		return nil, err
	}
	pages, err := s.pages(dashboard.Parts{Ledger: rules, Reading: reads, Figures: s.figures, Orgs: orgs, Leaks: s.leaks, Events: s.events, DB: s.store}, now)
	if err != nil {
		return nil, err
	}
	s.http = s.httpServer(pages)
	s.observer.watch(s, now)
	return s, nil
}

func (s *Server) httpServer(handler http.Handler) *http.Server {
	var requests context.Context
	requests, s.abandon = context.WithCancel(context.Background())
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: s.cfg.HeaderTime,
		IdleTimeout:       s.cfg.IdleTime,
		MaxHeaderBytes:    s.cfg.HeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return requests },
		// What net/http has to say is about strangers' connections, which nobody
		// can mend here.
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		// Without it net/http answers OPTIONS * itself, and not in JSON.
		DisableGeneralOptionsHandler: true,
	}
}

// listen binds the address, with TLS where it is configured, and refuses to
// carry tokens in the clear over a network.
func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	cert, err := s.cfg.certificate(s.log)
	if err != nil {
		return nil, err
	}
	s.certificate = cert
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return nil, WithHint(fmt.Errorf("listen on %s: %w", s.cfg.Listen, err), "name another address with --listen, or end what uses this one")
	}
	addr, _ := listener.Addr().(*net.TCPAddr)
	if cert == nil && !s.cfg.InsecureHTTP && (addr == nil || !addr.IP.IsLoopback()) {
		_ = listener.Close()
		return nil, WithHint(
			fmt.Errorf("plain http on %s would carry tokens and memories in the clear over the network", s.cfg.Listen),
			"give --tls-cert and --tls-key, listen on 127.0.0.1 behind a proxy that speaks TLS, or say --insecure-http")
	}
	listener = limitConnections(listener, s.cfg.Connections)
	if cert != nil {
		listener = tls.NewListener(listener, &tls.Config{
			MinVersion:     tls.VersionTLS12,
			NextProtos:     []string{"h2", "http/1.1"},
			GetCertificate: cert.get,
		})
	}
	return listener, nil
}

// URL is where the server answers.
func (s *Server) URL() string {
	scheme := "http://"
	if s.cfg.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + s.listener.Addr().String()
}

// Store is the server's store, for those who put a server in a box.
func (s *Server) Store() store.Store { return s.store }

// FirstStart is not nil when this start was the database's first.
func (s *Server) FirstStart() *FirstStart { return s.first }

// Run serves until ctx ends, and then drains. It returns nil when everything
// under way was finished.
func (s *Server) Run(ctx context.Context) error {
	served := make(chan error, 1)
	live, quiet := context.WithCancel(context.Background())
	var streams sync.WaitGroup
	streams.Go(func() { s.events.Run(live) })
	// What is refused while requests drain is recorded too.
	keeping, kept := context.WithCancel(context.Background())
	var keeper sync.WaitGroup
	keeper.Go(func() { s.keeper.Run(keeping) })
	keeper.Go(func() { s.keeper.Verify(keeping) })
	defer keeper.Wait()
	defer kept()
	// What requests that drain were served is noted too.
	noting, noted := context.WithCancel(context.Background())
	var leaks sync.WaitGroup
	leaks.Go(func() { s.leaks.Run(noting) })
	leaks.Go(func() { s.figures.Run(noting) })
	defer leaks.Wait()
	defer noted()
	// The others are told of the last PUT too, so this ends after it.
	exchange, silence := context.WithCancel(context.Background())
	var others sync.WaitGroup
	others.Go(func() { s.hearOthers(exchange) })
	others.Go(func() { s.tallies.run(exchange) })
	others.Go(func() { s.desk.Providers().Run(exchange) })
	others.Go(func() { s.follower.run(exchange) })
	defer others.Wait()
	defer silence()
	// Streams end first: their handlers are requests under way as well.
	s.endStreams = func() { quiet(); streams.Wait() }
	defer s.endStreams()
	if s.observer != nil {
		go s.observer.run() // until Close: what the end is like is counted too
	}
	go func() { served <- s.http.Serve(s.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve on %s: %w", s.cfg.Listen, err)
	case <-ctx.Done():
	}
	err := s.drain(served)
	<-served
	return err
}

// drain ends the serving. Balancers are given DrainDelay to look elsewhere.
func (s *Server) drain(served chan error) error {
	s.rest.Drain()
	if s.cfg.DrainDelay > 0 {
		delay := time.NewTimer(s.cfg.DrainDelay)
		defer delay.Stop()
		select {
		case err := <-served:
			served <- err
		case <-delay.C:
		}
	}
	s.endStreams()
	grace, cancel := context.WithTimeout(context.Background(), s.cfg.Grace)
	defer cancel()
	err := s.http.Shutdown(grace)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests were still under way after %s: %w", s.cfg.Grace, err), s.http.Close())
	}
	s.abandon()
	s.rest.Wait()
	return err
}

// Close frees everything in reverse order of New. Run has returned, or was never
// called.
func (s *Server) Close() error {
	var errs []error
	if s.http != nil {
		s.abandon()
		errs = append(errs, s.http.Close())
	}
	if s.auth != nil {
		s.auth.Close()
	}
	errs = append(errs, s.replica.close())
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	errs = append(errs, s.observer.close())
	if s.listener != nil {
		if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// DatabaseURL is the database named, or the default one in the data directory.
func (c Config) DatabaseURL() string {
	if c.Database != "" {
		return c.Database
	}
	return sqliteScheme + strings.TrimSuffix(c.Data, string(os.PathSeparator)) + string(os.PathSeparator) + "teammem.db"
}
