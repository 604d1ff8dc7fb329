package memdir

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/teammem/teammem/api"
)

// Redact removes contents that were withdrawn from .teammem/old and .teammem/tmp, at
// once and unseen by [Dir.Reap]'s caller. It goes by the bytes alone. The files that
// are keys are the caller's business. What could not be removed is in the error; the
// rest is gone.
//
// It is called under the lock.
func (d *Dir) Redact(sums []api.Checksum) error {
	if len(sums) == 0 {
		return nil
	}
	var all []error
	for _, name := range []string{"old", "tmp"} {
		if err := d.redactIn(name, sums); err != nil {
			all = append(all, fmt.Errorf("redact %s/%s: %w", ownFolder, name, err))
		}
	}
	return errors.Join(all...)
}

func (d *Dir) redactIn(name string, sums []api.Checksum) error {
	own, err := d.own(name)
	if err != nil {
		return err
	}
	defer own.Close()
	entries, err := own.file.ReadDir(-1)
	if err != nil {
		return err
	}
	var all []error
	for _, entry := range entries {
		sum, err := own.checksum(entry.Name())
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && slices.Contains(sums, sum):
			err = own.root.Remove(entry.Name())
		}
		all = append(all, err)
	}
	return errors.Join(append(all, syncFolder(own.file))...)
}
