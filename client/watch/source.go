package watch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// source gives events of single directories. [fsnotify.Watcher] is the real one; tests
// have one that does what they say.
type source interface {
	Add(dir string) error
	Remove(dir string) error
	List() []string // what is watched; the system may have given up some by itself
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Close() error
}

// tree is what the watcher sees of the disk.
type tree interface {
	// walk visits the path, which is a directory, and the directories below it but
	// not hidden ones; each is visited before it is read. Links are not followed.
	walk(path string, visit func(dir string) error) error
	isDir(path string) bool
	// identify gives what tells the directory at a path from every other.
	identify(path string) (any, error)
	same(a, b any) bool
}

// system is fsnotify behind our interface.
type system struct{ watcher *fsnotify.Watcher }

func openSystem() (source, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return system{watcher}, nil
}

func (s system) Add(dir string) error          { return s.watcher.Add(dir) }
func (s system) Remove(dir string) error       { return s.watcher.Remove(dir) }
func (s system) List() []string                { return s.watcher.WatchList() }
func (s system) Events() <-chan fsnotify.Event { return s.watcher.Events }
func (s system) Errors() <-chan error          { return s.watcher.Errors }
func (s system) Close() error                  { return s.watcher.Close() }

// disk is the real tree.
type disk struct{}

func (disk) identify(path string) (any, error) { return os.Stat(path) }

func (disk) same(a, b any) bool {
	x, ok := a.(fs.FileInfo)
	y, also := b.(fs.FileInfo)
	return ok && also && os.SameFile(x, y)
}

func (disk) isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

func (disk) walk(root string, visit func(dir string) error) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			// It went while we walked, or cannot be read: then it cannot be synced either.
			return nil
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case path != root && entry.Name()[0] == '.':
			return filepath.SkipDir
		}
		return visit(path)
	})
}
