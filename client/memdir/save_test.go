package memdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSaveAndDiscard(t *testing.T) {
	for _, plain := range []bool{false, true} {
		path := t.TempDir()
		dir, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		dir.plain = plain
		now := time.Now()
		made, err := dir.Save(now, "sub/a.md", []byte("one"), nil)
		if err != nil {
			t.Fatal(err)
		}
		var changed *ChangedError
		if _, err := dir.Save(now, "sub/a.md", []byte("two"), nil); !errors.As(err, &changed) {
			t.Errorf("a file that is there was saved over: %v", err)
		}
		edited, err := dir.Save(now, "sub/a.md", []byte("two"), &made)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dir.Save(now, "sub/a.md", []byte("three"), &made); !errors.As(err, &changed) {
			t.Errorf("an edit was saved over: %v", err)
		}
		if err := dir.Discard("sub/a.md", made); !errors.As(err, &changed) {
			t.Errorf("an edit was discarded: %v", err)
		}
		// Somebody saves in the moment before the rename.
		dir.hook = func(string) { must(t, os.WriteFile(filepath.Join(path, "sub/a.md"), []byte("theirs"), 0o600)) }
		if _, err := dir.Save(now, "sub/a.md", []byte("mine"), &edited); !errors.As(err, &changed) {
			t.Errorf("an edit of the last moment was saved over: %v", err)
		}
		if _, err := dir.Save(now, "sub/b.md", []byte("b"), nil); err != nil {
			t.Error(err)
		}
		dir.hook = nil
		entries, err := os.ReadDir(filepath.Join(path, "sub"))
		if err != nil || len(entries) != 2 {
			t.Errorf("left in the folder: %v, %v", entries, err)
		}
		for _, key := range []api.Key{"sub/a.md", "sub/b.md"} {
			file, left, err := dir.Look(now, key, 100)
			if err != nil || left != nil {
				t.Fatal(err, left)
			}
			if err := dir.Discard(key, file); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(filepath.Join(path, "sub")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the empty folder stays: %v", err)
		}
		if _, err := os.Stat(filepath.Join(path, ownFolder)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a folder of ours was made: %v", err)
		}
	}
}

// The file system for readers shows what is there and follows nothing.
func TestFSReadsFilesAndNothingElse(t *testing.T) {
	path := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(path, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(path, "sub/a.md"), []byte("a"), 0o600))
	must(t, os.Symlink("/etc/hosts", filepath.Join(path, "out.md")))
	must(t, os.Symlink("sub", filepath.Join(path, "in")))
	dir, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if text, err := fs.ReadFile(dir.FS(), "sub/a.md"); err != nil || string(text) != "a" {
		t.Errorf("%q, %v", text, err)
	}
	for _, name := range []string{"out.md", "in/a.md", "in", "sub", "../x", "/etc/hosts", "none"} {
		if text, err := fs.ReadFile(dir.FS(), name); err == nil {
			t.Errorf("%s was read: %q", name, text)
		}
	}
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
}
