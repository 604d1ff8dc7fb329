// Package metrics is what the server tells Prometheus: a registry of its own and the
// instruments on it. The parts of the server are told of neither; the composition
// passes them functions.
//
// What is promised: every name begins with teammem_ and passes promtool; a label's
// values are bounded (operations of the route table, statuses, outcomes, classes,
// the first [MostOrganizations] organizations, client versions that look like ones)
// and never a user, a key, a repo, a token or an address; durations are histograms
// with classic and native buckets; no exemplars. What only the database knows is
// asked for when somebody scrapes, at most once in [InventoryEvery] however many do,
// and a scrape that cannot ask it says so in a metric and serves the rest.
//
// New makes a set; nothing is global. What a set costs a request is two or three
// atomic additions.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const namespace = "teammem"

// Set is the instruments of one server. Its methods are safe for concurrent use.
type Set struct {
	registry *prometheus.Registry

	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	sent     *prometheus.CounterVec
	pushes   *prometheus.CounterVec
	pushed   *prometheus.CounterVec
	auth     *prometheus.CounterVec
	store    *prometheus.HistogramVec
	storeBad *prometheus.CounterVec
	scans    prometheus.Histogram
	findings *prometheus.CounterVec
	events   prometheus.Counter
}

// New makes a set that says which build it is of.
func New(version, goVersion string) *Set {
	s := &Set{registry: prometheus.NewRegistry()}
	s.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	build := s.gaugeVec("build_info", "The build that runs, as labels; the value is 1.", "version", "goversion")
	build.WithLabelValues(version, goVersion).Set(1)

	s.requests = s.counterVec("http_requests_total", "Requests that were answered, by operation of the route table, method and status.", "operation", "method", "code")
	s.seconds = s.histogramVec("http_request_duration_seconds", "Time from a request's header to the end of its answer. Live streams are not among them.", requestBuckets, "operation", "method")
	s.inFlight = s.gauge("http_requests_in_flight", "Requests under way, live streams included.")
	s.sent = s.counterVec("http_response_bytes_total", "Bytes of answers, as they were sent.", "operation")
	s.pushes = s.counterVec("pushes_total", "PUTs by outcome: applied, noop, conflict, refused, held, limited, failed.", "outcome")
	s.pushed = s.counterVec("pushed_entries_total", "Entries in PUTs that were applied, by what was done with them: changed, held.", "result")
	s.auth = s.counterVec("authentications_total", "Requests by how the caller was known and what came of it: ok, missing, invalid, throttled, forbidden, failed.", "how", "outcome")
	s.store = s.histogramVec("store_transaction_duration_seconds", "Time of the database's work for one method of the store.", storeBuckets, "method")
	s.storeBad = s.counterVec("store_errors_total", "Work of the database that failed, by method and kind: busy, corrupt, other.", "method", "kind")
	s.scans = s.histogram("scan_duration_seconds", "Time to look through the contents of one PUT.", scanBuckets)
	s.findings = s.counterVec("scan_findings_total", "Findings in what was pushed, by class and what the policy did: accept, flag, hold, refuse.", "class", "verdict")
	// A series that is not there yet cannot be told from one that is never counted.
	for _, outcome := range []string{"applied", "noop", "conflict", "refused", "held", "limited", "failed"} {
		s.pushes.WithLabelValues(outcome)
	}
	for _, result := range []string{"changed", "held"} {
		s.pushed.WithLabelValues(result)
	}
	s.events = s.counter("events_published_total", "Changes of repos that were passed to the live streams.")
	return s
}

// Buckets, in seconds. A GET answered 304 takes under a millisecond, a durable PUT
// some ten; what takes longer than ten seconds is cut off soon after.
var (
	requestBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}
	storeBuckets   = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}
	scanBuckets    = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .05, .25}
)

// Handler serves what Prometheus asks for.
func (s *Set) Handler() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
		Timeout:             20 * time.Second,
	})
}

// Request is one request that was answered.
type Request struct {
	Operation string // of the route table
	Method    string
	Status    int
	Bytes     int64
	Took      time.Duration
	Stream    bool // it stayed open for as long as the client wished
}

// Began counts a request that is under way; the result ends it.
func (s *Set) Began() (ended func(Request)) {
	s.inFlight.Inc()
	return func(r Request) {
		s.inFlight.Dec()
		method := methodOf(r.Method)
		s.requests.WithLabelValues(r.Operation, method, strconv.Itoa(r.Status)).Inc()
		s.sent.WithLabelValues(r.Operation).Add(float64(r.Bytes))
		if !r.Stream {
			s.seconds.WithLabelValues(r.Operation, method).Observe(r.Took.Seconds())
		}
	}
}

// methodOf bounds what a stranger may call a method.
func methodOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// Pushed counts a PUT by its outcome, and the entries that it changed or that wait
// for a reviewer.
func (s *Set) Pushed(outcome string, changed, held int) {
	s.pushes.WithLabelValues(outcome).Inc()
	s.pushed.WithLabelValues("changed").Add(float64(changed))
	s.pushed.WithLabelValues("held").Add(float64(held))
}

// Authenticated counts a request by how its caller was known and what came of it.
func (s *Set) Authenticated(how, outcome string) { s.auth.WithLabelValues(how, outcome).Inc() }

// Stored notes what one method of the store took; kind is empty when it went well.
func (s *Set) Stored(method string, took time.Duration, kind string) {
	s.store.WithLabelValues(method).Observe(took.Seconds())
	if kind != "" {
		s.storeBad.WithLabelValues(method, kind).Inc()
	}
}

// Scanned notes what looking through one PUT took.
func (s *Set) Scanned(took time.Duration) { s.scans.Observe(took.Seconds()) }

// Found counts a finding by its class and what the policy did.
func (s *Set) Found(class, verdict string) { s.findings.WithLabelValues(class, verdict).Inc() }

// Published counts a change that was passed to the live streams.
func (s *Set) Published() { s.events.Inc() }
