package state

import (
	"errors"
	"fmt"
	"slices"

	"github.com/teammem/teammem/api"
)

// Redact removes contents that an administrator withdrew from the base texts, the
// keep and the trash. It goes by the bytes themselves where a record cannot be
// believed. What could not be removed is in the error; the rest is gone.
func (s *Store) Redact(sums []api.Checksum) error {
	if len(sums) == 0 {
		return nil
	}
	err := s.texts.redact(sums)
	for _, shelf := range []shelf{s.keep, s.trash} {
		err = errors.Join(err, shelf.redact(sums))
	}
	if err != nil {
		return fmt.Errorf("redact: %w", err)
	}
	return nil
}

func (t *texts) redact(sums []api.Checksum) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(); err != nil {
		return err
	}
	var err error
	for _, sum := range sums {
		if _, parseErr := api.ParseChecksum(string(sum)); parseErr != nil {
			err = errors.Join(err, parseErr)
			continue
		}
		err = errors.Join(err, t.drop(sum))
	}
	return err
}

func (s shelf) redact(sums []api.Checksum) error {
	pieces, err := s.pieces()
	if err != nil {
		return err
	}
	err = s.finishRemovals()
	for _, p := range pieces {
		text, readErr := s.text(p.id)
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		if slices.Contains(sums, api.ChecksumOf(text)) {
			err = errors.Join(err, s.remove(p.id))
		}
	}
	return err
}
