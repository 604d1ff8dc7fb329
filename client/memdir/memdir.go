// Package memdir is the memory directory: the files that a person and an agent
// edit, below one root, under the names that are keys on the wire.
//
// It reads and writes through [os.Root] and takes one more step than that: a
// symbolic link is never followed, not even one that stays below the root, and
// a pipe or a device is never opened. A key is only a name; whatever a server
// sends, nothing outside the root is created, changed or read.
//
// Beside the files stands .teammem/, which is never scanned and never pushed:
//
//	marker.json  which server, organization and repo this directory belongs to
//	lock         the operating system's lock of the one client that works here
//	holder.json  who holds it, for people
//	tmp/         files being written; what a dead run left is removed by [Dir.Lock]
//	old/         what [Dir.Write] and [Dir.Remove] displaced, until [Dir.Reap]
//
// The promise is that no edit is ever lost and no file is ever seen half
// written. A write stages its bytes in tmp/, syncs them, moves them to old/
// under a name that says which bytes will be placed where and which bytes are
// expected there, and then exchanges the two files in one step. What was
// displaced is then in our hands and is compared: if it is not what was
// expected, the files are exchanged back. A kill at any instant leaves either
// file at the key and the other in old/, where Reap finds it and gives every
// byte sequence that nobody else has to its caller. Where the file system knows
// no exchange, a second link to the displaced file takes its place, and only an
// editor that replaces the file within the few microseconds between the last
// look and the rename can lose: docs and comments of [Dir.Write] say so.
//
// The package knows no server and no plan, and it asks no clock: the time comes
// in with each call. The syncer is its caller.
package memdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Errors of a directory that is not, or no longer, what was opened. They are
// wrapped with what was found.
var (
	// ErrGone: nothing stands at the path. It may come back.
	ErrGone = errors.New("the memory directory is gone")
	// ErrReplaced: another directory stands at the path, or the marker in it is
	// not the expected one.
	ErrReplaced = errors.New("the memory directory is not the one that was synced")
	// ErrLocked: another client works in this directory.
	ErrLocked = errors.New("another client is at work in this directory")
)

// Dir is an open memory directory. Its methods may be called from several
// goroutines, and by several processes; of writes of one key that expect the same all
// but one are refused.
type Dir struct {
	path string
	root *os.Root
	self fs.FileInfo // of the root, to recognise it

	// hook is called at named points of a write, by tests that move something
	// under it. It is nil otherwise.
	hook func(point string)
	// plain pretends that the file system knows no exchange, in tests.
	plain bool

	flushing flushing
}

// Open opens the directory at path, which must exist. Symbolic links on the way
// to it are resolved once, here: the root is the person's choice, what lies below
// it is not.
func Open(path string) (*Dir, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open memory directory %s: %w", path, err)
	}
	resolved, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: nothing stands at %s", ErrGone, absolute)
		}
		return nil, fmt.Errorf("open memory directory %s: %w", absolute, err)
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		if info, statErr := os.Stat(resolved); statErr == nil && !info.IsDir() {
			return nil, fmt.Errorf("open memory directory %s: it is a file, not a directory", resolved)
		}
		return nil, fmt.Errorf("open memory directory %s: %w", resolved, err)
	}
	self, err := root.Stat(".")
	if err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("open memory directory %s: %w", resolved, err)
	}
	return &Dir{path: resolved, root: root, self: self}, nil
}

// Path is the absolute path, with symbolic links resolved when it was opened.
func (d *Dir) Path() string { return d.path }

// RootID names the directory itself, whatever path leads to it: device and inode,
// or what the system has instead. It is empty where there is nothing of the kind.
func (d *Dir) RootID() string { return rootID(d.root, d.self) }

// Close gives the handle back. A lock is released by its own function.
func (d *Dir) Close() error { return errors.Join(d.flushing.close(), d.root.Close()) }

// Check reports whether the path still leads to the directory that was opened and
// whether the marker in it is the expected one: [ErrGone], [ErrReplaced], or nil. It
// is asked before everything that speaks for the directory as a whole. A zero
// marker expects none in particular.
//
// After either error the caller may [Open] the path anew and ask again: a
// directory that came back by a mount or a copy has another identity, and there
// the marker alone decides.
func (d *Dir) Check(expected Marker) error {
	now, err := os.Stat(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: nothing stands at %s", ErrGone, d.path)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrGone, err)
	case !os.SameFile(d.self, now):
		return fmt.Errorf("%w: another directory stands at %s", ErrReplaced, d.path)
	}
	if expected == (Marker{}) {
		return nil
	}
	found, ok, err := d.Marker()
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("%w: %s has no marker", ErrReplaced, d.path)
	case found != expected:
		return fmt.Errorf("%w: the marker in %s names %s at %s", ErrReplaced, d.path, found.Repo, found.Server)
	}
	return nil
}

func (d *Dir) at(point string) {
	if d.hook != nil {
		d.hook(point)
	}
}
