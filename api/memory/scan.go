package memory

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
)

// ScanMost is how many files a scan for an agent lists.
const ScanMost = 200

// Memory is a topic file as a scan sees it: its head, and what the file system says.
type Memory struct {
	Key   api.Key // below the root, with slashes, behind the source's prefix; it need not be a legal key of the wire
	Scope Scope
	Head
	Modified time.Time // of the file; the stamp is Head.Modified
	Bytes    int64
}

// Stem is the name of the file without its ending.
func (m Memory) Stem() string { return strings.TrimSuffix(path.Base(string(m.Key)), ".md") }

// Title is what to call a memory: its name, else its stem.
func (m Memory) Title() string { return cmp.Or(m.Name, m.Stem()) }

// Source is a directory of memories.
type Source struct {
	FS    fs.FS
	Scope Scope
	// Prefix goes before each key: "team/" where the private and the team directory
	// are listed as one.
	Prefix string
	// Skip is a folder below the root that is another source's, such as "team".
	Skip string
}

// List is what a scan found.
type List struct {
	Memories []Memory // newest first
	Total    int      // before the limit
	Indexes  []api.Key
	Missed   []Missed
}

// Missed is a file or folder that could not be read, or that is no file.
type Missed struct {
	Key api.Key
	Err error
}

// Scan lists the memories of the sources: every .md file below their roots but the
// indexes and what is hidden, newest first, at most so many (0: all). One pass: each
// folder is listed once, and only the head of a file that is listed is read. A root
// that is not there holds nothing; what cannot be read is missed, and no error.
func Scan(most int, sources ...Source) List {
	var list List
	var found []candidate
	for _, s := range sources {
		w := walk{source: s, list: &list}
		w.folder(".")
		found = append(found, w.found...)
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), cmp.Compare(a.key(), b.key()))
	})
	list.Total = len(found)
	if most > 0 && len(found) > most {
		found = found[:most]
	}
	list.read(found)
	return list
}

// sideBySide is from how many files on heads are read by several goroutines: nearly all
// the time goes into system calls.
const sideBySide = 64

// read reads the heads of the files that are listed. The file systems must bear being
// read by several goroutines at once, as all that lead to a disk do.
func (l *List) read(found []candidate) {
	memories, errs := make([]Memory, len(found)), make([]error, len(found))
	part := func(from, to int) {
		buffer := make([]byte, 4096)
		for i := from; i < to; i++ {
			memories[i], errs[i] = found[i].read(&buffer)
		}
	}
	if workers := runtime.GOMAXPROCS(0); workers > 1 && len(found) >= sideBySide {
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() { part(w*len(found)/workers, (w+1)*len(found)/workers) })
		}
		all.Wait()
	} else {
		part(0, len(found))
	}
	l.Memories = memories[:0]
	for i, m := range memories {
		if errs[i] != nil {
			l.miss(found[i].key(), errs[i])
			continue
		}
		l.Memories = append(l.Memories, m)
	}
}

func (l *List) miss(key api.Key, err error) { l.Missed = append(l.Missed, Missed{key, err}) }

// candidate is a file whose head is still to be read.
type candidate struct {
	source *Source
	at     string
	info   fs.FileInfo
}

func (c candidate) key() api.Key { return api.Key(c.source.Prefix + c.at) }

type walk struct {
	source Source
	list   *List
	found  []candidate
}

func (w *walk) folder(at string) {
	entries, err := fs.ReadDir(w.source.FS, at)
	if err != nil && !(at == "." && errors.Is(err, fs.ErrNotExist)) {
		w.list.miss(api.Key(w.source.Prefix+at), err)
	}
	for _, entry := range entries {
		w.entry(path.Join(at, entry.Name()), entry)
	}
}

var (
	errNoFile = errors.New("it is no regular file")
	errNoText = errors.New("its name is not valid UTF-8")
)

func (w *walk) entry(at string, entry fs.DirEntry) {
	switch key := api.Key(w.source.Prefix + at); {
	case entry.Name()[0] == '.' || at == w.source.Skip:
	case !utf8.ValidString(entry.Name()):
		w.list.miss(key, errNoText)
	case entry.IsDir():
		w.folder(at)
	case !strings.HasSuffix(at, ".md"):
	case !entry.Type().IsRegular():
		w.list.miss(key, errNoFile)
	case key.IsIndex():
		w.index(key, at)
	default:
		info, err := entry.Info()
		if err != nil {
			w.list.miss(key, err)
			return
		}
		w.found = append(w.found, candidate{&w.source, at, info})
	}
}

// index lists an index that can be opened. It is read later, as a whole.
func (w *walk) index(key api.Key, at string) {
	f, err := w.source.FS.Open(at)
	if err != nil {
		w.list.miss(key, err)
		return
	}
	_ = f.Close()
	w.list.Indexes = append(w.list.Indexes, key)
}

// read reads as much of a file as its head may take.
func (c candidate) read(buffer *[]byte) (Memory, error) {
	f, err := c.source.FS.Open(c.at)
	if err != nil {
		return Memory{}, err
	}
	defer func() { _ = f.Close() }()
	text, err := readHead(f, buffer)
	if err != nil {
		return Memory{}, err
	}
	return Memory{Key: c.key(), Scope: c.source.Scope, Head: Parse(text), Modified: c.info.ModTime(), Bytes: c.info.Size()}, nil
}

// readHead reads until the front matter ends, or cannot come any more. The result is
// valid until the buffer is used again.
func readHead(r io.Reader, buffer *[]byte) ([]byte, error) {
	n := 0
	for {
		got, err := r.Read((*buffer)[n:])
		n += got
		text := (*buffer)[:n]
		if errors.Is(err, io.EOF) || err == nil && headEnds(text) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
		if n == len(*buffer) {
			*buffer = append(*buffer, make([]byte, n)...)
		}
	}
}

// headEnds reports whether more text would change nothing about the head.
func headEnds(text []byte) bool {
	b, opened := cutBlock(text)
	switch {
	case len(text) < len(bom)+len(fence)+2:
		return false
	case !opened, b.closed && b.body < len(text):
		return true
	}
	return len(text) > HeadBytes+len(bom) || bytes.Count(text, []byte("\n")) > HeadLines
}
