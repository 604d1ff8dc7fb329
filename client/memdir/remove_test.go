package memdir

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

func TestRemove(t *testing.T) {
	eachWay(t, func(b *box) {
		deep, near := b.write("a/b/c.md", "deep", nil), b.write("a/d.md", "near", nil)
		if err := b.Remove("a/b/c.md", deep); err != nil {
			b.Fatal(err)
		}
		if _, err := os.Lstat(b.path("a/b")); !errors.Is(err, fs.ErrNotExist) {
			b.Error("the empty directory stays:", err)
		}
		if b.stands("a/d.md") != "near" {
			b.Error("its neighbour went too")
		}
		if err := b.Remove("a/d.md", near); err != nil {
			b.Fatal(err)
		}
		if _, err := os.Lstat(b.path("a")); !errors.Is(err, fs.ErrNotExist) {
			b.Error("the empty directory stays:", err)
		}
		b.changed(b.Remove("a/d.md", near), "is gone")
		if got := b.reaped(); got != "" {
			b.Errorf("kept %q of what was as expected", got)
		}
	})
}

func TestRemoveRefusesWhatChanged(t *testing.T) {
	eachWay(t, func(b *box) {
		old := b.write("a.md", "old", nil)
		b.overwrite("a.md", "eDt")
		b.changed(b.Remove("a.md", old), "was edited")
		b.put("a.md", "edited")
		b.changed(b.Remove("a.md", old), "was edited")
		if got := b.stands("a.md"); got != "edited" {
			b.Errorf("stands %q", got)
		}
	})
}

// TestRemoveAgainstAnEditor: the edit comes after the last look.
func TestRemoveAgainstAnEditor(t *testing.T) {
	eachWay(t, func(b *box) {
		old := b.write("sub/a.md", "old", nil)
		b.hook = func(string) { b.put("sub/a.md", "edit") }
		err := b.Remove("sub/a.md", old)
		b.hook = nil
		b.changed(err, "was edited")
		if stands, kept := b.stands("sub/a.md"), b.reaped(); stands != "edit" || kept != "" {
			b.Errorf("stands %q, kept %q", stands, kept)
		}
	})
}

// TestPruneTakesNoFile: what looks like an empty directory a moment ago may be a file now.
func TestPruneTakesNoFile(t *testing.T) {
	eachWay(t, func(b *box) {
		b.put("a", "a file")
		b.prune("a")
		if b.stands("a") != "a file" {
			b.Error("a file was pruned")
		}
	})
}

func TestSetModified(t *testing.T) {
	eachWay(t, func(b *box) {
		file := b.write("a.md", "text", nil)
		modified := time.Date(2025, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
		got, err := b.SetModified(b.now, "a.md", modified, file)
		if err != nil || !got.Modified().Equal(modified) || got.Fingerprint.Inode != file.Fingerprint.Inode {
			b.Fatalf("%+v, %v", got, err)
		}
		looked, _, err := b.Look(b.now, "a.md", 100)
		if err != nil || looked != got {
			b.Errorf("SetModified gave %+v, Look %+v, %v", got, looked, err)
		}
		b.put("a.md", "edited")
		_, err = b.SetModified(b.now, "a.md", modified, got)
		b.changed(err, "was edited")
	})
}

// TestSetModifiedOfASecondName: the other name of the file lies outside, where nothing is
// changed.
func TestSetModifiedOfASecondName(t *testing.T) {
	if onWindows {
		t.Skip("the number of names is not seen there")
	}
	eachWay(t, func(b *box) {
		outside := t.TempDir() + "/outside"
		file := b.write("a.md", "text", nil)
		if err := os.Link(b.path("a.md"), outside); err != nil {
			b.Skip("no hard links here:", err)
		}
		before, err := os.Stat(outside)
		if err != nil {
			b.Fatal(err)
		}
		got, err := b.SetModified(b.now, "a.md", time.Unix(1e9, 0), file)
		if err != nil || got.Modified().Unix() != 1e9 {
			b.Fatal(got, err)
		}
		if after, err := os.Stat(outside); err != nil || !after.ModTime().Equal(before.ModTime()) {
			b.Errorf("the outside's time moved: %v, %v", after.ModTime(), err)
		}
	})
}

// TestReap: what is young stays, what nobody could save stays, what is long keeps its key.
func TestReap(t *testing.T) {
	long := api.Key(strings.Repeat("ein sehr langer Ordner mit Ümlauten/", 8) + "a.md")
	for _, key := range []api.Key{"a.md", "Übung (1).md", long} {
		eachWay(t, func(b *box) {
			old := b.write(key, "old", nil)
			editor, err := os.OpenFile(b.path(string(key)), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer editor.Close()
			b.write(key, "new", &old)
			if _, err := editor.WriteString("+"); err != nil {
				b.Fatal(err)
			}
			never := func(key api.Key, content []byte) error {
				b.Errorf("reaped %s=%s", key, content)
				return nil
			}
			if err := b.Reap(b.now.Add(-time.Minute), never); err != nil {
				b.Error(err)
			}
			full := errors.New("the keep is full")
			if err := b.Reap(time.Now().Add(time.Hour), func(api.Key, []byte) error { return full }); !errors.Is(err, full) {
				b.Error(err)
			}
			if got := b.reaped(); got != string(key)+"=old+" {
				b.Errorf("kept %q", got)
			}
		})
	}
}
