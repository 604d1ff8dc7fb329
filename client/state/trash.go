package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/teammem/teammem/api"
)

// Trashed is a file that was removed here because it was deleted at the server.
type Trashed struct {
	ID       string       `json:"-"`
	Key      api.Key      `json:"key"`
	At       time.Time    `json:"at"`
	Checksum api.Checksum `json:"checksum"`
	Modified time.Time    `json:"modified"` // the file's own time
	// Listed, Size and Damaged are as in [Kept].
	Listed  time.Time `json:"listed,omitzero"`
	Size    int64     `json:"-"`
	Damaged bool      `json:"-"`
}

// Trash keeps content. It is on the disk when Trash returns, so that the file may
// be removed then. The same content of the same key is kept once, as of its last
// removal. A full trash answers a *[FullError] and keeps nothing: the caller must
// then leave the file.
func (s *Store) Trash(t Trashed, content []byte) (Trashed, error) {
	if api.ChecksumOf(content) != t.Checksum {
		return Trashed{}, fmt.Errorf("trash %q: the content does not have the checksum %s", t.Key, t.Checksum.Short())
	}
	all, err := s.Trashes()
	if err != nil {
		return Trashed{}, err
	}
	t.Listed = time.Time{}
	t.At, t.Modified = t.At.UTC(), t.Modified.UTC()
	if t.ID, err = s.trash.put(t.At, t.Checksum, content, t); err != nil {
		return Trashed{}, fmt.Errorf("trash %q: %w", t.Key, err)
	}
	t.Size = int64(len(content))
	for _, other := range all {
		if other.Key == t.Key && other.Checksum == t.Checksum && !other.Damaged {
			_ = s.RemoveTrash(other.ID) // a second copy does no harm
		}
	}
	return t, nil
}

// Trashes lists the trash, oldest first.
func (s *Store) Trashes() ([]Trashed, error) {
	pieces, err := s.trash.pieces()
	if err != nil {
		return nil, fmt.Errorf("list the trash: %w", err)
	}
	all := make([]Trashed, 0, len(pieces))
	for _, p := range pieces {
		var t Trashed
		if p.record == nil || json.Unmarshal(p.record, &t) != nil || t.Key == "" {
			t = Trashed{Damaged: true, At: timeOfID(p.id)}
			if text, err := s.trash.text(p.id); err == nil {
				t.Checksum = api.ChecksumOf(text)
			}
		}
		t.ID, t.Size = p.id, p.size
		all = append(all, t)
	}
	return all, nil
}

// TrashText gives a removed file's content back. When its bytes are not those that
// were removed it gives what is there, with an error that wraps [ErrDamaged].
func (s *Store) TrashText(id string) ([]byte, error) {
	text, err := s.trash.text(id)
	if err != nil {
		return nil, fmt.Errorf("trash %s: %w", id, err)
	}
	record, err := readBounded(s.trash.recordPath(id), 1<<20)
	var t Trashed
	if err == nil && json.Unmarshal(record, &t) == nil && t.Checksum != "" && api.ChecksumOf(text) != t.Checksum {
		return text, fmt.Errorf("trash %s is not what was removed: %w", id, ErrDamaged)
	}
	return text, nil
}

// RemoveTrash removes one piece for good.
func (s *Store) RemoveTrash(id string) error {
	if err := s.trash.remove(id); err != nil {
		return fmt.Errorf("remove trash %s: %w", id, err)
	}
	return nil
}

// RetireTrash is [Store.RetireKept] for the trash.
func (s *Store) RetireTrash(now time.Time) (going, gone []Trashed, err error) {
	all, err := s.Trashes()
	if err != nil {
		return nil, nil, err
	}
	err = s.trash.finishRemovals()
	for _, t := range all {
		switch fate(t.At, t.Listed, now, t.Damaged) {
		case goes:
			if removeErr := s.RemoveTrash(t.ID); removeErr != nil {
				err = errors.Join(err, removeErr)
				continue
			}
			gone = append(gone, t)
		case warns:
			t.Listed = now.UTC()
			err = errors.Join(err, s.trash.rewrite(t.ID, t))
			going = append(going, t)
		case warned:
			going = append(going, t)
		case stays:
		}
	}
	return going, gone, err
}
