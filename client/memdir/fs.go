package memdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/teammem/teammem/api"
)

// FS is the directory as a file system that can only be read, for those who read
// memories as an agent does. It keeps the promises of this package: no link is
// followed, no pipe or device is opened, nothing outside is read. It names all that
// is there, whatever its name; .teammem is for the caller to leave out.
func (d *Dir) FS() fs.FS { return view{d} }

type view struct{ dir *Dir }

var _ fs.ReadDirFS = view{}

// Open opens a regular file. A *[Left], wrapped in an [fs.PathError], says why
// something else is not opened.
func (v view) Open(name string) (fs.File, error) {
	file, err := v.open(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return file, nil
}

func (v view) open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrInvalid
	}
	at, last := split(api.Key(name))
	if at == "." {
		return openRegular(v.dir.root, last, name)
	}
	f, err := v.dir.folder(at, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return openRegular(f.root, last, name)
}

// openRegular opens a regular file by its name in a folder. Between the look and the
// opening something else may have come: the flags keep a pipe from blocking, and the
// comparison keeps a link from being read.
func openRegular(in *os.Root, name, full string) (*os.File, error) {
	seen, err := in.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, leave(full, reasonOfMode(seen.Mode()), "")
	}
	file, err := in.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	opened, err := file.Stat()
	if err == nil && (!opened.Mode().IsRegular() || !os.SameFile(seen, opened)) {
		err = fmt.Errorf("open %s: %w", full, errMoved)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// ReadDir lists a folder, in the order of the disk.
func (v view) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, pathError("readdir", name, fs.ErrInvalid)
	}
	f, err := v.dir.folder(name, false)
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	defer f.Close()
	entries, err := f.file.ReadDir(-1)
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	// The entries look themselves up by name when they are asked for more, and the
	// folder is closed by then.
	infos := make([]fs.DirEntry, 0, len(entries))
	for _, entry := range entries {
		info, err := f.root.Lstat(entry.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, pathError("readdir", name, err)
		}
		infos = append(infos, fs.FileInfoToDirEntry(info))
	}
	return infos, nil
}

func pathError(op, name string, err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
