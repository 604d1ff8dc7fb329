package client

import (
	"time"

	"github.com/teammem/teammem/client/metrics"
	"github.com/teammem/teammem/client/syncer"
)

// observing has what happens counted, where somebody asks.
func observing(cfg Config, tell func(syncer.Event)) (Config, func(syncer.Event)) {
	set := cfg.Metrics
	if set == nil {
		return cfg, tell
	}
	cfg.Remote.Observe = set.Request
	return cfg, func(e syncer.Event) {
		if len(e.Keys) > 0 {
			set.Files(string(e.Kind), len(e.Keys))
		}
		tell(e)
	}
}

// observed counts a round that began then, and notes how things stand after it.
func (s *Session) observed(began time.Time, err error, live bool) {
	set := s.cfg.Metrics
	if set == nil {
		return
	}
	now, outcome := s.now(), "ok"
	if err != nil {
		outcome = string(troubleOf(err))
	}
	set.Round(outcome, now.Sub(began), now)
	is := metrics.Standing{
		Version: int64(s.Agreed().Version), Live: live, Watching: s.watching().Mode, Trouble: string(s.pulse.Trouble), TokenEnds: s.pulse.TokenEnds,
	}
	is.InStep, is.Pending, is.Held, is.Kept = s.counts()
	set.Stand(is)
	if file := s.cfg.MetricsFile; file != "" && now.Sub(s.written) >= writeEvery {
		s.written = now
		if err := set.WriteFile(file); err != nil {
			s.log.Warn("the metrics are not written", "file", file, "error", err)
		}
	}
}

// writeEvery is how often the file of metrics is written at most; node_exporter is asked
// about as often.
const writeEvery = 10 * time.Second
