package memdir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
)

// reading is one file's bytes with what the file system said of it.
type reading struct {
	content []byte
	info    fs.FileInfo // from before the read
	steady  bool        // and nothing had moved after it
}

// readTries is how often a file that changes while it is read is read again.
const readTries = 3

// read reads a regular file by its name in the folder, at most limit bytes of it and
// one more. What is no regular file is a *[Left].
func (f *folder) read(name, full string, limit int) (reading, error) {
	var got reading
	var err error
	for range readTries {
		got, err = f.readOnce(name, full, limit)
		if err == nil && got.steady || err != nil && !errors.Is(err, errMoved) {
			return got, err
		}
	}
	return got, err
}

func (f *folder) readOnce(name, full string, limit int) (reading, error) {
	file, err := openRegular(f.root, name, full)
	if err != nil {
		return reading{}, err
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil {
		return reading{}, err
	}
	var content bytes.Buffer
	if size := opened.Size(); size < int64(limit) {
		content.Grow(int(size) + bytes.MinRead)
	}
	if _, err := content.ReadFrom(io.LimitReader(file, int64(limit)+1)); err != nil {
		return reading{}, err
	}
	after, err := file.Stat()
	if err != nil {
		return reading{}, err
	}
	steady := fingerprintOf(opened, 0) == fingerprintOf(after, 0)
	return reading{content: content.Bytes(), info: opened, steady: steady}, nil
}

// look hashes one file, or says why it is left out.
func (f *folder) look(key api.Key, name string, at int64, maxBytes int) (File, *Left, error) {
	got, err := f.read(name, string(key), maxBytes)
	if left := (*Left)(nil); errors.As(err, &left) {
		return File{}, left, nil
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return File{}, nil, err
	case err != nil:
		return File{}, unreadable(string(key), err), nil
	case len(got.content) > maxBytes:
		return File{}, tooLarge(string(key), max(got.info.Size(), int64(len(got.content))), maxBytes), nil
	case !utf8.Valid(got.content):
		return File{}, leave(string(key), ReasonNotUTF8, ""), nil
	}
	if !got.steady {
		at = 0
	}
	return File{Key: key, Checksum: api.ChecksumOf(got.content), Fingerprint: fingerprintOf(got.info, at)}, nil, nil
}

func tooLarge(name string, size int64, maxBytes int) *Left {
	return leave(name, ReasonTooLarge, fmt.Sprintf("has %d bytes, more than the limit of %d", size, maxBytes))
}

// unreadable gives the cause without the path, which the caller names.
func unreadable(name string, err error) *Left {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return leave(name, ReasonUnreadable, fmt.Sprintf("cannot be read: %v", err))
}

// Read gives the content of one file of at most maxBytes. [fs.ErrNotExist] when nothing
// stands there, a *[Left] when it is no file that is synced.
func (d *Dir) Read(key api.Key, maxBytes int) ([]byte, error) {
	at, name := split(key)
	f, err := d.folder(at, false)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	defer f.Close()
	got, err := f.read(name, string(key), maxBytes)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	if len(got.content) > maxBytes {
		return nil, tooLarge(string(key), max(got.info.Size(), int64(len(got.content))), maxBytes)
	}
	return got.content, nil
}
