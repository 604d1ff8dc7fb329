package checkout

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes a working tree of the files given, with what is beside it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func open(t *testing.T, top string, skip ...string) *Checkout {
	t.Helper()
	c, err := Open(t.Context(), top, skip)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestPaths(t *testing.T) {
	root := tree(t, map[string]string{"outside.go": "x\n", "p/src/main.go": "a\nb\nc", "p/empty": "", "p/node_modules/x/dep.js": "", "p/memory/note.md": ""})
	top := filepath.Join(root, "p")
	if err := os.Symlink(filepath.Join(root, "outside.go"), filepath.Join(top, "link.go")); err != nil {
		t.Skip("no symbolic links here")
	}
	c := open(t, top, filepath.Join(top, "memory"))
	for path, want := range map[string]struct {
		lines  int
		exists bool
	}{
		"src/main.go": {3, true}, "src": {0, true}, "empty": {0, true}, "src/gone.go": {0, false}, "../outside.go": {0, false},
		"link.go": {0, false}, // it leads out of the tree
		root:      {0, false},
	} {
		if lines, exists := c.Path(path); lines != want.lines || exists != want.exists {
			t.Errorf("%s: %d lines, %v", path, lines, exists)
		}
	}
	for name, want := range map[string]bool{"main.go": true, "gone.go": false, "note.md": false, "dep.js": false, "src": false} {
		if c.Base(name) != want {
			t.Errorf("a file named %s: %v", name, !want)
		}
	}
}

// Names are found as whole words of text files and as names of files, in none of the
// memories, and through no link.
func TestSymbols(t *testing.T) {
	root := tree(t, map[string]string{
		"outside.go": "func Elsewhere() {}", "p/a.go": "func parseFlags(x_y int) {}", "p/TokenStore.java": "", "p/logo.png": "\x00 inPicture",
		"p/big.txt": strings.Repeat(" ", mostBytes) + " inBig", "p/memory/a.md": "onlyClaimed",
	})
	top := filepath.Join(root, "p")
	if err := os.Symlink(filepath.Join(root, "outside.go"), filepath.Join(top, "link.go")); err != nil {
		t.Skip("no symbolic links here")
	}
	want := map[string]bool{
		"parseFlags": true, "x_y": true, "TokenStore": true,
		"parseFlag": false, "Elsewhere": false, "inPicture": false, "inBig": false, "onlyClaimed": false,
	}
	var names []string
	for name := range want {
		names = append(names, name)
	}
	found, err := open(t, top, filepath.Join(top, "memory")).Symbols(names)
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		if found[name] != want[name] {
			t.Errorf("%s: found %v", name, found[name])
		}
	}
}

// git runs git without any settings of the machine's.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here to make a history with")
	}
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Dana", "-c", "user.email=dana@acme.example", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestCommits(t *testing.T) {
	root := tree(t, map[string]string{"p/a": "1\n"})
	top := filepath.Join(root, "p")
	if _, ok := open(t, top).Commits([]string{"1234567"}); ok {
		t.Error("outside of git it is said what is a commit")
	}
	git(t, top, "init", "-q", "-b", "main")
	git(t, top, "add", "a")
	git(t, top, "commit", "-qm", "one")
	first := git(t, top, "rev-parse", "HEAD")
	git(t, top, "checkout", "-qb", "side")
	git(t, top, "commit", "-q", "--allow-empty", "-m", "two")
	side := git(t, top, "rev-parse", "HEAD")
	git(t, top, "checkout", "-q", "main")
	tree := git(t, top, "rev-parse", "HEAD^{tree}")
	other := strings.Repeat("0", 7)

	found, ok := open(t, top).Commits([]string{first, first[:7], side[:12], tree, other})
	want := map[string]bool{first: true, first[:7]: true, side[:12]: true}
	maps.DeleteFunc(found, func(_ string, is bool) bool { return !is })
	if !ok || !maps.Equal(found, want) {
		t.Errorf("found %v, %v", found, ok)
	}

	git(t, root, "clone", "-q", "--depth", "1", "file://"+top, "shallow")
	if _, ok := open(t, filepath.Join(root, "shallow")).Commits([]string{first}); ok {
		t.Error("a shallow clone was taken for the whole history")
	}
}

// A repository may come from anybody: none of its own programs runs.
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	root := tree(t, map[string]string{"p/a": "1\n"})
	top, mark := filepath.Join(root, "p"), filepath.Join(root, "ran")
	program := filepath.Join(root, "hostile")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, top, "init", "-q")
	git(t, top, "commit", "-q", "--allow-empty", "-m", "one")
	for _, setting := range []string{"core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "core.editor"} {
		git(t, top, "config", setting, program)
	}
	if _, ok := open(t, top).Commits([]string{"1234567"}); !ok {
		t.Error("the history could not be asked")
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the repository ran")
	}
}

func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	top := tree(t, map[string]string{"a": ""})
	c, err := Open(ctx, top, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	cancel()
	if _, err := c.Symbols([]string{"name"}); err == nil {
		t.Error("a look went on after its end")
	}
	if _, err := Open(ctx, top, nil); err == nil {
		t.Error("a look began after its end")
	}
	if _, err := Open(t.Context(), filepath.Join(top, "gone"), nil); err == nil {
		t.Error("a tree that is not there was opened")
	}
}
