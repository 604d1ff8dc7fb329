package syncer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/state"
)

// fullRules are the refusals that say that there is no room for what is new. No edit
// of a file cures them: somebody deletes entries, or an admin raises the limit.
var fullRules = []string{api.ErrorCodeTooManyEntries, api.ErrorCodeRepoTooLarge, api.ErrorCodeTooManyRepos}

// room is what a push has learnt of the room at the server, so that a repo that is
// full is not asked for each of many files.
type room struct {
	full  *api.Error // takes no new entries
	tight *api.Error // takes new entries of left bytes at most
	left  int64
	held  map[string][]api.Key // by what is to be told
}

// learn takes in a refusal, of one item alone or of several. It reports whether that
// was one for want of room.
func (r *room) learn(e *api.Error, alone *item) bool {
	switch e.Details.ErrorCode {
	case api.ErrorCodeTooManyEntries, api.ErrorCodeTooManyRepos:
		r.full = e
	case api.ErrorCodeRepoTooLarge:
		// Of an edit only the growth counts, and how much that is nobody here knows.
		if alone != nil && alone.base == "" {
			r.tight, r.left = e, e.Details.MaxBytes-e.Details.ReceivedBytes+int64(len(alone.text))
		}
	default:
		return false
	}
	return true
}

// fill takes off what was sent.
func (r *room) fill(batch []item) {
	for _, it := range batch {
		if it.base == "" {
			r.left -= int64(len(it.text))
		}
	}
}

// without gives the refusal for which an item is not to be sent; nil where it may be.
func (r *room) without(it item) *api.Error {
	switch {
	case it.base != "":
		return nil
	case r.full != nil:
		return r.full
	case r.tight != nil && int64(len(it.text)) > r.left:
		return r.tight
	}
	return nil
}

// fullness is a refusal for want of room.
func fullness(e *api.Error) state.Refusal {
	no := state.Refusal{Kind: RefusedLimit, Rule: e.Details.ErrorCode, Message: e.Message}
	switch e.Details.ErrorCode {
	case api.ErrorCodeTooManyEntries:
		no.Limit, no.Message = int64(e.Details.MaxEntries), fmt.Sprintf("the repo is full: it takes %d entries", e.Details.MaxEntries)
	case api.ErrorCodeRepoTooLarge:
		no.Limit, no.Message = e.Details.MaxBytes, fmt.Sprintf("the repo is full: it takes %d bytes", e.Details.MaxBytes)
	case api.ErrorCodeTooManyRepos:
		no.Limit = int64(e.Details.MaxRepos)
	}
	return no
}

// withRoom holds what there is no room for, and gives the rest of the batch.
func (s *sender) withRoom(batch []item) (rest []item) {
	for _, it := range batch {
		if e := s.full.without(it); e != nil {
			s.hold([]item{it}, e)
		} else {
			rest = append(rest, it)
		}
	}
	return rest
}

// hold notes that there is no room for some items. What was not told of before is
// told at the push's end, of all of them together.
func (s *sender) hold(items []item, e *api.Error) {
	no := fullness(e)
	for _, it := range items {
		no.Checksum = it.sum
		s.note(it.key, no)
		id := fmt.Sprint(EventRefused, it.key, no.Checksum, no.Kind, no.Rule)
		if s.named[id] {
			continue
		}
		s.named[id] = true
		if s.full.held == nil {
			s.full.held = map[string][]api.Key{}
		}
		s.full.held[no.Message] = append(s.full.held[no.Message], it.key)
	}
}

// tellFull tells what there was no room for.
func (s *sender) tellFull() {
	for _, text := range slices.Sorted(maps.Keys(s.full.held)) {
		s.tell(Event{
			Kind: EventRefused, Keys: s.full.held[text], Text: text,
			Hint: "it goes out by itself when there is room: delete entries, or ask an admin for a higher limit",
		})
	}
}

// forgiveFull tries again what was refused because the repo was full, when by now it
// holds fewer entries than it takes.
func (s *Syncer) forgiveFull(entries int) {
	s.forgive(func(r state.Refusal) bool { return r.Rule == api.ErrorCodeTooManyEntries && int64(entries) < r.Limit })
}

// TryRoom lets the next round ask once more for the room that was missing; it reports
// whether any was.
func (s *Syncer) TryRoom() bool {
	return s.forgive(func(r state.Refusal) bool { return slices.Contains(fullRules, r.Rule) })
}
