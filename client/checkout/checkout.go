// Package checkout looks claims up in a project's working tree: whether a path is there,
// whether a name occurs anywhere, whether a commit is in the history.
//
// It reads through an [os.Root], follows no link out of the tree, opens regular files
// only, and keeps nothing. The memory directories are left out, for a claim does not
// bear itself out. For the history it asks git, which is told to fetch nothing and to
// run nothing of the repository's; without git that one question stays open. The
// command client memory lint calls it.
package checkout

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of one look through the tree.
const (
	mostFiles    = 200_000
	mostBytes    = 2 << 20 // of a file that is searched
	mostInAll    = 1 << 30
	mostForLines = 16 << 20
)

// Checkout is an open working tree.
type Checkout struct {
	ctx   context.Context
	top   string
	root  *os.Root
	files []string        // below the root, with slashes
	bases map[string]bool // names of files
}

// Open opens the tree at top and lists its files. Directories of skip, absolute, are left
// out.
func Open(ctx context.Context, top string, skip []string) (*Checkout, error) {
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	c := &Checkout{ctx: ctx, top: top, root: root, bases: map[string]bool{}}
	// A folder that cannot be read is passed over: what is in it cannot be told.
	_ = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || len(c.files) >= mostFiles:
			return fs.SkipDir
		case entry.IsDir():
			if entry.Name() == ".git" || entry.Name() == "node_modules" || slices.Contains(skip, filepath.Join(top, filepath.FromSlash(name))) {
				return fs.SkipDir
			}
		case entry.Type().IsRegular():
			c.files = append(c.files, name)
			c.bases[entry.Name()] = true
		}
		return nil
	})
	return c, ctx.Err()
}

// Close gives the tree back.
func (c *Checkout) Close() error { return c.root.Close() }

// Path says whether a path exists, and how many lines the file has; 0 for a folder, and
// for a file that is too large to count.
func (c *Checkout) Path(path string) (lines int, exists bool) {
	info, err := c.root.Stat(filepath.FromSlash(path))
	if err != nil {
		return 0, false
	}
	if !info.Mode().IsRegular() || info.Size() > mostForLines {
		return 0, true
	}
	text, err := c.root.ReadFile(filepath.FromSlash(path))
	if err != nil {
		return 0, true
	}
	lines = bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		lines++
	}
	return lines, true
}

// Base says whether a file of this name exists anywhere.
func (c *Checkout) Base(name string) bool { return c.bases[name] }

// Symbols says which of the names occur as whole words in the tree's text files, or as the
// name of a file.
func (c *Checkout) Symbols(names []string) (map[string]bool, error) {
	found := map[string]bool{}
	missing := map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	for name := range c.bases {
		stem, _, _ := strings.Cut(name, ".")
		if missing[stem] {
			found[stem] = true
			delete(missing, stem)
		}
	}
	budget := mostInAll
	for _, name := range c.files {
		if len(missing) == 0 || budget < 0 {
			break
		}
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
		text := c.text(name)
		budget -= len(text)
		for word := range bytes.FieldsFuncSeq(text, notOfWord) {
			if missing[string(word)] {
				found[string(word)] = true
				delete(missing, string(word))
			}
		}
	}
	if budget < 0 {
		// What was not looked through cannot be called missing.
		for name := range missing {
			found[name] = true
		}
	}
	return found, nil
}

// text reads a text file of bearable size; nil otherwise.
func (c *Checkout) text(name string) []byte {
	name = filepath.FromSlash(name)
	info, err := c.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostBytes {
		return nil
	}
	file, err := c.root.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, mostBytes))
	if err != nil || bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
		return nil
	}
	return text
}

func notOfWord(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// Commits says which of the ids name a commit that a branch, a tag or HEAD leads to. ok is
// false without git, outside of it, and where the history is not whole.
func (c *Checkout) Commits(ids []string) (found map[string]bool, ok bool) {
	if len(ids) == 0 {
		return nil, true
	}
	shallow, err := c.git("rev-parse", "--is-shallow-repository")
	if err != nil || strings.TrimSpace(shallow) != "false" {
		return nil, false
	}
	history, err := c.git("rev-list", "--all", "HEAD")
	if err != nil {
		return nil, false
	}
	found = map[string]bool{}
	wanted := map[string][]string{} // by the first seven digits
	for _, id := range ids {
		wanted[id[:7]] = append(wanted[id[:7]], id)
	}
	lines := bufio.NewScanner(strings.NewReader(history))
	for lines.Scan() {
		for _, id := range wanted[lines.Text()[:min(7, len(lines.Text()))]] {
			found[id] = found[id] || strings.HasPrefix(lines.Text(), id)
		}
	}
	return found, true
}

// git runs a command that only reads. A repository may come from anybody: its own
// programs are not run, and nothing is fetched.
func (c *Checkout) git(args ...string) (string, error) {
	cmd := exec.CommandContext(c.ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-C", c.top}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	out, err := cmd.Output()
	return string(out), err
}
