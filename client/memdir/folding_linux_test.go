package memdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// foldingDisk is a file system that folds case, lists every name in lower case, forbids
// what Windows forbids, and knows no exchange: NTFS through FUSE.
func foldingDisk(t *testing.T) string {
	t.Helper()
	mustBeRoot(t)
	image := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 16<<20); err != nil {
		t.Fatal(err)
	}
	run(t, "mkntfs", "-q", "-F", image)
	at := t.TempDir()
	run(t, "lowntfs-3g", "-o", "ignore_case,windows_names", image, at)
	t.Cleanup(func() { run(t, "umount", at) })
	return at
}

func TestFoldingDisk(t *testing.T) {
	d, err := Open(foldingDisk(t))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	b := &box{T: t, Dir: d, root: d.Path(), now: time.Now()}
	unlock, err := b.Lock("test")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()

	first := b.write("Notes/Topic.md", "one", nil)
	_, err = b.Write(b.now, "Notes/topic.md", []byte("two"), time.Time{}, nil)
	b.changed(err, "is there")
	second := b.write("Notes/Topic.md", "three", &first)
	if got := b.stands("notes/TOPIC.md"); got != "three" {
		t.Errorf("stands %q", got)
	}
	if !b.Same("notes/topic.md", "Notes/TOPIC.md") || b.Same("notes/topic.md", "notes/other.md") {
		t.Error("two spellings of one file are not seen as such")
	}
	b.overwrite("Notes/Topic.md", "an edit")
	_, err = b.Write(b.now, "Notes/Topic.md", []byte("four"), time.Time{}, &second)
	b.changed(err, "was edited")
	b.changed(b.Remove("Notes/Topic.md", second), "was edited")

	list, err := b.Scan(t.Context(), b.now, 100, func(api.Key) (File, bool) { return File{}, false })
	if err != nil || len(list.Files) != 1 || list.Files[0].Key.Fold() != "notes/topic.md" {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := b.Remove("Notes/Topic.md", list.Files[0]); err != nil {
		t.Error(err)
	}
	// A rename in letter case alone, as the syncer does it: the old spelling goes, the new
	// one comes.
	b.write("notes/topic.md", "an edit", nil)
	list, err = b.Scan(t.Context(), b.now, 100, func(api.Key) (File, bool) { return File{}, false })
	if err != nil || len(list.Files) != 1 || list.Files[0].Key != "notes/topic.md" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := b.Write(b.now, "what?.md", []byte("x"), time.Time{}, nil); err == nil {
		t.Error("a name was written that this file system does not allow")
	}
	if got := b.reaped(); got != "" {
		t.Errorf("reaped %q", got)
	}
	b.clear("tmp")
}
