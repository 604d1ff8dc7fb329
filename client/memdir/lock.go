package memdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

const (
	lockFile   = "lock"
	holderFile = "holder.json"
)

// holder says who has the lock. It is for people: the lock is the operating
// system's, and what this file says of a process decides nothing (BR-58). Since is
// the file's own time.
type holder struct {
	PID  int    `json:"pid"`
	What string `json:"what"`
}

// Lock makes the caller the one client that works in this directory until unlock, or
// until the process ends in whatever way. An error that wraps [ErrLocked] names the
// holder. What dead runs left half written is removed.
func (d *Dir) Lock(what string) (unlock func() error, err error) {
	own, err := d.own("")
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", d.path, err)
	}
	defer own.Close()
	lock, err := d.tryLock(own)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", d.path, err)
	}
	b, err := json.Marshal(holder{PID: os.Getpid(), What: what})
	if err == nil {
		err = d.putOwn(holderFile, append(b, '\n'))
	}
	if err == nil {
		err = d.clean()
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", d.path, errors.Join(err, lock.Unlock()))
	}
	return lock.Unlock, nil
}

// tryLock makes the lock file through the root, locks it by its path, as the library
// wants it, and then makes sure that both were the same file: nothing is made by the
// path, and a folder of ours that was removed and made anew has a lock of its own.
func (d *Dir) tryLock(own *folder) (*flock.Flock, error) {
	file, err := own.root.OpenFile(lockFile, os.O_RDONLY|os.O_CREATE|openFlags, 0o644)
	if err != nil {
		return nil, err
	}
	made, err := file.Stat()
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	seen, err := own.root.Lstat(lockFile)
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() || !os.SameFile(made, seen) {
		return nil, leave(ownFolder+"/"+lockFile, reasonOfMode(seen.Mode()), "")
	}
	lock := flock.New(filepath.Join(d.path, ownFolder, lockFile), flock.SetFlag(os.O_RDONLY|openFlags))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w%s", ErrLocked, d.holder(own))
	}
	locked, err := lock.Stat()
	if err == nil && !os.SameFile(locked, seen) {
		err = ErrReplaced
	}
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return lock, nil
}

// holder describes who has the lock, as far as that can be known.
func (d *Dir) holder(own *folder) string {
	got, err := own.read(holderFile, holderFile, maxOwnFile)
	if err != nil {
		return ""
	}
	var h holder
	if json.Unmarshal(got.content, &h) != nil {
		return ""
	}
	return fmt.Sprintf(" (process %d, %q, since %s)", h.PID, h.What, got.info.ModTime().Format("2006-01-02 15:04:05"))
}

// clean removes what dead runs left in tmp. Under the lock nobody writes there.
func (d *Dir) clean() error {
	tmp, err := d.own("tmp")
	if err != nil {
		return err
	}
	defer tmp.Close()
	entries, err := tmp.file.ReadDir(-1)
	if err != nil {
		return err
	}
	var all []error
	for _, entry := range entries {
		if err := tmp.root.Remove(entry.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
