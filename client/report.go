package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/teammem/teammem/api"
)

const (
	// reportSoonest and reportLatest are the times between two words to the server on
	// how this client is: when something changed, and when nothing did.
	reportSoonest = time.Minute
	reportLatest  = 5 * time.Minute
	// reportTime bounds one of them.
	reportTime = 2 * time.Second
)

// reporter says to the server how this client is, with a round that was made anyway, so
// that nothing wakes up for it. It is the loop's.
type reporter struct {
	started time.Time
	last    api.ClientReport
	at      time.Time // of the last; zero: none yet
	never   bool      // the server takes none
}

// report says how the client is, where that is due. A server that knows no such address,
// or will not have it, is not asked again.
func (l *loop) report(ctx context.Context, state api.ClientState) {
	r := &l.reports
	if r.never || l.cfg.DryRun || l.away != "" || l.denied != "" {
		return
	}
	now := l.now()
	if r.started.IsZero() {
		r.started = now
	}
	word := l.word(state)
	if !r.due(now, word) {
		return
	}
	r.last, r.at = word, now
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	err := l.remote.Report(ctx, l.cfg.Repo, word)
	switch api.CodeOf(err) {
	case api.NotFound, api.InvalidRequest, api.Permission:
		r.never = true
	}
	if err != nil {
		l.log.Debug("the server did not take how this client is", "error", err)
	}
}

// due reports whether a word is to be said now: the first and the last one always.
func (r *reporter) due(now time.Time, word api.ClientReport) bool {
	if r.at.IsZero() || word.State == api.ClientStopped {
		return true
	}
	since := now.Sub(r.at)
	return since >= reportLatest || word != r.last && since >= reportSoonest
}

// word is how the client is: numbers, never names of files.
func (l *loop) word(state api.ClientState) api.ClientReport {
	agreed := l.Agreed()
	// The marker names the directory; its hash names it without giving the marker away.
	id := sha256.Sum256([]byte(agreed.MarkerID))
	word := api.ClientReport{
		ID: hex.EncodeToString(id[:12]), State: state, Started: api.NewTime(l.reports.started), Version: l.cfg.Version,
		Watch: l.watching().Mode, At: agreed.Version, Trouble: string(l.pulse.Trouble),
	}
	word.Files, word.Pending, word.Held, word.Kept = l.counts()
	return word
}

// counts are the files that are in step with the server, the edits that wait, the files
// that are held back, and the texts in the keep.
func (s *Session) counts() (files, pending, held, kept int) {
	agreed := s.Agreed()
	for key, e := range agreed.Entries {
		switch _, refused := agreed.Refused[key]; {
		case refused:
		case e.File.Checksum != "" && e.File.Checksum != e.Remote:
			pending++
		case e.File.Checksum != "":
			files++
		}
	}
	for _, refusal := range agreed.Refused {
		if refusal.Held() {
			held++
		}
	}
	if all, err := s.store.Kept(); err == nil {
		kept = len(all)
	}
	return files, pending, held, kept
}
