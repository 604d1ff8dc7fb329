package memdir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/teammem/teammem/api"
)

// Save puts content under a key as an editor saves: a hidden file beside the old one,
// synced, then renamed over it. What stands there must be *expect, or nothing when that
// is nil; else the error is a *[ChangedError] and nothing was changed. It is for what a
// person does here by command, in a directory that need not be synced at all and where
// nobody would empty .teammem/old. The new file has the permissions of the old one.
//
// The last look comes directly before the rename: an editor that saves within the
// microseconds between the two loses, as with any other editor.
func (d *Dir) Save(now time.Time, key api.Key, content []byte, expect *File) (File, error) {
	file, err := d.save(now, key, content, expect)
	if err != nil {
		return File{}, fmt.Errorf("save %s: %w", key, err)
	}
	return file, nil
}

func (d *Dir) save(now time.Time, key api.Key, content []byte, expect *File) (File, error) {
	at, name := split(key)
	f, err := d.folder(at, expect == nil)
	if err != nil {
		return File{}, goneWithFolder(key, err)
	}
	defer f.Close()
	mode, err := f.standing(key, name, expect)
	if err != nil {
		return File{}, err
	}
	part := "." + rand.Text() + ".tmp"
	fp, err := f.fill(part, content, time.Time{}, mode, synced)
	if err == nil {
		err = d.rename(f, part, key, name, expect)
	}
	if err != nil {
		_ = f.root.Remove(part)
		return File{}, err
	}
	return d.placed(f, File{Key: key, Checksum: api.ChecksumOf(content), Fingerprint: fp}, name, now)
}

// rename brings the part to its place: over what is expected, or where nothing stands.
func (d *Dir) rename(f *folder, part string, key api.Key, name string, expect *File) error {
	done := turn(f, nil)
	defer done()
	d.at("saving")
	if _, err := f.standing(key, name, expect); err != nil {
		return err
	}
	if expect != nil {
		return f.root.Rename(part, name)
	}
	err := errCannot
	if !d.plain {
		err = moveToFree(f, part, f, name)
	}
	if errors.Is(err, errCannot) {
		if err = link(f, part, f, name); err == nil {
			return f.root.Remove(part)
		}
		if errors.Is(err, errCannot) {
			err = f.root.Rename(part, name)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return &ChangedError{Key: key, Detail: "is there"}
	}
	return err
}

// Discard removes a file that must be *expect, as rm does, and the folders above it
// that are empty then.
func (d *Dir) Discard(key api.Key, expect File) error {
	at, name := split(key)
	f, err := d.folder(at, false)
	if err != nil {
		return fmt.Errorf("discard %s: %w", key, goneWithFolder(key, err))
	}
	done := turn(f, nil)
	_, err = f.standing(key, name, &expect)
	if err == nil {
		err = errors.Join(f.root.Remove(name), syncFolder(f.file))
	}
	done()
	f.Close()
	if err != nil {
		return fmt.Errorf("discard %s: %w", key, err)
	}
	d.prune(at)
	return nil
}
