//go:build linux || darwin

package memdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags keep an open from waiting for the other end of a pipe and from taking a
// terminal over.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

const onWindows = false

// system gives what only this system knows of a file.
func system(info fs.FileInfo) (ctime int64, inode, links uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 1
	}
	return ctimeOf(st), st.Ino, uint64(st.Nlink)
}

func rootID(_ *os.Root, info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%x:%x", st.Dev, st.Ino)
}

// The calls below take names in open folders, so that no path is resolved again.

func exchange(from *folder, name string, to *folder, as string) error {
	return call("exchange", as, noExchange, func() error { return exchangeAt(from.fd(), name, to.fd(), as) })
}

func moveToFree(from *folder, name string, to *folder, as string) error {
	return call("rename", as, noExchange, func() error { return moveToFreeAt(from.fd(), name, to.fd(), as) })
}

func move(from *folder, name string, to *folder, as string) error {
	return call("rename", as, nil, func() error { return unix.Renameat(from.fd(), name, to.fd(), as) })
}

func link(from *folder, name string, to *folder, as string) error {
	return call("link", as, noLinks, func() error { return unix.Linkat(from.fd(), name, to.fd(), as, 0) })
}

// removeEmpty removes a directory, and only a directory, that is empty.
func removeEmpty(in *folder, name string) error {
	return call("rmdir", name, nil, func() error { return unix.Unlinkat(in.fd(), name, unix.AT_REMOVEDIR) })
}

func (f *folder) fd() int { return int(f.file.Fd()) }

// noExchange are the answers of file systems and kernels that cannot do it.
var noExchange = []error{unix.EINVAL, unix.ENOSYS, unix.ENOTSUP, unix.EOPNOTSUPP}

// noLinks are the answers of file systems without hard links.
var noLinks = []error{unix.EPERM, unix.ENOSYS, unix.ENOTSUP, unix.EOPNOTSUPP, unix.EMLINK}

func call(op, name string, cannot []error, do func() error) error {
	err := do()
	for errors.Is(err, unix.EINTR) {
		err = do()
	}
	if err == nil {
		return nil
	}
	for _, c := range cannot {
		if errors.Is(err, c) {
			return errCannot
		}
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// take locks the target folder itself, if nobody has it.
func take(target, _ *folder) (release func(), taken bool, err error) {
	err = unix.Flock(target.fd(), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case err == nil:
		return func() { _ = unix.Flock(target.fd(), unix.LOCK_UN) }, true, nil
	case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.EINTR):
		return nil, false, nil
	}
	return nil, false, err
}

// foldersAreFlushed: names reach the disk by a call.
const foldersAreFlushed = true

// syncFolder makes the names in a folder durable. Some file systems cannot, and say so
// by EINVAL; they have no better.
func syncFolder(file *os.File) error {
	if err := file.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
