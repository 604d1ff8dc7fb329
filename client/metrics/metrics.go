// Package metrics is what a client that stays tells Prometheus, on a listener of its
// own or as a text file for node_exporter: how its rounds go, what it moved, what waits
// for a person. No label says which file, who, or with which token.
//
// New makes a set; nothing is global. The client tells it what happened, and it knows
// nothing of the client.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Set is the instruments of one client. Its methods are safe for concurrent use.
type Set struct {
	registry *prometheus.Registry

	rounds    *prometheus.CounterVec
	seconds   prometheus.Histogram
	success   prometheus.Gauge
	requests  *prometheus.CounterVec
	answers   prometheus.Histogram
	files     *prometheus.CounterVec
	conflicts prometheus.Counter
	version   prometheus.Gauge
	inStep    prometheus.Gauge
	pending   prometheus.Gauge
	kept      prometheus.Gauge
	held      prometheus.Gauge
	live      prometheus.Gauge
	watching  *prometheus.GaugeVec
	trouble   *prometheus.GaugeVec
	tokenEnds prometheus.Gauge
}

// New makes a set that says which build it is of.
func New(version, goVersion string) *Set {
	s := &Set{registry: prometheus.NewRegistry()}
	s.registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector())
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "teammem", Subsystem: "client", Name: name, Help: help}
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return added(s, prometheus.NewCounterVec(prometheus.CounterOpts(opts(name, help)), labels))
	}
	gauge := func(name, help string) prometheus.Gauge {
		return added(s, prometheus.NewGauge(prometheus.GaugeOpts(opts(name, help))))
	}
	gauges := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return added(s, prometheus.NewGaugeVec(prometheus.GaugeOpts(opts(name, help)), labels))
	}
	histogram := func(name, help string) prometheus.Histogram {
		o := opts(name, help)
		return added(s, prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: o.Namespace, Subsystem: o.Subsystem, Name: o.Name, Help: o.Help,
			Buckets:                     []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
		}))
	}
	gauges("build_info", "The build that runs, as labels; the value is 1.", "version", "goversion").WithLabelValues(version, goVersion).Set(1)
	s.rounds = counter("rounds_total", "Rounds by what came of them: ok, unreachable, sign-in, barred, halted, faulty.", "outcome")
	s.seconds = histogram("round_duration_seconds", "Time of a round.")
	s.success = gauge("last_success_timestamp_seconds", "When the last good round ended; 0 before the first.")
	s.requests = counter("requests_total", "Requests to the server, by method and status; status 0 is no answer.", "method", "code")
	s.answers = histogram("request_duration_seconds", "Time from a request to the beginning of its answer.")
	s.files = counter("files_total", "Files by what was done with them: pushed, pulled, merged, removed, deleted, restored, held, proposed, refused, skipped, failed.", "action")
	s.conflicts = counter("conflicts_total", "Edits of both sides that could not be merged; ours went to the keep.").WithLabelValues()
	s.version = gauge("repo_version", "The repo's version that this client has.")
	s.inStep = gauge("files_in_step", "Files that are as they are at the server.")
	s.pending = gauge("files_pending", "Edits that wait to be sent.")
	s.kept = gauge("texts_kept", "Texts in the keep, for a person to look at.")
	s.held = gauge("files_held", "Files that are held back.")
	s.live = gauge("live", "1 while a live stream is open; without one the client polls.")
	s.watching = gauges("watching", "How changes of files are noticed, as a label; the value is 1.", "mode")
	s.trouble = gauges("trouble", "What is wrong, as a label; without a fault there is none.", "kind")
	s.tokenEnds = gauge("token_expiry_timestamp_seconds", "When the token ends, in its last week; 0 before.")
	for _, outcome := range []string{"ok", "unreachable", "faulty"} {
		s.rounds.WithLabelValues(outcome)
	}
	return s
}

func added[C prometheus.Collector](s *Set, c C) C {
	s.registry.MustRegister(c)
	return c
}

// Round counts a round; outcome is ok or a word for what was wrong.
func (s *Set) Round(outcome string, took time.Duration, at time.Time) {
	s.rounds.WithLabelValues(outcome).Inc()
	s.seconds.Observe(took.Seconds())
	if outcome == "ok" {
		s.success.Set(float64(at.UnixMilli()) / 1000)
	}
}

// Request counts a request to the server; status is 0 where none answered.
func (s *Set) Request(method string, status int, took time.Duration) {
	s.requests.WithLabelValues(method, strconv.Itoa(status)).Inc()
	s.answers.Observe(took.Seconds())
}

// Files counts files by what was done with them.
func (s *Set) Files(action string, n int) {
	if action == "conflict" {
		s.conflicts.Add(float64(n))
		return
	}
	s.files.WithLabelValues(action).Add(float64(n))
}

// Standing is how things stand after a round.
type Standing struct {
	Version   int64
	InStep    int
	Pending   int
	Kept      int
	Held      int
	Live      bool
	Watching  string // events, polling, or empty
	Trouble   string // empty: nothing is wrong
	TokenEnds time.Time
}

// Stand notes how things stand.
func (s *Set) Stand(is Standing) {
	s.version.Set(float64(is.Version))
	s.inStep.Set(float64(is.InStep))
	s.pending.Set(float64(is.Pending))
	s.kept.Set(float64(is.Kept))
	s.held.Set(float64(is.Held))
	s.live.Set(0)
	if is.Live {
		s.live.Set(1)
	}
	s.watching.Reset()
	if is.Watching != "" {
		s.watching.WithLabelValues(is.Watching).Set(1)
	}
	s.trouble.Reset()
	if is.Trouble != "" {
		s.trouble.WithLabelValues(is.Trouble).Set(1)
	}
	s.tokenEnds.Set(0)
	if !is.TokenEnds.IsZero() {
		s.tokenEnds.Set(float64(is.TokenEnds.Unix()))
	}
}

// Listen serves /metrics on an address until ctx ends. The address is bound when it
// returns; url is where Prometheus asks.
func (s *Set) Listen(ctx context.Context, address string) (url string, ended <-chan struct{}, err error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("listen for metrics on %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: 20 * time.Second}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return "http://" + listener.Addr().String() + "/metrics", done, nil
}

// WriteFile writes the metrics for node_exporter's textfile collector, whole or not at
// all. Its name has to end in .prom, or the collector passes it over.
func (s *Set) WriteFile(path string) error {
	if err := prometheus.WriteToTextfile(path, s.registry); err != nil {
		return errors.Join(errors.New("write the metrics"), err)
	}
	return nil
}
