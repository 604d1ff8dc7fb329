package memdir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
)

// record is what the name of a file in .teammem/old says of it. The file is either
// what was to be placed at the key, and never was, or what stood at the key. In the
// first case its bytes are the placed ones, in the second the expected ones, which
// the caller knows; bytes that are neither are somebody's edit.
type record struct {
	id     string
	placed string // first half of the checksum in hex; "0" for nothing
	expect string
	key    api.Key
}

func newRecord(key api.Key, placed, expect api.Checksum) record {
	return record{id: rand.Text(), placed: half(placed), expect: half(expect), key: key}
}

// half shortens a checksum for a name: 128 bits are enough to tell contents apart
// that nobody chose to collide with a server's.
func half(sum api.Checksum) string {
	if len(sum) != api.ChecksumLen {
		return "0"
	}
	return string(sum[len(api.ChecksumPrefix):][:32])
}

// maxName is what every file system takes as a name.
const maxName = 240

// keyFile holds the key of a record whose name has no room for it.
const keyFile = "key."

// name spells the record. The key is escaped to letters, digits and a few marks, so
// that no file system changes or refuses it.
func (r record) name() (name string, whole bool) {
	stem := r.id + "." + r.placed + "." + r.expect + "."
	escaped := url.QueryEscape(string(r.key))
	if len(stem)+len(escaped) > maxName {
		return stem, false
	}
	return stem + escaped, true
}

// parseRecord reads a name in old/. The key is empty when it stands in a file of its
// own.
func parseRecord(name string) (record, bool) {
	parts := strings.SplitN(name, ".", 4)
	if len(parts) != 4 || parts[0] == "key" {
		return record{}, false
	}
	key, err := url.QueryUnescape(parts[3])
	if err != nil {
		return record{}, false
	}
	return record{id: parts[0], placed: parts[1], expect: parts[2], key: api.Key(key)}, true
}

// note makes the record durable before its file comes, where the name does not hold
// it all, and gives the name.
func (r record) note(old *folder) (string, error) {
	name, whole := r.name()
	if whole {
		return name, nil
	}
	file, err := old.root.OpenFile(keyFile+r.id, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(string(r.key))
	return name, errors.Join(err, file.Sync(), file.Close())
}

// forget removes a record and its file.
func (r record) forget(old *folder) error {
	name, whole := r.name()
	err := old.root.Remove(name)
	if !whole {
		err = errors.Join(err, old.root.Remove(keyFile+r.id))
	}
	return err
}

// Reap goes through what [Dir.Write] and [Dir.Remove] displaced before the given
// time. A file that holds what was expected there, or what was to be placed there,
// is removed, and so is one that holds what stands at the key now. Any other was
// changed by somebody between our last look and the exchange, or through a handle
// that was still open: fn must save its content, and then it is removed. When fn fails, the file stays. The error names all that
// could not be dealt with; the others are.
//
// It is called under the lock. The longer ago before is, the more certain it is
// that no editor still writes to what is removed here.
func (d *Dir) Reap(before time.Time, fn func(key api.Key, content []byte) error) error {
	old, err := d.own("old")
	if err != nil {
		return fmt.Errorf("reap: %w", err)
	}
	defer old.Close()
	entries, err := old.file.ReadDir(-1)
	if err != nil {
		return fmt.Errorf("reap: %w", err)
	}
	r := reaper{dir: d, old: old, before: before.UnixNano(), save: fn, saved: map[api.Key]api.Checksum{}}
	var all []error
	for _, entry := range entries {
		rec, ok := parseRecord(entry.Name())
		if !ok {
			continue
		}
		if err := r.reap(entry.Name(), rec); err != nil {
			all = append(all, fmt.Errorf("reap %s: %w", rec.key, err))
		}
	}
	return errors.Join(append(all, dropKeyFiles(old, entries))...)
}

// maxDisplaced bounds what is read into memory of one displaced file.
const maxDisplaced = 64 << 20

// reaper is one run of Reap.
type reaper struct {
	dir    *Dir
	old    *folder
	before int64
	save   func(api.Key, []byte) error
	saved  map[api.Key]api.Checksum // a kill may leave one edit twice
}

func (r reaper) reap(name string, rec record) error {
	info, err := r.old.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if ctime, _, _ := system(info); ctime >= r.before {
		return nil
	}
	apart := rec.key == ""
	if apart {
		if rec.key, err = rec.readKey(r.old); err != nil {
			return err
		}
	}
	got, err := r.old.read(name, ownFolder+"/old/"+name, maxDisplaced)
	if err != nil {
		return err
	}
	if len(got.content) > maxDisplaced {
		return fmt.Errorf("%s/old/%s has more than %d bytes and stays where it is", ownFolder, name, maxDisplaced)
	}
	if sum := api.ChecksumOf(got.content); r.isEdit(rec, sum) {
		if err := r.save(rec.key, got.content); err != nil {
			return err
		}
		r.saved[rec.key] = sum
	}
	if err := r.old.root.Remove(name); err != nil || !apart {
		return err
	}
	return r.old.root.Remove(keyFile + rec.id)
}

// isEdit reports whether a content is one that nobody else has.
func (r reaper) isEdit(rec record, sum api.Checksum) bool {
	known := half(sum) == rec.placed || half(sum) == rec.expect || r.saved[rec.key] == sum
	return !known && !r.dir.stands(rec.key, sum)
}

// stands reports whether the content is what stands at the key now.
func (d *Dir) stands(key api.Key, sum api.Checksum) bool {
	at, name := split(key)
	f, err := d.folder(at, false)
	if err != nil {
		return false
	}
	defer f.Close()
	found, err := f.checksum(name)
	return err == nil && found == sum
}

func (r record) readKey(old *folder) (api.Key, error) {
	file, err := old.root.OpenFile(keyFile+r.id, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, api.MaxKeyBytes))
	return api.Key(b), err
}

// dropKeyFiles removes key files that lost their record to a kill.
func dropKeyFiles(old *folder, entries []fs.DirEntry) error {
	records := map[string]bool{}
	for _, entry := range entries {
		if r, ok := parseRecord(entry.Name()); ok {
			records[r.id] = true
		}
	}
	var all []error
	for _, entry := range entries {
		if id, ok := strings.CutPrefix(entry.Name(), keyFile); ok && !records[id] {
			all = append(all, old.root.Remove(entry.Name()))
		}
	}
	return errors.Join(all...)
}
