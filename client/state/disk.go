package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// temporaryPrefix opens the names of files and folders that are still being
// written. Readers pass over them.
const temporaryPrefix = ".new-"

// staleAfter is the age at which a temporary file cannot belong to a running
// writer any more. It is judged against another file's time on the same disk, so
// that no clock of ours comes into it.
const staleAfter = time.Hour

// replaceFile puts content under name in dir, whole or not at all. With durable it
// has reached the disk when the call returns.
func replaceFile(dir, name string, content []byte, durable bool) error {
	f, err := os.CreateTemp(dir, temporaryPrefix+"*") // made with mode 0600
	if err != nil {
		return err
	}
	temporary := f.Name()
	if err := finish(f, content, durable); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	if err := os.Rename(temporary, filepath.Join(dir, name)); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	if durable {
		return syncDir(dir)
	}
	return nil
}

// writeFile writes a new file and syncs it.
func writeFile(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return finish(f, content, true)
}

func finish(f *os.File, content []byte, durable bool) error {
	_, err := f.Write(content)
	if err == nil && durable {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes the names in a directory durable. Windows has no such call; there
// the rename itself is journalled.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file: %w", path, ErrDamaged)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s: larger than %d bytes: %w", path, limit, ErrDamaged)
	}
	content := make([]byte, info.Size())
	n, err := io.ReadFull(f, content)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // it shrank meanwhile; whoever checks the contents will see
	}
	return content[:n], err
}

// sweepTemporaries removes what a killed writer left behind in dir.
func sweepTemporaries(dir string, now time.Time) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, name := range names {
		if !strings.HasPrefix(name.Name(), temporaryPrefix) {
			continue
		}
		if info, err := name.Info(); err == nil && now.Sub(info.ModTime()) > staleAfter {
			// What cannot be removed is in nobody's way.
			_ = os.RemoveAll(filepath.Join(dir, name.Name()))
		}
	}
}

func modTime(path string) (time.Time, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
