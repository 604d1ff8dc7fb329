package memdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/teammem/teammem/api"
)

// folder is one directory below the root, opened without following a symbolic
// link. All work on files is done by single names in a folder, so that a
// directory that is swapped for a link afterwards changes nothing.
type folder struct {
	top  *os.Root // the whole memory directory
	root *os.Root // this folder
	file *os.File // the same, for syncing and for calls that take a descriptor
	path string   // below the memory directory, with slashes; "." is the top
}

// ObstacleError says that something that is no directory stands where a key needs
// one.
type ObstacleError struct {
	Path   string // below the root
	Reason Reason
}

func (e *ObstacleError) Error() string {
	return fmt.Sprintf("%s %s, not a directory", e.Path, e.Reason.says())
}

// errMoved: what was looked at and what was opened are two things. Somebody is
// moving files about; looking again helps.
var errMoved = errors.New("it was moved while it was opened")

// folder opens the folder at a path with slashes. With create, missing ones are
// made and synced.
func (d *Dir) folder(at string, create bool) (*folder, error) {
	here, err := d.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	var done string
	if at != "." {
		for segment := range strings.SplitSeq(at, "/") {
			done = path.Join(done, segment)
			next, err := enter(here, segment, done, create)
			_ = here.Close()
			if err != nil {
				return nil, err
			}
			here = next
		}
	}
	return d.folderOf(here, at)
}

// folderOf completes a folder and owns root from then on.
func (d *Dir) folderOf(root *os.Root, at string) (*folder, error) {
	file, err := root.Open(".")
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return &folder{top: d.root, root: root, file: file, path: at}, nil
}

func (f *folder) Close() {
	_ = f.file.Close()
	_ = f.root.Close()
}

// enter opens one directory in another. The kernel follows a link in the last
// segment as long as it stays below the parent, so what was opened is compared
// with what stood there.
func enter(parent *os.Root, segment, at string, create bool) (*os.Root, error) {
	seen, err := parent.Lstat(segment)
	if create && errors.Is(err, fs.ErrNotExist) {
		seen, err = makeFolder(parent, segment)
	}
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, &ObstacleError{Path: at, Reason: reasonOfMode(seen.Mode())}
	}
	child, err := parent.OpenRoot(segment)
	if err != nil {
		return nil, err
	}
	opened, err := child.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = fmt.Errorf("open %s: %w", at, errMoved)
	}
	if err != nil {
		_ = child.Close()
		return nil, err
	}
	return child, nil
}

func makeFolder(parent *os.Root, segment string) (fs.FileInfo, error) {
	if err := parent.Mkdir(segment, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if file, err := parent.Open("."); err == nil {
		err = syncFolder(file)
		_ = file.Close()
		if err != nil {
			return nil, err
		}
	}
	return parent.Lstat(segment)
}

// split takes a key apart into the folder it lies in and its name there.
func split(key api.Key) (at, name string) {
	at, name = path.Split(string(key))
	if at == "" {
		return ".", name
	}
	return strings.TrimSuffix(at, "/"), name
}

// ownFolder is ours below the root, see the package's comment.
const ownFolder = ".teammem"

// own opens .teammem, or a folder in it, making it when it is not there.
func (d *Dir) own(name string) (*folder, error) {
	base, err := d.folder(ownFolder, true)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", ownFolder, err)
	}
	if err := keepOutOfGit(base); err != nil {
		base.Close()
		return nil, err
	}
	if name == "" {
		return base, nil
	}
	defer base.Close()
	return d.inOwn(base, name)
}

// inOwn opens a folder in .teammem, making it when it is not there.
func (d *Dir) inOwn(base *folder, name string) (*folder, error) {
	at := ownFolder + "/" + name
	root, err := enter(base.root, name, at, true)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", at, err)
	}
	return d.folderOf(root, at)
}

// workshop opens the two folders that a write goes through.
func (d *Dir) workshop() (tmp, old *folder, err error) {
	base, err := d.own("")
	if err != nil {
		return nil, nil, err
	}
	defer base.Close()
	if tmp, err = d.inOwn(base, "tmp"); err != nil {
		return nil, nil, err
	}
	if old, err = d.inOwn(base, "old"); err != nil {
		tmp.Close()
		return nil, nil, err
	}
	return tmp, old, nil
}

// keepOutOfGit makes git ignore our folder, whatever the project's own rules say.
func keepOutOfGit(f *folder) error {
	const name = ".gitignore"
	info, err := f.root.Lstat(name)
	if err == nil && info.Size() > 0 {
		return nil
	}
	if err == nil {
		// A kill came between making and writing it.
		_ = f.root.Remove(name)
	}
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString("*\n")
	return errors.Join(err, file.Close())
}
