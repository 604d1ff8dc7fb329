package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Watch adds a gauge whose value is asked for at each scrape.
func (s *Set) Watch(name, help string, value func() float64) {
	s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, value))
}

// WatchTotal adds a counter whose value is asked for at each scrape; it never falls.
func (s *Set) WatchTotal(name, help string, value func() float64) {
	s.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, value))
}

func (s *Set) gauge(name, help string) prometheus.Gauge {
	return added(s, prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}))
}

func (s *Set) gaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	return added(s, prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels))
}

func (s *Set) counter(name, help string) prometheus.Counter {
	return added(s, prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}))
}

func (s *Set) counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return added(s, prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels))
}

func (s *Set) histogram(name, help string, buckets []float64) prometheus.Histogram {
	return added(s, prometheus.NewHistogram(histogramOpts(name, help, buckets)))
}

func (s *Set) histogramVec(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return added(s, prometheus.NewHistogramVec(histogramOpts(name, help, buckets), labels))
}

// histogramOpts has classic buckets for every Prometheus there is and native ones,
// 10 % wide, for those that take them.
func histogramOpts(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
	}
}

func added[C prometheus.Collector](s *Set, c C) C {
	s.registry.MustRegister(c)
	return c
}
