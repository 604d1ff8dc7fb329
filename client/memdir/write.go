package memdir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/teammem/teammem/api"
)

// ChangedError says that what stands at a key is not what was expected there. Nothing
// was changed; the plan is to be made anew.
type ChangedError struct {
	Key    api.Key
	Detail string
}

func (e *ChangedError) Error() string { return "meanwhile it " + e.Detail }

// errCannot: this file system or system has no such call.
var errCannot = errors.New("not possible on this file system")

// Write puts content under a key and gives the new file. What stands there must be
// *expect, or nothing when expect is nil; otherwise the error is a *[ChangedError]. Equal
// bytes count as unchanged, whatever their times say. The new file has the
// permissions of the old one, and the modification time given unless that is zero.
//
// The file is either the old one or the new one at every instant, and after a power
// cut. On Linux and macOS the two are exchanged in one step and what was displaced is
// looked at; what was not expected is put back, so that for some microseconds the new
// text may be seen in the place of an edit. On file systems without such a call,
// and on Windows, the old file gets a second name first: then an editor that
// replaces the file in the microseconds between the last look and the rename loses
// its edit, while one that writes into the file does not ([Dir.Reap]). Writers of ours,
// of however many processes, take turns: exactly one of those who expect the same wins.
//
// A directory that the key needs is made. An *[ObstacleError] says that something else
// stands in its place; a *[Left] that the key is never written here ([Refuses]).
func (d *Dir) Write(now time.Time, key api.Key, content []byte, modified time.Time, expect *File) (File, error) {
	if left := Refuses(key); left != nil {
		return File{}, fmt.Errorf("write: %w", left)
	}
	file, err := d.write(now, key, content, modified, expect)
	if err != nil {
		return File{}, fmt.Errorf("write %s: %w", key, err)
	}
	return file, nil
}

func (d *Dir) write(now time.Time, key api.Key, content []byte, modified time.Time, expect *File) (File, error) {
	at, name := split(key)
	target, err := d.folder(at, expect == nil)
	if err != nil {
		return File{}, goneWithFolder(key, err)
	}
	defer target.Close()
	mode, err := target.standing(key, name, expect)
	if err != nil {
		return File{}, err
	}
	tmp, old, err := d.workshop()
	if err != nil {
		return File{}, err
	}
	defer tmp.Close()
	defer old.Close()
	sum := api.ChecksumOf(content)
	rec := newRecord(key, sum, checksumOf(expect))
	staged, fp, err := stage(tmp, old, rec, content, modified, mode)
	if err != nil {
		return File{}, err
	}
	p := placing{dir: d, rec: rec, staged: staged, old: old, target: target, name: name}
	if err := p.inTurn(expect); err != nil {
		return File{}, err
	}
	return d.placed(target, File{Key: key, Checksum: sum, Fingerprint: fp}, name, now)
}

func checksumOf(expect *File) api.Checksum {
	if expect == nil {
		return ""
	}
	return expect.Checksum
}

// goneWithFolder: a file that was expected is gone when its folder is.
func goneWithFolder(key api.Key, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &ChangedError{Key: key, Detail: "is gone"}
	}
	return err
}

// defaultMode stands for the permissions of a new file, which the umask decides.
const defaultMode fs.FileMode = 0

// standing reports whether what stands at the name is what is expected, and which
// permissions it has.
func (f *folder) standing(key api.Key, name string, expect *File) (fs.FileMode, error) {
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && expect == nil:
		return defaultMode, nil
	case errors.Is(err, fs.ErrNotExist):
		return 0, &ChangedError{Key: key, Detail: "is gone"}
	case err != nil:
		return 0, err
	case expect == nil:
		return 0, &ChangedError{Key: key, Detail: "is there"}
	case !info.Mode().IsRegular():
		return 0, &ChangedError{Key: key, Detail: reasonOfMode(info.Mode()).says()}
	case info.Size() != expect.Fingerprint.Size:
		return 0, &ChangedError{Key: key, Detail: "was edited"}
	case expect.Fingerprint.same(fingerprintOf(info, 0)):
		return info.Mode().Perm(), nil
	}
	return info.Mode().Perm(), f.holds(name, key, expect.Checksum)
}

// holds reads a file and reports whether it has the checksum.
func (f *folder) holds(name string, key api.Key, sum api.Checksum) error {
	found, err := f.checksum(name)
	if left := (*Left)(nil); errors.As(err, &left) {
		return &ChangedError{Key: key, Detail: left.Detail}
	}
	if err != nil {
		return err
	}
	if found != sum {
		return &ChangedError{Key: key, Detail: "was edited"}
	}
	return nil
}

// checksum reads a file for comparison. One that is beyond all that is synced has none,
// and so is like no other.
func (f *folder) checksum(name string) (api.Checksum, error) {
	got, err := f.read(name, path.Join(f.path, name), maxDisplaced)
	if err != nil || len(got.content) > maxDisplaced {
		return "", err
	}
	return api.ChecksumOf(got.content), nil
}

// stage writes the content to a file of ours, syncs it, and moves it to old/ under
// the record's name. Until it is whole it stands in tmp/.
func stage(tmp, old *folder, rec record, content []byte, modified time.Time, mode fs.FileMode) (name string, fp Fingerprint, err error) {
	part := rand.Text()
	fp, err = tmp.fill(part, content, modified, mode, synced)
	if err == nil {
		if name, err = rec.note(old); err == nil {
			err = move(tmp, part, old, name)
		}
	}
	if err != nil {
		_ = tmp.root.Remove(part)
		return "", Fingerprint{}, err
	}
	return name, fp, nil
}

// durability says whether a file is on the disk when it is made.
type durability bool

const (
	synced   durability = true
	unsynced durability = false
)

// fill makes a new file with the content.
func (f *folder) fill(name string, content []byte, modified time.Time, mode fs.FileMode, d durability) (fp Fingerprint, err error) {
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fp, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(content); err != nil {
		return fp, err
	}
	if mode != defaultMode {
		if err := file.Chmod(mode); err != nil {
			return fp, err
		}
	}
	if !modified.IsZero() {
		if err := f.root.Chtimes(name, time.Time{}, modified); err != nil {
			return fp, err
		}
	}
	if d == synced {
		if err := file.Sync(); err != nil {
			return fp, err
		}
	}
	info, err := file.Stat()
	if err != nil {
		return fp, err
	}
	return fingerprintOf(info, 0), nil
}

// placed gives the file that was put at the name with the fingerprint it has there. If
// somebody changed it since, the fingerprint stays one that will not match.
func (d *Dir) placed(f *folder, file File, name string, now time.Time) (File, error) {
	if err := d.settle(f); err != nil {
		return file, err
	}
	info, err := f.root.Lstat(name)
	if err != nil {
		return file, nil // It was placed, and removed since: the next scan sees that.
	}
	fp := fingerprintOf(info, now.UnixNano())
	if fp.Inode == file.Fingerprint.Inode && fp.Size == file.Fingerprint.Size && fp.MTime == file.Fingerprint.MTime {
		file.Fingerprint = fp
	}
	return file, nil
}
