package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/metrics"
	"github.com/teammem/teammem/server/rest"
	"github.com/teammem/teammem/server/store"
)

// observer is what is counted for Prometheus, and the listener that it is served on.
type observer struct {
	set      *metrics.Set
	listener net.Listener
	http     *http.Server
}

// observe opens the metrics' listener, where one is configured. It is plain http on an
// address of its own, for the operator's network: what it says names nobody.
func (s *Server) observe(ctx context.Context) error {
	if s.cfg.MetricsListen == "" {
		return nil
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", s.cfg.MetricsListen)
	if err != nil {
		return WithHint(fmt.Errorf("listen for metrics on %s: %w", s.cfg.MetricsListen, err), "name another address with --metrics-listen, or end what uses this one")
	}
	set := metrics.New(s.cfg.HTTP.Version, runtime.Version())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", set.Handler())
	mux.Handle("GET /debug/pprof/", s.profiles())
	s.observer = &observer{set: set, listener: listener, http: &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: (longestProfile + 30) * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}}
	s.cfg.HTTP.Began = func() func(rest.Observation) {
		ended := set.Began()
		return func(o rest.Observation) {
			ended(metrics.Request{Operation: o.Operation, Method: o.Method, Status: o.Status, Bytes: o.Bytes, Took: o.Took, Stream: o.Stream})
			if o.Auth != "" {
				set.Authenticated(o.How, o.Auth)
			}
			if o.Push != "" {
				set.Pushed(o.Push, o.Changed, o.Held)
			}
		}
	}
	return nil
}

// MetricsURL is where Prometheus asks; empty where it may not.
func (s *Server) MetricsURL() string {
	if s.observer == nil {
		return ""
	}
	return "http://" + s.observer.listener.Addr().String() + "/metrics"
}

// watch adds what the parts say of themselves when they are asked.
func (o *observer) watch(s *Server, now func() time.Time) {
	if o == nil {
		return
	}
	set := o.set
	set.Watch("streams", "Live streams that are open.", func() float64 { return float64(s.events.Count()) })
	set.WatchTotal("streams_cut_total", "Live streams that were ended because they could not keep up.", func() float64 { return float64(s.events.Dropped()) })
	if pooled, ok := s.store.(store.Pooled); ok {
		of := func(value func(store.Pool) float64) func() float64 {
			return func() float64 { return value(pooled.Pool()) }
		}
		set.Watch("store_connections_max", "Connections to the database that may be open.", of(func(p store.Pool) float64 { return float64(p.Most) }))
		set.Watch("store_connections_open", "Connections to the database that are open.", of(func(p store.Pool) float64 { return float64(p.Open) }))
		set.Watch("store_connections_in_use", "Connections to the database that somebody holds.", of(func(p store.Pool) float64 { return float64(p.InUse) }))
		set.WatchTotal("store_connection_waits_total", "How often a connection to the database was waited for.", of(func(p store.Pool) float64 { return float64(p.Waits) }))
		set.WatchTotal("store_connection_wait_seconds_total", "How long connections to the database were waited for.", of(func(p store.Pool) float64 { return p.Waited.Seconds() }))
	}
	if s.replica != nil {
		set.WatchTotal("store_replica_reads_total", "Reads of what changed that the replica of the database answered.", func() float64 { n, _ := s.replica.store.Counts(); return float64(n) })
		set.WatchTotal("store_replica_passed_total", "Reads of what changed for which the primary was asked, though there is a replica.", func() float64 { _, n := s.replica.store.Counts(); return float64(n) })
	}
	set.Inventory(now, func(ctx context.Context) (metrics.Inventory, error) { return s.inventory(ctx, now()) })
	if s.certificate != nil {
		set.Watch("tls_certificate_expiry_timestamp_seconds", "When the certificate in force ends.", func() float64 { return float64(s.certificate.ends().Unix()) })
	}
}

// count has the ledger's scans counted.
func (o *observer) count(rules *ledger.Ledger) {
	if o == nil {
		return
	}
	rules.Watch(func(e ledger.Tally) {
		o.set.Scanned(e.Took)
		for kind, n := range e.Findings {
			for range n {
				o.set.Found(string(kind.Class), string(kind.Verdict))
			}
		}
	})
}

func (o *observer) published() {
	if o != nil {
		o.set.Published()
	}
}

// run serves until close.
func (o *observer) run() { _ = o.http.Serve(o.listener) }

func (o *observer) close() error {
	if o == nil {
		return nil
	}
	err := o.http.Close()
	if closing := o.listener.Close(); closing != nil && !errors.Is(closing, net.ErrClosed) {
		err = errors.Join(err, closing)
	}
	return err
}

// timed is a store whose work is timed, as far as requests wait for it.
type timed struct {
	store.Store
	set *metrics.Set
	now func() time.Time
}

// timed wraps a store where somebody counts.
func (o *observer) timed(s store.Store, now func() time.Time) store.Store {
	if o == nil {
		return s
	}
	return timed{s, o.set, now}
}

// took notes what a method took that began at.
func (t timed) took(method string, began time.Time, err error) {
	kind := ""
	switch {
	case err == nil, errors.Is(err, store.ErrNotFound), errors.Is(err, context.Canceled):
	case errors.Is(err, store.ErrBusy):
		kind = "busy"
	case errors.Is(err, store.ErrCorrupt):
		kind = "corrupt"
	default:
		if _, refusal := api.AsError(err); !refusal {
			kind = "other"
		}
	}
	t.set.Stored(method, t.now().Sub(began), kind)
}

// Commit is the store's.
func (t timed) Commit(ctx context.Context, ref store.RepoRef, touched []api.Key, decide store.Decide) (store.Head, error) {
	began := t.now()
	head, err := t.Store.Commit(ctx, ref, touched, decide)
	t.took("commit", began, err)
	return head, err
}

// Administer is the store's.
func (t timed) Administer(ctx context.Context, org store.OrgID, about store.About, decide store.DecideOrg) (audit.Record, error) {
	began := t.now()
	record, err := t.Store.Administer(ctx, org, about, decide)
	t.took("administer", began, err)
	return record, err
}

// Head is the store's.
func (t timed) Head(ctx context.Context, ref store.RepoRef) (store.Head, error) {
	began := t.now()
	head, err := t.Store.Head(ctx, ref)
	t.took("head", began, err)
	return head, err
}

// View is the store's.
func (t timed) View(ctx context.Context, ref store.RepoRef, since api.Version) (store.View, error) {
	began := t.now()
	view, err := t.Store.View(ctx, ref, since)
	t.took("view", began, err)
	return view, err
}

// Bodies is the store's.
func (t timed) Bodies(ctx context.Context, org store.OrgID, sums []api.Checksum, fn func(sum api.Checksum, content []byte) error) error {
	began := t.now()
	err := t.Store.Bodies(ctx, org, sums, fn)
	t.took("bodies", began, err)
	return err
}

// TokenByHash is the store's.
func (t timed) TokenByHash(ctx context.Context, hash [32]byte) (store.Token, error) {
	began := t.now()
	token, err := t.Store.TokenByHash(ctx, hash)
	t.took("token", began, err)
	return token, err
}
