package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/teammem/teammem/api"
)

// Kept is our text of a conflict that could not be merged: theirs took the file,
// ours is here.
type Kept struct {
	ID     string       `json:"-"`
	Key    api.Key      `json:"key"`
	At     time.Time    `json:"at"`
	Base   api.Checksum `json:"base"` // what both were edited from; "" when unknown
	Mine   api.Checksum `json:"mine"` // of the text that is kept
	Theirs api.Checksum `json:"theirs"`
	Reason string       `json:"reason"` // for people
	// Listed is when a person was first told that the text will go; zero: not yet.
	Listed time.Time `json:"listed,omitzero"`
	// Size is the length of the text in bytes.
	Size int64 `json:"-"`
	// Damaged says that the record cannot be read. The text is there; what is
	// known of it comes from its name and its bytes.
	Damaged bool `json:"-"`
}

// Keep keeps mine. It is on the disk when Keep returns. The same text of the same
// conflict is kept once: after a crash between keeping and placing, the second try
// gives the first one back. A full keep answers a *[FullError] and keeps nothing:
// the caller must then leave the file as it is.
func (s *Store) Keep(k Kept, mine []byte) (Kept, error) {
	if api.ChecksumOf(mine) != k.Mine {
		return Kept{}, fmt.Errorf("keep %q: the text does not have the checksum %s", k.Key, k.Mine.Short())
	}
	all, err := s.Kept()
	if err != nil {
		return Kept{}, err
	}
	for _, other := range all {
		if other.Key == k.Key && other.Mine == k.Mine && other.Theirs == k.Theirs && !other.Damaged {
			if text, err := s.KeptText(other.ID); err == nil && api.ChecksumOf(text) == k.Mine {
				return other, nil
			}
		}
	}
	k.Listed = time.Time{}
	k.At = k.At.UTC()
	if k.ID, err = s.keep.put(k.At, k.Mine, mine, k); err != nil {
		return Kept{}, fmt.Errorf("keep %q: %w", k.Key, err)
	}
	k.Size = int64(len(mine))
	return k, nil
}

// Kept lists the keep, oldest first.
func (s *Store) Kept() ([]Kept, error) {
	pieces, err := s.keep.pieces()
	if err != nil {
		return nil, fmt.Errorf("list the keep: %w", err)
	}
	all := make([]Kept, 0, len(pieces))
	for _, p := range pieces {
		var k Kept
		if p.record == nil || json.Unmarshal(p.record, &k) != nil || k.Key == "" {
			k = Kept{Damaged: true, Reason: "its record cannot be read", At: timeOfID(p.id)}
			if text, err := s.keep.text(p.id); err == nil {
				k.Mine = api.ChecksumOf(text)
			}
		}
		k.ID, k.Size = p.id, p.size
		all = append(all, k)
	}
	return all, nil
}

// KeptText gives a kept text back. When its bytes are not those that were kept it
// gives what is there, with an error that wraps [ErrDamaged].
func (s *Store) KeptText(id string) ([]byte, error) {
	text, err := s.keep.text(id)
	if err != nil {
		return nil, fmt.Errorf("kept text %s: %w", id, err)
	}
	record, err := readBounded(s.keep.recordPath(id), 1<<20)
	var k Kept
	if err == nil && json.Unmarshal(record, &k) == nil && k.Mine != "" && api.ChecksumOf(text) != k.Mine {
		return text, fmt.Errorf("kept text %s is not what was kept: %w", id, ErrDamaged)
	}
	return text, nil
}

// Release removes a kept text, because a person decided so.
func (s *Store) Release(id string) error {
	if err := s.keep.remove(id); err != nil {
		return fmt.Errorf("release %s: %w", id, err)
	}
	return nil
}

// RetireKept holds the keep against its retention. Texts older than [Retention] are
// marked and returned as going, to be shown to a person; those that were marked at
// least [Notice] ago are removed and returned as gone. A piece whose record is
// damaged never goes by itself.
func (s *Store) RetireKept(now time.Time) (going, gone []Kept, err error) {
	all, err := s.Kept()
	if err != nil {
		return nil, nil, err
	}
	err = s.keep.finishRemovals()
	for _, k := range all {
		switch fate(k.At, k.Listed, now, k.Damaged) {
		case goes:
			if removeErr := s.Release(k.ID); removeErr != nil {
				err = errors.Join(err, removeErr)
				continue
			}
			gone = append(gone, k)
		case warns:
			k.Listed = now.UTC()
			err = errors.Join(err, s.keep.rewrite(k.ID, k))
			going = append(going, k)
		case warned:
			going = append(going, k)
		case stays:
		}
	}
	return going, gone, err
}
