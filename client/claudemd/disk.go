package claudemd

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Disk is the machine's own file system, rooted where its paths begin.
func Disk() fs.FS { return disk{} }

// Slash is an absolute path of this machine as this package writes it, and Native is
// the way back.
func Slash(name string) string {
	if name == "" {
		return ""
	}
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // C:/…
	}
	return name
}

// Native undoes [Slash].
func Native(name string) string {
	if runtime.GOOS == "windows" && len(name) > 2 && name[2] == ':' {
		name = name[1:]
	}
	return filepath.FromSlash(name)
}

type disk struct{}

func native(name string) string {
	if name == "." {
		return string(filepath.Separator)
	}
	return Native("/" + name)
}

// Open does not wait for the other end of a pipe, should one have come since the
// look, and does not follow a link: the caller has done that.
func (disk) Open(name string) (fs.File, error) {
	return os.OpenFile(native(name), os.O_RDONLY|openFlags, 0)
}

func (disk) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(native(name)) }

func (disk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(native(name)) }

func (disk) ReadLink(name string) (string, error) {
	target, err := os.Readlink(native(name))
	if err == nil && filepath.IsAbs(target) {
		return Slash(target), nil
	}
	return filepath.ToSlash(target), err
}
