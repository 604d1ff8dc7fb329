package claudemd

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

// tree reads a file system by absolute paths.
type tree struct {
	fsys fs.FS
	seen map[string]spot // by path as it was asked for
}

// spot is where a path leads.
type spot struct {
	real string
	info fs.FileInfo // of what stands there, never of a link
	err  error
}

// maxLinks is as many as Linux follows.
const maxLinks = 40

var errLinks = errors.New("too many symbolic links")

// look follows a path. It opens nothing.
func (t *tree) look(name string) spot {
	name = path.Clean(name)
	if s, ok := t.seen[name]; ok {
		return s
	}
	s := t.follow(name)
	t.seen[name] = s
	return s
}

func (t *tree) follow(name string) spot {
	if strings.ContainsRune(name, 0) || !utf8.ValidString(name) {
		return spot{err: fs.ErrInvalid}
	}
	done, pending := "/", strings.Split(name, "/")
	info, err := fs.Lstat(t.fsys, ".")
	for links := 0; len(pending) > 0 && err == nil; {
		segment := pending[0]
		pending = pending[1:]
		switch {
		case segment == "" || segment == ".":
			continue
		case segment == "..":
			done = path.Dir(done) // of where the links have led
			info, err = fs.Lstat(t.fsys, inFS(done))
			continue
		case !info.IsDir():
			return spot{err: fs.ErrNotExist}
		}
		next := path.Join(done, segment)
		info, err = fs.Lstat(t.fsys, inFS(next))
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return spot{err: errLinks}
		}
		var target string
		if target, err = fs.ReadLink(t.fsys, inFS(next)); err != nil {
			break
		}
		if strings.HasPrefix(target, "/") {
			done = "/"
		}
		pending = append(strings.Split(target, "/"), pending...)
		info, err = fs.Lstat(t.fsys, inFS(done))
	}
	if err != nil {
		return spot{err: err}
	}
	return spot{real: done, info: info}
}

// inFS is the name of an absolute path in the file system.
func inFS(name string) string {
	if name == "/" {
		return "."
	}
	return strings.TrimPrefix(name, "/")
}

var errNoFile = errors.New("no regular file")

// read gives the bytes of a regular file, at most limit and one more. What was looked
// at must be what was opened: something may have come between.
func (t *tree) read(s spot, limit int) ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	if !s.info.Mode().IsRegular() {
		return nil, errNoFile
	}
	f, err := t.fsys.Open(inFS(s.real))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errNoFile, err)
	}
	return io.ReadAll(io.LimitReader(f, int64(limit)+1))
}

// rules lists the Markdown files below a folder by path, folders that are linked
// included, each folder once.
func (t *tree) rules(folder string) []string {
	var found []string
	entered := map[string]bool{}
	var walk func(at string, depth int)
	walk = func(at string, depth int) {
		s := t.look(at)
		if s.err != nil || !s.info.IsDir() || entered[s.real] || depth > maxLinks {
			return
		}
		entered[s.real] = true
		entries, err := fs.ReadDir(t.fsys, inFS(s.real))
		if err != nil {
			return
		}
		for _, entry := range entries { // sorted by name
			name := path.Join(at, entry.Name())
			switch below := t.look(name); {
			case below.err == nil && below.info.IsDir():
				walk(name, depth+1)
			case strings.HasSuffix(name, ".md"):
				found = append(found, name)
			}
		}
	}
	walk(folder, 0)
	return found
}

// within reports whether a path is a folder or lies below it.
func within(name, folder string) bool {
	return folder != "" && (name == folder || folder == "/" || strings.HasPrefix(name, folder+"/"))
}
