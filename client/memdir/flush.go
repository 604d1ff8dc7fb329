package memdir

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// flushing says when the names in folders reach the disk: with each write, or together
// with others'. A file's bytes are on the disk before it gets its name in either case,
// so that what a power cut leaves is the old file or the new one.
type flushing struct {
	mu      sync.Mutex
	late    bool
	waiting []*os.File // folders whose names may not be on the disk yet
}

// mostWaiting bounds the handles that are held open for [Dir.Flush].
const mostWaiting = 32

// FlushLate lets [Dir.Write] and [Dir.Remove] return before the names that they changed
// have reached the disk. The caller calls [Dir.Flush] before it notes anywhere that they
// have: until then a power cut may undo them. Many small files are much cheaper so.
func (d *Dir) FlushLate() {
	d.flushing.mu.Lock()
	defer d.flushing.mu.Unlock()
	d.flushing.late = foldersAreFlushed
}

// Flush brings to the disk what was changed since the last Flush. After an error it is
// still to be done.
func (d *Dir) Flush() error {
	d.flushing.mu.Lock()
	defer d.flushing.mu.Unlock()
	return d.flushing.flush()
}

func (w *flushing) flush() error {
	for len(w.waiting) > 0 {
		last := len(w.waiting) - 1
		if err := syncFolder(w.waiting[last]); err != nil {
			return fmt.Errorf("flush directory: %w", err)
		}
		_ = w.waiting[last].Close()
		w.waiting = w.waiting[:last]
	}
	return nil
}

// settle brings a folder's names to the disk, now or with the next Flush.
func (d *Dir) settle(f *folder) error {
	w := &d.flushing
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.late {
		return syncFolder(f.file)
	}
	for _, file := range w.waiting {
		if sameFolder(file, f.file) {
			return nil
		}
	}
	if len(w.waiting) == mostWaiting {
		if err := w.flush(); err != nil {
			return err
		}
	}
	// The handle is of the folder itself, whatever its path leads to by then.
	file, err := f.root.Open(".")
	if err != nil {
		return err
	}
	w.waiting = append(w.waiting, file)
	return nil
}

func sameFolder(a, b *os.File) bool {
	one, errOne := a.Stat()
	other, errOther := b.Stat()
	return errOne == nil && errOther == nil && os.SameFile(one, other)
}

// close gives the handles back, flushed where that can be.
func (w *flushing) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	errs := []error{w.flush()}
	for _, file := range w.waiting {
		errs = append(errs, file.Close())
	}
	w.waiting = nil
	return errors.Join(errs...)
}
