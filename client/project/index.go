package project

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

var errIndex = errors.New("git's index cannot be read")

// maxIndexBytes is above the index of the largest monorepos.
const maxIndexBytes = 1 << 30

// isTracked reports whether git tracks a path in the work tree of gitDir, from its
// index alone. Outside git, and before the first add, nothing is tracked. An index
// that cannot be understood is an error, and the caller must think the worst.
//
// The format: https://git-scm.com/docs/index-format, versions 2 to 4.
func isTracked(gitDir, path string) (bool, error) {
	if gitDir == "" {
		return false, nil
	}
	content, err := readSmall(filepath.Join(gitDir, "index"), maxIndexBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, errIndex
	}
	hash := 20
	settings := readConfig(filepath.Join(gitDir, "config"))
	if common, ok := readLink(filepath.Join(gitDir, "commondir"), "", gitDir); ok {
		settings = readConfig(filepath.Join(common, "config"))
	}
	if format, ok := settings.last("extensions", "", "objectformat"); ok && strings.EqualFold(format, "sha256") {
		hash = 32
	}
	return indexHolds(content, path, hash)
}

// indexHolds walks the entries. A sparse index has entries for whole directories; a
// path below one counts as tracked.
func indexHolds(index []byte, path string, hash int) (bool, error) {
	if len(index) < 12+hash || string(index[:4]) != "DIRC" {
		return false, errIndex
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	if version < 2 || version > 4 {
		return false, errIndex
	}
	rest, name := index[12:len(index)-hash], []byte(nil)
	for range count {
		var ok bool
		if name, rest, ok = indexEntry(rest, name, version, hash); !ok {
			return false, errIndex
		}
		// A file system that folds case would read another spelling.
		if strings.EqualFold(string(name), path) || bytes.HasSuffix(name, []byte("/")) && strings.HasPrefix(path, string(name)) {
			return true, nil
		}
	}
	// A split index keeps most entries in another file, which is named in an
	// extension called "link".
	if bytes.HasPrefix(rest, []byte("link")) {
		return false, errIndex
	}
	return false, nil
}

// indexEntry reads one entry: 40 bytes of stat, the hash, 16 bits of flags, 16 more
// when their second bit says so, then the name.
func indexEntry(b, before []byte, version uint32, hash int) (name, rest []byte, ok bool) {
	fixed := 40 + hash + 2
	if len(b) < fixed {
		return nil, nil, false
	}
	if flags := binary.BigEndian.Uint16(b[fixed-2:]); flags&0x4000 != 0 && version >= 3 {
		fixed += 2
	}
	if len(b) < fixed {
		return nil, nil, false
	}
	after := b[fixed:]
	if version == 4 {
		strip, used := offsetVarint(after)
		if used == 0 || strip > uint64(len(before)) {
			return nil, nil, false
		}
		suffix, rest, ok := bytes.Cut(after[used:], []byte{0})
		kept := before[: len(before)-int(strip) : len(before)-int(strip)]
		return append(kept, suffix...), rest, ok
	}
	end := bytes.IndexByte(after, 0)
	if end < 0 {
		return nil, nil, false
	}
	size := (fixed + end + 8) &^ 7 // one to eight NULs make a multiple of eight
	if len(b) < size {
		return nil, nil, false
	}
	return after[:end], b[size:], true
}

// offsetVarint is the number of git's pack format in which each further byte also
// adds one. used is 0 when it does not end.
func offsetVarint(b []byte) (n uint64, used int) {
	for i, c := range b[:min(len(b), 9)] {
		if i > 0 {
			n++
		}
		n = n<<7 | uint64(c&0x7f)
		if c&0x80 == 0 {
			return n, i + 1
		}
	}
	return 0, 0
}
