package memdir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammem/api"
)

// Listing is what stands in the directory.
type Listing struct {
	Files []File   // by key; twins (api.Key.Fold) are all there
	Left  []Left   // what is not synced, by name
	Dirs  []string // below the root, with slashes, "." first
}

// Obscured says why nothing is known of a key: it, or a directory above it, was left
// out. Such a key is neither here nor gone. Nil: it is in Files, or it is gone.
func (l Listing) Obscured(key api.Key) *Left {
	for i := range l.Left {
		left := &l.Left[i]
		if string(key) == left.Name || strings.HasPrefix(string(key), left.Name+"/") {
			return left
		}
	}
	return nil
}

// Known gives a file as it was last hashed.
type Known func(api.Key) (File, bool)

// Scan walks the directory. A file whose fingerprint is the known one is not read
// again, unless it changed so shortly before it was hashed that a second change
// would not show (promise C13). Files of more than maxBytes are left out. A file
// with an editor's temporary name is left out unless it is known: then it came
// from the server, and its edits go back there. known is called by several
// goroutines at once.
func (d *Dir) Scan(ctx context.Context, now time.Time, maxBytes int, known Known) (Listing, error) {
	top, err := d.folder(".", false)
	if err != nil {
		return Listing{}, fmt.Errorf("scan %s: %w", d.path, err)
	}
	defer top.Close()
	s := &scan{ctx: ctx, dir: d, at: now.UnixNano(), maxBytes: maxBytes, known: known}
	if err := s.top(top); err != nil {
		return Listing{}, fmt.Errorf("scan %s: %w", d.path, err)
	}
	slices.SortFunc(s.list.Files, func(a, b File) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortFunc(s.list.Left, func(a, b Left) int { return cmp.Compare(a.Name, b.Name) })
	return s.list, nil
}

// Look looks at one file. [fs.ErrNotExist] when nothing stands there; a *[Left]
// when it is not synced.
func (d *Dir) Look(now time.Time, key api.Key, maxBytes int) (File, *Left, error) {
	at, name := split(key)
	f, err := d.folder(at, false)
	if err != nil {
		if obstacle := (*ObstacleError)(nil); errors.As(err, &obstacle) {
			return File{}, leave(string(key), obstacle.Reason, "lies behind "+obstacle.Error()), nil
		}
		return File{}, nil, fmt.Errorf("look at %s: %w", key, err)
	}
	defer f.Close()
	file, left, err := f.look(key, name, now.UnixNano(), maxBytes)
	if err != nil {
		return File{}, nil, fmt.Errorf("look at %s: %w", key, err)
	}
	return file, left, nil
}

// scan is one walk.
type scan struct {
	ctx      context.Context
	dir      *Dir
	at       int64
	maxBytes int
	known    Known
	list     Listing
	later    bool  // folders are noted in subs and not walked into
	subs     []sub // in the order found
}

func (s *scan) leave(left *Left) { s.list.Left = append(s.list.Left, *left) }

// top lists the root: its files first, then the folders in it side by side, since
// nearly all the time goes into one system call a file.
func (s *scan) top(f *folder) error {
	s.later = true
	if err := s.folder(f, ""); err != nil {
		return err
	}
	s.later = false
	if len(s.subs) == 1 {
		return s.descend(f, s.subs[0].full, s.subs[0].name)
	}
	parts := make([]*scan, len(s.subs))
	var walkers errgroup.Group
	walkers.SetLimit(runtime.GOMAXPROCS(0))
	for i, sub := range s.subs {
		part := &scan{ctx: s.ctx, dir: s.dir, at: s.at, maxBytes: s.maxBytes, known: s.known}
		parts[i] = part
		walkers.Go(func() error { return part.descend(f, sub.full, sub.name) })
	}
	if err := walkers.Wait(); err != nil {
		return err
	}
	files := len(s.list.Files)
	for _, part := range parts {
		files += len(part.list.Files)
	}
	s.list.Files = slices.Grow(s.list.Files, files-len(s.list.Files))
	for _, part := range parts {
		s.list.Files = append(s.list.Files, part.list.Files...)
		s.list.Left = append(s.list.Left, part.list.Left...)
		s.list.Dirs = append(s.list.Dirs, part.list.Dirs...)
	}
	return nil
}

// sub is a folder in the root.
type sub struct{ full, name string }

// folder lists one folder; prefix is its path with a slash behind it, or empty.
func (s *scan) folder(f *folder, prefix string) error {
	entries, err := f.file.ReadDir(-1)
	if err != nil {
		return err
	}
	s.list.Dirs = append(s.list.Dirs, f.path)
	s.list.Files = slices.Grow(s.list.Files, len(entries))
	for _, entry := range entries {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := s.entry(f, prefix+entry.Name(), entry); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) entry(f *folder, full string, entry fs.DirEntry) error {
	name := entry.Name()
	if name[0] == '.' {
		left := leave(full, ReasonHidden, "")
		left.Quiet = full == ownFolder || IsTemporary(name)
		s.leave(left)
		return nil
	}
	kind := entry.Type()
	if kind.IsDir() {
		if s.later {
			s.subs = append(s.subs, sub{full, name})
			return nil
		}
		return s.descend(f, full, name)
	}
	key := api.Key(full)
	last, known := s.known(key)
	if !known {
		// A known key has kept the rules before.
		if _, err := api.ParseKey(full); err != nil {
			s.leave(leave(full, ReasonBadKey, badName(err)))
			return nil
		}
		if IsTemporary(name) {
			s.leave(leave(full, ReasonTemporary, ""))
			return nil
		}
	}
	if !kind.IsRegular() {
		s.leave(leave(full, reasonOfMode(kind), ""))
		return nil
	}
	return s.file(f, key, entry, last, known)
}

// badName shortens a key's error to its reason; the name stands before it.
func badName(err error) string {
	var bad *api.KeyError
	if errors.As(err, &bad) {
		return bad.Rule.Reason
	}
	return err.Error()
}

func (s *scan) descend(f *folder, full, name string) error {
	if _, err := api.ParseKey(full); err != nil {
		s.leave(leave(full, ReasonBadKey, badName(err)))
		return nil
	}
	root, err := enter(f.root, name, full, false)
	var child *folder
	if err == nil {
		child, err = s.dir.folderOf(root, full)
	}
	if err == nil {
		defer child.Close()
		err = s.folder(child, full+"/")
	}
	var obstacle *ObstacleError
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return nil
	case s.ctx.Err() != nil:
		return err
	case errors.As(err, &obstacle):
		s.leave(leave(full, obstacle.Reason, ""))
	default:
		s.leave(unreadable(full, err))
	}
	return nil
}

func (s *scan) file(f *folder, key api.Key, entry fs.DirEntry, last File, known bool) error {
	// The listing has looked already; a file that must be read is looked at again.
	info, err := entry.Info()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		s.leave(unreadable(string(key), err))
		return nil
	case !info.Mode().IsRegular():
		s.leave(leave(string(key), reasonOfMode(info.Mode()), ""))
		return nil
	case info.Size() > int64(s.maxBytes):
		s.leave(tooLarge(string(key), info.Size(), s.maxBytes))
		return nil
	case known && last.Fingerprint.same(fingerprintOf(info, 0)):
		s.list.Files = append(s.list.Files, last)
		return nil
	}
	file, left, err := f.look(key, entry.Name(), s.at, s.maxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case left != nil:
		s.leave(left)
	default:
		s.list.Files = append(s.list.Files, file)
	}
	return nil
}
