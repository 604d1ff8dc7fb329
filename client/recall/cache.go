package recall

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"github.com/teammem/teammem/client/memdir"
)

// cacheMagic begins the file; its number rises with every change of the form, of how
// words are taken apart, or of what counts as a warning.
const cacheMagic = "teammem recall 2\n"

// mostCache bounds what is read: 100,000 memories come to half of it.
const mostCache = 512 << 20

// Save writes the cache, if anything changed since it was read. The file is for its
// owner alone: it holds names, descriptions and hashes of words, no text.
func (l *Library) Save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cache == "" || !l.changed {
		return nil
	}
	l.Index.mu.RLock()
	content := l.encode()
	l.Index.mu.RUnlock()
	if err := replace(l.cache, content); err != nil {
		return fmt.Errorf("save the recall index: %w", err)
	}
	l.changed = false
	return nil
}

// replace writes a file whole or not at all. It is not synced: a cache that a power
// cut takes is made again.
func replace(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func (l *Library) encode() []byte {
	out := []byte(cacheMagic)
	text := func(s string) {
		out = binary.AppendUvarint(out, uint64(len(s)))
		out = append(out, s...)
	}
	out = binary.AppendUvarint(out, uint64(len(l.byPath)))
	for i := range l.docs {
		d := &l.docs[i]
		if d.gone {
			continue
		}
		seen := l.seen[d.note.Path]
		for _, s := range []string{d.note.Path, d.note.Name, d.note.Description, d.note.Type} {
			text(s)
		}
		for _, n := range []int64{seen.Size, seen.MTime, seen.CTime, int64(seen.Inode), seen.At} {
			out = binary.AppendVarint(out, n)
		}
		for _, n := range d.lengths {
			out = binary.AppendUvarint(out, uint64(n))
		}
		out = append(out, map[bool]byte{true: 1}[d.warns])
		out = binary.AppendUvarint(out, uint64(len(d.terms)))
		out = append(out, d.terms...)
	}
	return binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

// load takes the cache in. One that is missing, of another form, or damaged is no
// cache, and everything is read anew.
func (l *Library) load() {
	if l.cache == "" {
		return
	}
	info, err := os.Stat(l.cache)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostCache {
		return
	}
	content, err := os.ReadFile(l.cache)
	if err != nil {
		return
	}
	docs, seen, err := decode(content)
	if err != nil {
		return
	}
	l.docs, l.byPath = make([]document, 0, len(docs)), make(map[string]int, len(docs))
	l.seen = make(map[string]memdir.Fingerprint, len(docs))
	for i, d := range docs {
		l.set(d)
		l.seen[d.note.Path] = seen[i]
	}
}

var errCache = errors.New("not a recall index")

func decode(content []byte) ([]document, []memdir.Fingerprint, error) {
	rest, ok := bytes.CutPrefix(content, []byte(cacheMagic))
	if !ok || len(rest) < 4 {
		return nil, nil, errCache
	}
	body := len(content) - 4
	if crc32.ChecksumIEEE(content[:body]) != binary.LittleEndian.Uint32(content[body:]) {
		return nil, nil, errCache
	}
	r := reader{rest: rest[:len(rest)-4]}
	n := r.number()
	if n > uint64(len(r.rest)) {
		return nil, nil, errCache
	}
	docs, seen := make([]document, 0, n), make([]memdir.Fingerprint, 0, n)
	for range n {
		d, f := r.document()
		if r.bad {
			return nil, nil, errCache
		}
		docs, seen = append(docs, d), append(seen, f)
	}
	if len(r.rest) > 0 {
		return nil, nil, errCache
	}
	return docs, seen, nil
}

// reader takes values off the front. After a fault everything is zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) document() (document, memdir.Fingerprint) {
	var d document
	for _, s := range []*string{&d.note.Path, &d.note.Name, &d.note.Description, &d.note.Type} {
		*s = string(r.bytes(r.number()))
	}
	f := memdir.Fingerprint{Size: r.signed(), MTime: r.signed(), CTime: r.signed(), Inode: uint64(r.signed()), At: r.signed()}
	d.note.Modified = time.Unix(0, f.MTime)
	for i := range d.lengths {
		d.lengths[i] = int(r.number())
	}
	if flag := r.bytes(1); len(flag) == 1 {
		d.warns = flag[0] == 1
	}
	d.terms = terms(r.bytes(r.number()))
	r.bad = r.bad || !d.terms.sorted() // they are searched by halves
	return d, f
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.bad, size, n = true, 0, 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) signed() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.bad, size, n = true, 0, 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	part := r.rest[:n]
	r.rest = r.rest[n:]
	return part
}
