package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/teammem/teammem/api"
)

// Read reads an archive to its end, in whichever form it is packed. The error is a
// *[DamagedError] where the archive is to blame; nothing of it is given then.
func Read(from io.Reader, bounds Bounds) (Archive, error) {
	unpacked, done, err := unpack(bufio.NewReader(from))
	if err != nil {
		return Archive{}, err
	}
	defer done()
	r := &reader{tar: tar.NewReader(unpacked), rest: unpacked, bounds: bounds}
	if err := r.manifest(); err != nil {
		return Archive{}, err
	}
	if err := r.entries(); err != nil {
		return Archive{}, err
	}
	if err := r.history(); err != nil {
		return Archive{}, err
	}
	if err := r.end(); err != nil {
		return Archive{}, err
	}
	return r.is, nil
}

// unpack looks at the first bytes, since a name can say anything and a pipe has none.
func unpack(from *bufio.Reader) (io.Reader, func(), error) {
	first, _ := from.Peek(4)
	switch {
	case bytes.HasPrefix(first, []byte{0x1f, 0x8b}):
		unpacked, err := gzip.NewReader(from)
		if err != nil {
			return nil, nil, &DamagedError{"", "it cannot be unpacked"}
		}
		return unpacked, func() { _ = unpacked.Close() }, nil
	case bytes.Equal(first, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		unpacked, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, &DamagedError{"", "it cannot be unpacked"}
		}
		return unpacked, unpacked.Close, nil
	}
	return from, func() {}, nil
}

type reader struct {
	tar    *tar.Reader
	rest   io.Reader // what lies below tar
	bounds Bounds
	is     Archive
	place  string // the file that was last read, for errors
}

// broken tells a file that is cut off or damaged from one that cannot be read.
func (r *reader) broken(err error) error {
	var system interface{ Timeout() bool } // as the errors of files and pipes have it
	switch {
	case errors.As(err, &system):
		return fmt.Errorf("read the archive: %w", err)
	case r.place == "":
		return &DamagedError{"", "it does not begin as one"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &DamagedError{r.place, "is the last thing before it ends too soon"}
	}
	return &DamagedError{r.place, "is the last thing that can be read"}
}

// next takes the file that has to come now.
func (r *reader) next(name string, size int64) error {
	head, err := r.tar.Next()
	if err != nil {
		if errors.Is(err, io.EOF) && r.place != "" {
			return &DamagedError{name, "is missing at the end"}
		}
		return r.broken(err)
	}
	switch {
	case head.Name != name:
		return &DamagedError{clip(head.Name), fmt.Sprintf("stands where %q is to be", clip(name))}
	case head.Typeflag != tar.TypeReg:
		return &DamagedError{name, "is not a plain file"}
	case size >= 0 && head.Size != size:
		return &DamagedError{name, fmt.Sprintf("has %d bytes, and the manifest says %d", head.Size, size)}
	case size < 0 && head.Size > maxManifest:
		return &DamagedError{name, fmt.Sprintf("is larger than %d bytes", maxManifest)}
	}
	r.place = name
	return nil
}

// take reads the file that next has found.
func (r *reader) take() ([]byte, error) {
	var b bytes.Buffer // grows with what is there, not with what is promised
	if _, err := io.Copy(&b, r.tar); err != nil {
		return nil, r.broken(err)
	}
	return b.Bytes(), nil
}

func (r *reader) manifest() error {
	if err := r.next(manifestName, -1); err != nil {
		return err
	}
	text, err := r.take()
	if err != nil {
		return err
	}
	if _, err := api.ParseJSON(text); err != nil {
		return &DamagedError{manifestName, "is not JSON: " + err.Error()}
	}
	m := &r.is.Manifest
	if err := json.Unmarshal(text, m); err != nil || m.Format < 1 {
		return &DamagedError{manifestName, "is not the manifest of an export"}
	}
	if m.Format > format {
		return fmt.Errorf("the archive has form %d, and this program knows those up to %d: a newer client wrote it", m.Format, format)
	}
	return r.promised()
}

// promised holds what the manifest says against the rules and the bounds, before any
// entry is read.
func (r *reader) promised() error {
	m := &r.is.Manifest
	if len(m.Entries) > r.bounds.Entries {
		return &DamagedError{manifestName, fmt.Sprintf("names %d entries, more than %d", len(m.Entries), r.bounds.Entries)}
	}
	var all int64
	keys := make([]api.Key, len(m.Entries))
	for i, e := range m.Entries {
		if _, err := api.ParseKey(string(e.Key)); err != nil {
			return &DamagedError{manifestName, "is refused: " + err.Error()}
		}
		if i > 0 && e.Key <= keys[i-1] {
			return &DamagedError{manifestName, fmt.Sprintf("names %q behind %q: keys are sorted, and each stands once", clip(string(e.Key)), clip(string(keys[i-1])))}
		}
		if _, err := api.ParseChecksum(string(e.Checksum)); err != nil {
			return &DamagedError{manifestName, fmt.Sprintf("has for %q %s", clip(string(e.Key)), err)}
		}
		if e.Bytes < 0 || e.Bytes > r.bounds.EntryBytes {
			return &DamagedError{manifestName, fmt.Sprintf("says that %q has %d bytes, more than %d", clip(string(e.Key)), e.Bytes, r.bounds.EntryBytes)}
		}
		keys[i], all = e.Key, all+int64(e.Bytes)
	}
	if all > r.bounds.Bytes {
		return &DamagedError{manifestName, fmt.Sprintf("names entries of %d bytes, more than %d", all, r.bounds.Bytes)}
	}
	if err := api.CheckKeySet(keys); err != nil {
		return &DamagedError{manifestName, "is refused: " + err.Error()}
	}
	if h := m.History; h != nil && (h.Bytes < 0 || h.Bytes > maxHistory) {
		return &DamagedError{manifestName, fmt.Sprintf("names a history of %d bytes, more than %d", h.Bytes, int64(maxHistory))}
	}
	return nil
}

func (r *reader) entries() error {
	r.is.Texts = make(map[api.Key][]byte, len(r.is.Entries))
	for _, e := range r.is.Entries {
		name := entryFolder + string(e.Key)
		if err := r.next(name, int64(e.Bytes)); err != nil {
			return err
		}
		text, err := r.take()
		if err != nil {
			return err
		}
		switch {
		case api.ChecksumOf(text) != e.Checksum:
			return &DamagedError{name, "does not have the checksum that the manifest says"}
		case !utf8.Valid(text):
			return &DamagedError{name, "is not valid UTF-8"}
		}
		r.is.Texts[e.Key] = text
	}
	return nil
}

// history reads the history through and holds it against what the manifest says.
func (r *reader) history() error {
	h := r.is.History
	if h == nil {
		return nil
	}
	if err := r.next(historyName, h.Bytes); err != nil {
		return err
	}
	through := lines{hash: sha256.New()}
	if _, err := io.Copy(&through, r.tar); err != nil {
		return r.broken(err)
	}
	switch sum := api.ChecksumFromSum([sha256.Size]byte(through.hash.Sum(nil))); {
	case sum != h.Checksum:
		return &DamagedError{historyName, "does not have the checksum that the manifest says"}
	case through.n != h.Changes:
		return &DamagedError{historyName, fmt.Sprintf("has %d lines, and the manifest says %d", through.n, h.Changes)}
	}
	return nil
}

// lines counts and hashes what is written to it.
type lines struct {
	hash hash.Hash
	n    int
}

func (l *lines) Write(b []byte) (int, error) {
	l.n += bytes.Count(b, []byte("\n"))
	return l.hash.Write(b)
}

// end sees to it that nothing follows. A tar may be filled up with zeros; the packing
// has its own checksum, which is looked at with its last byte.
func (r *reader) end() error {
	head, err := r.tar.Next()
	if err == nil {
		return &DamagedError{clip(head.Name), "is not in the manifest"}
	}
	if !errors.Is(err, io.EOF) {
		return r.broken(err)
	}
	buffer := make([]byte, 32<<10)
	for filled := 0; ; {
		n, err := r.rest.Read(buffer)
		if bytes.Count(buffer[:n], []byte{0}) != n {
			return &DamagedError{r.place, "is not the end: more follows"}
		}
		if filled += n; filled > maxFilling {
			return &DamagedError{r.place, "is followed by more zeros than any program writes"}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return r.broken(err)
		}
	}
}

// clip keeps a stranger's name within a line.
func clip(name string) string {
	const most = 120
	if len(name) > most {
		return name[:most] + "…"
	}
	return name
}
