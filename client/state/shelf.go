package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
)

// shelf is a folder of pieces: a text with a record of what it is. It is the keep
// and the trash. A piece appears whole, by the rename of a folder in which text and
// record already lie on the disk, and goes the same way. Names begin with the time,
// so that they sort by age.
type shelf struct {
	dir, name string
	most      int
	mostBytes int64
}

const (
	recordName = "record.json"
	textName   = "text"
	gonePrefix = ".gone-"
)

// maxPieceBytes bounds what is read back. It is above the largest body a server of
// ours can be told to take.
const maxPieceBytes = 64 << 20

// piece is one folder of a shelf, as found.
type piece struct {
	id     string
	size   int64
	record []byte // nil: there is none, or it cannot be read
}

// FullError says that the keep or the trash takes nothing more. Nothing was
// dropped: a person has to look at the oldest and let them go.
type FullError struct {
	Where  string // "keep" or "trash"
	Pieces int
	Bytes  int64
	Oldest []string // ids of the oldest three
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the %s is full: %d texts, %d bytes; the oldest are %s", e.Where, e.Pieces, e.Bytes, strings.Join(e.Oldest, ", "))
}

// put writes a piece and gives its id. record is marshalled after the id is known.
func (s shelf) put(at time.Time, sum api.Checksum, text []byte, record any) (string, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", err
	}
	if err := s.room(int64(len(text))); err != nil {
		return "", err
	}
	content, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return "", err
	}
	temporary, err := os.MkdirTemp(s.dir, temporaryPrefix+"*") // made with mode 0700
	if err != nil {
		return "", err
	}
	if err := fill(temporary, text, content); err != nil {
		return "", errors.Join(err, os.RemoveAll(temporary))
	}
	id, err := s.place(temporary, at.UTC().Format("20060102-150405")+"-"+sum.Short())
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(temporary))
	}
	if now, err := modTime(filepath.Join(s.dir, id)); err == nil {
		sweepTemporaries(s.dir, now)
	}
	return id, syncDir(s.dir)
}

// fill writes the text before its record, so that no record speaks of a text that
// is not on the disk.
func fill(dir string, text, record []byte) error {
	if err := writeFile(filepath.Join(dir, textName), text); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, recordName), record); err != nil {
		return err
	}
	return syncDir(dir)
}

// place gives the folder its name. A rename onto a folder that is not empty fails
// on every system, so that two processes cannot take one name.
func (s shelf) place(temporary, stem string) (string, error) {
	id := stem
	for n := 2; ; n++ {
		err := os.Rename(temporary, filepath.Join(s.dir, id))
		if err == nil {
			return id, nil
		}
		if _, taken := os.Lstat(filepath.Join(s.dir, id)); taken != nil {
			return "", err // the name is free, so the fault lies elsewhere
		}
		id = fmt.Sprintf("%s-%d", stem, n)
	}
}

func (s shelf) room(add int64) error {
	all, err := s.pieces()
	if err != nil {
		return err
	}
	var bytes int64
	for _, p := range all {
		bytes += p.size
	}
	if len(all) < s.most && bytes+add <= s.mostBytes {
		return nil
	}
	full := &FullError{Where: s.name, Pieces: len(all), Bytes: bytes}
	for _, p := range all[:min(3, len(all))] {
		full.Oldest = append(full.Oldest, p.id)
	}
	return full
}

// pieces lists the shelf, oldest first. A piece without a readable record is listed
// all the same: its text is somebody's.
func (s shelf) pieces() ([]piece, error) {
	names, err := os.ReadDir(s.dir)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []piece
	for _, name := range names {
		if !isPieceID(name.Name()) || !name.IsDir() {
			continue
		}
		info, err := os.Lstat(filepath.Join(s.dir, name.Name(), textName))
		if err != nil {
			if gone(err) {
				continue // released meanwhile
			}
			return nil, err
		}
		p := piece{id: name.Name(), size: info.Size()}
		p.record, _ = readBounded(filepath.Join(s.dir, p.id, recordName), 1<<20)
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b piece) int { return cmp.Compare(a.id, b.id) })
	return all, nil
}

func (s shelf) text(id string) ([]byte, error) {
	if !isPieceID(id) {
		return nil, fmt.Errorf("%q: %w", id, os.ErrNotExist)
	}
	return readBounded(filepath.Join(s.dir, id, textName), maxPieceBytes)
}

func (s shelf) recordPath(id string) string { return filepath.Join(s.dir, id, recordName) }

// rewrite replaces the record of a piece.
func (s shelf) rewrite(id string, record any) error {
	content, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(s.dir, id), recordName, content, true)
}

// remove takes a piece off the shelf at once, and then its bytes off the disk.
func (s shelf) remove(id string) error {
	if !isPieceID(id) {
		return fmt.Errorf("%q: %w", id, os.ErrNotExist)
	}
	leaving := filepath.Join(s.dir, gonePrefix+id)
	if err := os.Rename(filepath.Join(s.dir, id), leaving); err != nil {
		return err
	}
	if err := os.RemoveAll(leaving); err != nil {
		return err
	}
	return syncDir(s.dir)
}

// finishRemovals removes what a killed remove left under its leaving name.
func (s shelf) finishRemovals() error {
	leaving, err := filepath.Glob(filepath.Join(s.dir, gonePrefix+"*"))
	for _, path := range leaving {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// isPieceID keeps the names people type from leading anywhere else.
func isPieceID(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && r != '-'
	})
}
