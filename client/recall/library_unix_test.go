//go:build unix

package recall

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Links are not followed, and a pipe is not opened: it would wait for ever.
func TestLinksAndPipesAreNotRead(t *testing.T) {
	dir, now := shelf(t)
	outside := t.TempDir()
	put(t, outside, "secret.md", "sourdough")
	if err := os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "folder")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := Open("", Shelf{Dir: dir})
	follow(t, l, now, 26)
	if m := l.Search(Query{Text: "sourdough"}); len(m) > 0 {
		t.Errorf("found %+v", m)
	}
}
