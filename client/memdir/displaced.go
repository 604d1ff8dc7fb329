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
// is removed. Any other was changed by somebody between our last look and the
// exchange, or through a handle that was still open: fn must save its content,
// and then it is removed. When fn fails, the file stays. The error names all that
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
	var all []error
	for _, entry := range entries {
		r, ok := parseRecord(entry.Name())
		if !ok {
			continue
		}
		if err := d.reap(old, entry.Name(), r, before, fn); err != nil {
			all = append(all, fmt.Errorf("reap %s: %w", r.key, err))
		}
	}
	return errors.Join(append(all, dropKeyFiles(old, entries))...)
}

// maxDisplaced bounds what is read into memory of one displaced file.
const maxDisplaced = 64 << 20

func (d *Dir) reap(old *folder, name string, r record, before time.Time, fn func(api.Key, []byte) error) error {
	info, err := old.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if ctime, _, _ := system(info); ctime >= before.UnixNano() {
		return nil
	}
	_, whole := r.name()
	if r.key == "" {
		if r.key, err = r.readKey(old); err != nil {
			return err
		}
		whole = false
	}
	got, err := old.read(name, ownFolder+"/old/"+name, maxDisplaced)
	if err != nil {
		return err
	}
	if len(got.content) > maxDisplaced {
		return fmt.Errorf("%s/old/%s has more than %d bytes and stays where it is", ownFolder, name, maxDisplaced)
	}
	if sum := half(api.ChecksumOf(got.content)); sum != r.placed && sum != r.expect {
		if err := fn(r.key, got.content); err != nil {
			return err
		}
	}
	if err := old.root.Remove(name); err != nil {
		return err
	}
	if !whole {
		return old.root.Remove(keyFile + r.id)
	}
	return nil
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
