package memdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/teammem/teammem/api"
)

// Remove removes the file under a key, which must be *expect, as in [Dir.Write]: a
// *[ChangedError] otherwise, and nothing is removed. Directories above it that are
// empty then go too, but never the root. What was removed stays in .teammem/old
// until [Dir.Reap].
func (d *Dir) Remove(key api.Key, expect File) error {
	if err := d.remove(key, expect); err != nil {
		return fmt.Errorf("remove %s: %w", key, err)
	}
	at, _ := split(key)
	d.prune(at)
	return nil
}

func (d *Dir) remove(key api.Key, expect File) error {
	at, name := split(key)
	target, err := d.folder(at, false)
	if err != nil {
		return goneWithFolder(key, err)
	}
	defer target.Close()
	old, err := d.own("old")
	if err != nil {
		return err
	}
	defer old.Close()
	done := turn(target, old)
	defer done()
	if _, err := target.standing(key, name, &expect); err != nil {
		return err
	}
	rec := newRecord(key, "", expect.Checksum)
	held, err := rec.note(old)
	if err != nil {
		return err
	}
	d.at("removing")
	if err := move(target, name, old, held); err != nil {
		return goneWithFolder(key, err)
	}
	if changed := old.holds(held, key, expect.Checksum); changed != nil {
		keepCopy(old, held, rec)
		if err := d.giveBack(old, held, target, name); err != nil {
			return fmt.Errorf("put back what was edited meanwhile, it is in %s/old: %w", ownFolder, err)
		}
		return changed
	}
	return errors.Join(d.settle(target), d.settle(old))
}

// giveBack puts a file back to its place. If another stands there by now, both are
// edits: that one keeps the place, and [Dir.Reap] finds the one held.
func (d *Dir) giveBack(old *folder, held string, target *folder, name string) error {
	err := errCannot
	if !d.plain {
		err = moveToFree(old, held, target, name)
	}
	if errors.Is(err, errCannot) {
		if err = link(old, held, target, name); err == nil {
			return old.root.Remove(held)
		}
	}
	if errors.Is(err, errCannot) {
		if _, err = target.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return move(old, held, target, name)
		}
	}
	return ignoreExist(err)
}

// prune removes empty directories, from the one given upwards. It stops at the
// first that is not empty, which is no error.
func (d *Dir) prune(at string) {
	for at != "." {
		var name string
		at, name = path.Split(at)
		at = path.Clean(at)
		parent, err := d.folder(at, false)
		if err != nil {
			return
		}
		err = removeEmpty(parent, name)
		parent.Close()
		if err != nil {
			return
		}
	}
}

// SetModified gives a file, which must be *expect, another modification time. Its
// content is not touched; when it has a second name, which may lie outside the
// root, it is replaced by a copy first.
func (d *Dir) SetModified(now time.Time, key api.Key, modified time.Time, expect File) (File, error) {
	file, err := d.setModified(now, key, modified, expect)
	if err != nil {
		return File{}, fmt.Errorf("set the time of %s: %w", key, err)
	}
	return file, nil
}

func (d *Dir) setModified(now time.Time, key api.Key, modified time.Time, expect File) (File, error) {
	at, name := split(key)
	f, err := d.folder(at, false)
	if err != nil {
		return File{}, goneWithFolder(key, err)
	}
	defer f.Close()
	if _, err := f.standing(key, name, &expect); err != nil {
		return File{}, err
	}
	got, err := f.read(name, string(key), int(expect.Fingerprint.Size))
	if err != nil {
		return File{}, err
	}
	if api.ChecksumOf(got.content) != expect.Checksum {
		return File{}, &ChangedError{Key: key, Detail: "was edited"}
	}
	if _, _, links := system(got.info); links > 1 {
		return d.write(now, key, got.content, modified, &expect)
	}
	if err := f.root.Chtimes(name, time.Time{}, modified); err != nil {
		return File{}, err
	}
	info, err := f.root.Lstat(name)
	if err != nil {
		return File{}, goneWithFolder(key, err)
	}
	if !os.SameFile(info, got.info) {
		return File{}, &ChangedError{Key: key, Detail: "was edited"}
	}
	return File{Key: key, Checksum: expect.Checksum, Fingerprint: fingerprintOf(info, now.UnixNano())}, nil
}
