package memdir

import (
	"io/fs"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Locked reports whether some client works in the directory now. It makes nothing,
// and what it says may be over by the time it is read: it is for people.
func (d *Dir) Locked() bool {
	path := filepath.Join(d.path, ownFolder, lockFile)
	info, err := d.root.Lstat(filepath.Join(ownFolder, lockFile))
	if err != nil || !info.Mode().IsRegular() || info.Mode().Type() == fs.ModeSymlink {
		return false
	}
	lock := flock.New(path, flock.SetFlag(openFlags))
	free, err := lock.TryRLock()
	if err != nil {
		return false
	}
	if free {
		_ = lock.Unlock()
	}
	return !free
}
