package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// View is what a repo held at one instant, or with Partial what had changed after
// the version that was asked from. Both lists are in key order.
type View struct {
	Head    store.Head
	Partial bool
	Live    []store.Row
	Deleted []store.Row // tombstones, but those whose key has a live twin
	// Redacted are contents that were withdrawn, with Partial after the version asked
	// from.
	Redacted []api.Checksum
}

// View reads a repo as the caller sees it, whole, or what changed after version since. A since that is
// not positive, or that the repo has not reached, gives it whole. The error is an
// *[api.Error] with the code [api.NotFound] when the repo has no memory.
func (l *Ledger) View(ctx context.Context, caller Caller, repo api.RepoSlug, since api.Version) (View, error) {
	ref := caller.ref(repo)
	read, err := l.read(ctx, ref, max(since, 0))
	partial := since > 0 && since <= read.Head.Version
	if err == nil && since > 0 && !partial {
		read, err = l.read(ctx, ref, 0)
	}
	switch {
	case err != nil:
		return View{}, l.explain(ctx, caller, repo, "read the entries", err)
	case read.Head.Version == 0:
		return View{}, noMemory()
	}
	head, err := headFor(read.Head, read.Mine)
	if err != nil {
		return View{}, l.explain(ctx, caller, repo, "read the entries", err)
	}
	from := max(since, 0)
	if !partial {
		from = 0
	}
	live, deleted := parted(overlay(read.Rows, read.Mine, from))
	return View{Head: head, Partial: partial, Live: live, Deleted: deleted, Redacted: read.Redacted}, nil
}

// read reads rows from the store, and when these are all rows makes sure that
// they have the checksum that the head states.
func (l *Ledger) read(ctx context.Context, ref store.RepoRef, since api.Version) (store.View, error) {
	view, err := l.store.View(ctx, ref, since)
	if err != nil || since > 0 || view.Head.Version == 0 || l.sound.knows(view.Head) {
		return view, err
	}
	live, _ := parted(view.Rows)
	if checksumOf(live) != view.Head.Checksum {
		return store.View{}, fmt.Errorf("rows of version %d: %w", view.Head.Version, store.ErrCorrupt)
	}
	l.sound.note(view.Head)
	return view, nil
}

// parted parts rows into live ones and tombstones, and leaves out the tombstones
// that a live twin makes void.
//
// A delta is enough to tell which are: a twin cannot become live while the key is,
// so it was written with the tombstone's version or a later one, and whatever
// delta holds the tombstone holds the twin.
func parted(rows []store.Row) (live, deleted []store.Row) {
	buried := map[string]bool{} // by fold; whether nothing of that fold is live
	for _, row := range rows {
		if row.Deleted {
			buried[row.Key.Fold()] = true
		} else {
			live = append(live, row)
		}
	}
	if len(buried) == 0 {
		return live, nil
	}
	for _, row := range live {
		delete(buried, row.Key.Fold())
	}
	for _, row := range rows {
		if row.Deleted && buried[row.Key.Fold()] {
			deleted = append(deleted, row)
		}
	}
	return live, deleted
}

// Bodies calls fn with each row's content, in order, once it is sure that it is
// the content that the row's checksum names. Otherwise it ends with an
// *[api.Error] with the code [api.Internal] and an alarm in the log, or with the code
// [api.NotFound] where a content was withdrawn. What fn
// returns is returned as it is.
func (l *Ledger) Bodies(ctx context.Context, caller Caller, rows []store.Row, fn func(row store.Row, content []byte) error) error {
	sums := make([]api.Checksum, len(rows))
	for i, row := range rows {
		sums[i] = row.Checksum
	}
	next := 0
	var stopped error
	err := l.store.Bodies(ctx, caller.Org, sums, func(sum api.Checksum, content []byte) error {
		if next == len(rows) || rows[next].Checksum != sum {
			return fmt.Errorf("body %s was not asked for: %w", sum.Short(), store.ErrCorrupt)
		}
		row := rows[next]
		next++
		stopped = fn(row, content)
		return stopped
	})
	switch {
	case stopped != nil:
		return stopped
	case err == nil && next < len(rows):
		err = fmt.Errorf("body %s is missing: %w", rows[next].Checksum.Short(), store.ErrCorrupt)
	}
	if errors.Is(err, store.ErrCorrupt) {
		if gone := l.goneAmong(ctx, caller, rows); gone != nil {
			return gone
		}
	}
	if err != nil {
		return l.explain(ctx, caller, "", "read the contents", err)
	}
	return nil
}

// soundViews remembers for which version of a repo all rows were found to have
// the checksum of its head, so that this is worked out once a version and not
// with every read. It is bounded: when the younger half is full, the older half
// is forgotten.
type soundViews struct {
	mu         sync.Mutex
	young, old map[store.RepoID]soundness
}

type soundness struct {
	version  api.Version
	checksum api.Checksum
}

const soundHalf = 2048 // repos

func (s *soundViews) knows(head store.Head) bool {
	want := soundness{head.Version, head.Checksum}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.young[head.ID] == want || s.old[head.ID] == want
}

func (s *soundViews) note(head store.Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.young == nil || len(s.young) >= soundHalf {
		s.young, s.old = make(map[store.RepoID]soundness), s.young
	}
	s.young[head.ID] = soundness{head.Version, head.Checksum}
}
