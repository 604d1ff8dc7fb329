package syncer

import (
	"context"
	"maps"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
)

// redactFile removes a file whose bytes were withdrawn. They go to no trash. What the
// server has instead takes its place.
func (s *Syncer) redactFile(ctx context.Context, a Action, here *here, there *there, report *Report) (done bool, err error) {
	if err := s.dir.Remove(a.Key, here.files[a.Key]); err != nil {
		s.failed(a.Key, err, report)
		return false, nil
	}
	delete(here.files, a.Key)
	entry := s.agreed.Entries[a.Key]
	entry.File = memdir.File{}
	s.setEntry(a.Key, entry)
	report.Changed = true
	report.Redacted = append(report.Redacted, a.Key)
	s.tell(Event{
		Kind: EventRedacted, Keys: []api.Key{a.Key}, Text: "was withdrawn by an administrator and is removed here",
		Hint: "what it held may have been read: replace it where it is in use",
	})
	if a.Remote == "" {
		s.dropped(a.Key, there)
		return true, nil
	}
	return s.pullText(ctx, a, here, there, report)
}

// redact removes withdrawn contents from wherever else this machine keeps texts: base
// texts, keep and trash, and what was displaced in the directory. What is left of them
// after a fault is told, and the server is asked again.
func (s *Syncer) redact(there *there) (done bool) {
	if len(there.redacted) == 0 {
		return true
	}
	sums := slices.Sorted(maps.Keys(there.redacted))
	done = true
	for _, err := range []error{s.dir.Redact(sums), s.memory.Redact(sums)} {
		if err != nil {
			done = false
			s.once(Event{Kind: EventFailed, Text: "a withdrawn text could not be removed from this machine: " + err.Error(), Hint: "it is tried again"}, err.Error())
		}
	}
	return done
}
