package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// What one author sees differs from what everybody sees by the author's standing
// proposals. An open one stands in place of the row of its key. One that was
// rejected or withdrawn lets that row be seen again; where there is none, it is the
// tombstone of what was proposed, so that the author's clients take their file away,
// and exactly these bytes are not proposed again for ever.

// noRows is a version that no row has changed after.
const noRows = api.Version(math.MaxInt64)

func open(s store.Shadow) bool { return s.State == api.ProposalOpen }

// shown is the row of the key as the author sees it; false where there is none.
func shown(s store.Shadow) (store.Row, bool) {
	switch public := s.Public; {
	case open(s):
		return store.Row{Key: s.Key, Checksum: s.Checksum, Deleted: s.Deleted, Size: s.Size, Modified: s.Modified, Version: s.Proposal.Version}, true
	case public.Version > 0 && !public.Deleted, s.Deleted, public.Version > s.Closed:
		return public, public.Version > 0
	}
	return store.Row{Key: s.Key, Checksum: s.Checksum, Deleted: true, Size: s.Size, Modified: s.Modified, Version: s.Closed}, true
}

// changedAt is the version in which the author saw the key change last.
func changedAt(s store.Shadow) api.Version {
	if open(s) {
		return s.Proposal.Version
	}
	return max(s.Closed, s.Public.Version)
}

// overlay makes of rows that changed after a version those that changed for the
// author. Both are in key order.
func overlay(rows []store.Row, mine []store.Shadow, since api.Version) []store.Row {
	if len(mine) == 0 {
		return rows
	}
	shadowed := make(map[api.Key]bool, len(mine))
	for _, s := range mine {
		shadowed[s.Key] = true
	}
	seen := slices.DeleteFunc(slices.Clone(rows), func(row store.Row) bool { return shadowed[row.Key] })
	for _, s := range mine {
		if row, ok := shown(s); ok && changedAt(s) > since {
			seen = append(seen, row)
		}
	}
	slices.SortFunc(seen, func(a, b store.Row) int { return cmp.Compare(a.Key, b.Key) })
	return seen
}

// headFor is a head as the author sees it: another checksum, count and size. It
// costs what the author has proposed, not what the repo holds.
func headFor(head store.Head, mine []store.Shadow) (store.Head, error) {
	if !slices.ContainsFunc(mine, open) {
		return head, nil
	}
	sum, err := readSet(head.Set)
	if err != nil {
		return head, err
	}
	if sum.checksum() != checksumOfHead(head) {
		return head, fmt.Errorf("set of version %d: %w", head.Version, store.ErrCorrupt)
	}
	for _, s := range mine {
		if !open(s) {
			continue
		}
		if public := s.Public; public.Version > 0 && !public.Deleted {
			one := single(s.Key, public.Checksum)
			sum.subtract(&one)
			head.Entries--
			head.Bytes -= int64(public.Size)
		}
		if !s.Deleted {
			one := single(s.Key, s.Checksum)
			sum.add(&one)
			head.Entries++
			head.Bytes += int64(s.Size)
		}
	}
	head.Set, head.Checksum = sum[:], sum.checksum()
	return head, nil
}

// stateFor is a state as the author sees it.
func stateFor(state store.State) (store.State, error) {
	if len(state.Mine) == 0 {
		return state, nil
	}
	head, err := headFor(state.Head, state.Mine)
	if err != nil {
		return state, err
	}
	rows := maps.Clone(state.Rows)
	if rows == nil {
		rows = map[api.Key]store.Row{}
	}
	for _, s := range state.Mine {
		delete(rows, s.Key)
		if row, ok := shown(s); ok {
			rows[s.Key] = row
		}
	}
	return store.State{Head: head, Rows: rows, Mine: state.Mine}, nil
}

// shadowOf finds the author's shadow of a key.
func shadowOf(mine []store.Shadow, key api.Key) (store.Shadow, bool) {
	i, ok := slices.BinarySearchFunc(mine, key, func(s store.Shadow, key api.Key) int { return cmp.Compare(s.Key, key) })
	if !ok {
		return store.Shadow{}, false
	}
	return mine[i], true
}
