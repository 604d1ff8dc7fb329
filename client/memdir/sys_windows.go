package memdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/windows"
)

// openFlags: nothing to ask for; a pipe has no name in a directory here.
const openFlags = 0

const onWindows = true

// system: a look at a name gives neither a change time nor a file number here, so
// that a fingerprint is size and modification time, which NTFS keeps to 100 ns.
func system(fs.FileInfo) (ctime int64, inode, links uint64) { return 0, 0, 1 }

func rootID(root *os.Root, _ fs.FileInfo) string {
	file, err := root.Open(".")
	if err != nil {
		return ""
	}
	defer file.Close()
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(file.Fd()), &info); err != nil {
		return ""
	}
	return fmt.Sprintf("%x:%x%08x", info.VolumeSerialNumber, info.FileIndexHigh, info.FileIndexLow)
}

// Windows has no exchange of two names. ReplaceFile comes near it, but takes paths
// and would leave the root.
func exchange(*folder, string, *folder, string) error { return errCannot }

// moveToFree: a rename replaces here, a link does not.
func moveToFree(*folder, string, *folder, string) error { return errCannot }

func move(from *folder, name string, to *folder, as string) error {
	return from.top.Rename(path.Join(from.path, name), path.Join(to.path, as))
}

func link(from *folder, name string, to *folder, as string) error {
	err := from.top.Link(path.Join(from.path, name), path.Join(to.path, as))
	if errors.Is(err, windows.ERROR_INVALID_FUNCTION) || errors.Is(err, windows.ERROR_NOT_SUPPORTED) {
		return errCannot
	}
	return err
}

func removeEmpty(in *folder, name string) error {
	info, err := in.root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "rmdir", Path: name, Err: windows.ERROR_DIRECTORY}
	}
	return in.root.Remove(name)
}

// take locks a file of ours, for a directory cannot be locked here. A writer that has no
// folder of ours goes without.
func take(_, old *folder) (release func(), taken bool, err error) {
	if old == nil {
		return nil, false, errCannot
	}
	file, err := old.root.OpenFile("turn", os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, false, err
	}
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(file.Fd()), how, 0, 1, 0, &windows.Overlapped{})
	if err == nil {
		return func() { _ = file.Close() }, true, nil
	}
	_ = file.Close()
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = nil
	}
	return nil, false, err
}

// foldersAreFlushed: see syncFolder.
const foldersAreFlushed = false

// syncFolder: NTFS journals its names by itself, and a directory cannot be flushed.
func syncFolder(*os.File) error { return nil }
