package recall

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/memdir"
)

// MaxBytes is the largest file that is indexed; a memory is a thousandth of it.
const MaxBytes = 1 << 20

// Shelf is a directory of memories.
type Shelf struct {
	Dir    string // absolute
	Scope  string // of its memories, for the caller
	Prefix string // before each path, "team/" or ""
	Skip   string // a folder in it that is another shelf's; may be empty
}

// Library is an index that follows directories.
type Library struct {
	*Index
	shelves []Shelf
	cache   string
	mu      sync.Mutex // of what follows
	seen    map[string]memdir.Fingerprint
	changed bool // since the cache was read or written
}

// CacheName is what the cache is called in the client's state directory.
const CacheName = "recall.index"

// Open reads the cache, if there is one that can be used; cache may be empty.
// Nothing is looked at until [Library.Refresh].
func Open(cache string, shelves ...Shelf) *Library {
	l := &Library{Index: NewIndex(), shelves: shelves, cache: cache, seen: map[string]memdir.Fingerprint{}}
	l.load()
	return l
}

// Refresh looks through the directories and reads the files that changed. It
// reports how many notes came, changed or went. A directory that is not there holds
// nothing.
func (l *Library) Refresh(ctx context.Context, now time.Time) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &refresh{library: l, now: now, there: make(map[string]bool, len(l.seen))}
	var failed error
	for _, shelf := range l.shelves {
		if err := r.visit(ctx, shelf); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil {
		return r.changes, fmt.Errorf("recall: %w", failed)
	}
	for p := range l.seen {
		if !r.there[p] {
			delete(l.seen, p)
			l.Remove(p)
			r.changes++
		}
	}
	l.changed = l.changed || r.changes > 0
	return r.changes, nil
}

// refresh is one look through the directories.
type refresh struct {
	library *Library
	now     time.Time
	there   map[string]bool
	changes int
}

// taken is a file on its way into the index.
type taken struct {
	path    string
	content []byte
	seen    memdir.Fingerprint
	doc     document
}

func (r *refresh) visit(ctx context.Context, shelf Shelf) error {
	dir, err := memdir.OpenIfThere(shelf.Dir)
	if err != nil || dir == nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	files := make(chan taken, 64)
	var done []taken
	var readers sync.WaitGroup
	var mu sync.Mutex
	for range runtime.GOMAXPROCS(0) {
		readers.Go(func() {
			words := newSplitter()
			var mine []taken
			for t := range files {
				t.doc = documentOf(words, noteOf(t.path, t.content, t.seen))
				t.content = nil
				mine = append(mine, t)
			}
			mu.Lock()
			defer mu.Unlock()
			done = append(done, mine...)
		})
	}
	err = dir.Visit(ctx, r.now, MaxBytes, memdir.Visitor{
		Skip:  shelf.Skip,
		Wants: func(p string, seen memdir.Fingerprint) bool { return r.wants(shelf.Prefix+p, seen) },
		Got: func(p string, content []byte, seen memdir.Fingerprint) {
			files <- taken{path: shelf.Prefix + p, content: content, seen: seen}
		},
	})
	close(files)
	readers.Wait()
	// In the order of their paths, whoever was quicker.
	slices.SortFunc(done, func(a, b taken) int { return strings.Compare(a.path, b.path) })
	l := r.library
	l.Index.mu.Lock()
	defer l.Index.mu.Unlock()
	for _, t := range done {
		l.set(t.doc)
		l.seen[t.path] = t.seen
		r.changes++
	}
	return err
}

func (r *refresh) wants(p string, seen memdir.Fingerprint) bool {
	if !strings.HasSuffix(p, ".md") || path.Base(p) == string(api.IndexKey) {
		return false
	}
	r.there[p] = true
	last, known := r.library.seen[p]
	return !known || !last.Unchanged(seen)
}

func noteOf(p string, content []byte, seen memdir.Fingerprint) Note {
	head := memory.Parse(content)
	return Note{
		Path: p, Name: head.Name, Description: head.Description, Type: string(head.Type),
		Modified: time.Unix(0, seen.MTime), Body: strings.ToValidUTF8(string(content[head.Body:]), "\uFFFD"),
	}
}
