package memdir_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
)

const limit = 250_000

// open opens a memory directory of its own.
func open(t *testing.T, root string) *memdir.Dir {
	t.Helper()
	dir, err := memdir.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

// put writes a file as an editor would, without the package.
func put(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, root, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func scan(t *testing.T, dir *memdir.Dir, now time.Time, known memdir.Known) memdir.Listing {
	t.Helper()
	list, err := dir.Scan(t.Context(), now, limit, known)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func keys(list memdir.Listing) []string {
	all := []string{}
	for _, f := range list.Files {
		all = append(all, string(f.Key))
	}
	return all
}

func TestOpen(t *testing.T) {
	base := t.TempDir()
	put(t, base, "file", "")
	if err := os.Symlink("dir", filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(base, "dir"), 0o777); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(filepath.Join(base, "dir"))
	if err != nil {
		t.Fatal(err)
	}
	if dir := open(t, filepath.Join(base, "link")); dir.Path() != real || dir.RootID() == "" {
		t.Errorf("a link to the root: path %s, id %q; want %s", dir.Path(), dir.RootID(), real)
	}
	if _, err := memdir.Open(filepath.Join(base, "none")); !errors.Is(err, memdir.ErrGone) {
		t.Errorf("nothing there: %v", err)
	}
	if _, err := memdir.Open(filepath.Join(base, "file")); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a file: %v", err)
	}
}

// TestCheck is BR-20: the directory goes, comes back, and is replaced.
func TestCheck(t *testing.T) {
	root := filepath.Join(t.TempDir(), "memory")
	mkdir := func() {
		t.Helper()
		if err := os.Mkdir(root, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	mkdir()
	dir := open(t, root)
	marker := memdir.Marker{ID: "m1", Server: "https://memory.example", Organization: "org", Repo: "acme/tools"}
	if _, ok, err := dir.Marker(); ok || err != nil {
		t.Fatalf("a new directory has a marker: %v, %v", ok, err)
	}
	if _, err := os.Lstat(filepath.Join(root, ".teammem")); err == nil {
		t.Fatal("reading the marker made something")
	}
	if err := dir.Check(marker); !errors.Is(err, memdir.ErrReplaced) {
		t.Errorf("no marker where one is expected: %v", err)
	}
	if err := dir.SetMarker(marker); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := dir.Marker(); got != marker || !ok || err != nil {
		t.Fatalf("marker %v, %v, %v", got, ok, err)
	}
	if err := dir.Check(marker); err != nil {
		t.Errorf("all is well: %v", err)
	}
	other := marker
	other.Repo = "acme/other"
	if err := dir.Check(other); !errors.Is(err, memdir.ErrReplaced) || !strings.Contains(err.Error(), "acme/tools") {
		t.Errorf("another project's marker: %v", err)
	}

	move(root, root+".bak")
	if err := dir.Check(marker); !errors.Is(err, memdir.ErrGone) {
		t.Errorf("moved away: %v", err)
	}
	mkdir()
	if err := dir.Check(marker); !errors.Is(err, memdir.ErrReplaced) {
		t.Errorf("an empty directory in its place: %v", err)
	}
	if err := open(t, root).Check(marker); !errors.Is(err, memdir.ErrReplaced) {
		t.Errorf("an empty directory, opened anew: %v", err)
	}
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	move(root+".bak", root)
	if err := dir.Check(marker); err != nil {
		t.Errorf("it is back: %v", err)
	}
	put(t, root, ".teammem/marker.json", `{"id":`)
	if err := dir.Check(marker); !errors.Is(err, memdir.ErrReplaced) {
		t.Errorf("a damaged marker: %v", err)
	}
}

// TestLock is BR-58: the lock is the system's, whatever its files say.
func TestLock(t *testing.T) {
	root := t.TempDir()
	put(t, root, ".teammem/holder.json", `{"pid":1,"what":"somebody else's process"}`)
	put(t, root, ".teammem/lock", "1")
	put(t, root, ".teammem/tmp/HALFWRITTEN", "ha")
	first, second := open(t, root), open(t, root)
	unlock, err := first.Lock("client sync")
	if err != nil {
		t.Fatalf("files of a dead run kept us out: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(root, ".teammem/tmp/HALFWRITTEN")); err == nil {
		t.Error("what the dead run left half written is still there")
	}
	if got := get(t, root, ".teammem/.gitignore"); got != "*\n" {
		t.Errorf(".gitignore holds %q", got)
	}
	_, err = second.Lock("client pull")
	if !errors.Is(err, memdir.ErrLocked) || !strings.Contains(err.Error(), `"client sync"`) {
		t.Errorf("the second: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	unlock, err = second.Lock("client pull")
	if err != nil {
		t.Errorf("after the first ended: %v", err)
	} else if err := unlock(); err != nil {
		t.Error(err)
	}
}

// TestOwnFolderIsNoLink: a link in the place of .teammem leads nowhere.
func TestOwnFolderIsNoLink(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	put(t, outside, "lock", "")
	put(t, outside, "marker.json", `{"id":"x"}`)
	if err := os.Symlink(outside, filepath.Join(root, ".teammem")); err != nil {
		t.Fatal(err)
	}
	dir := open(t, root)
	if _, err := dir.Lock("x"); err == nil {
		t.Error("locked through a link")
	}
	if m, ok, err := dir.Marker(); ok || err == nil {
		t.Error("read through a link", m)
	}
	if _, err := dir.Write(time.Now(), "a.md", []byte("a"), time.Time{}, nil); err == nil {
		t.Error("wrote through a link")
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 2 {
		t.Error("something was made outside:", entries, err)
	}
}

func TestScanFindsFilesByKey(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"MEMORY.md", "b/a.md", "b-a.md", "b/c/d.txt", "ünï.md", "no extension"} {
		put(t, root, name, "content of "+name)
	}
	list := scan(t, open(t, root), time.Now(), nothing)
	want := []string{"MEMORY.md", "b-a.md", "b/a.md", "b/c/d.txt", "no extension", "ünï.md"}
	if got := keys(list); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	if want := []string{".", "b", "b/c"}; !slices.Equal(list.Dirs, want) {
		t.Errorf("directories %q, want %q", list.Dirs, want)
	}
	if len(list.Left) != 0 {
		t.Errorf("left out: %v", list.Left)
	}
	if want := api.ChecksumOf([]byte("content of MEMORY.md")); list.Files[0].Checksum != want {
		t.Errorf("checksum %s, want %s", list.Files[0].Checksum, want)
	}
}

func TestScanGivesBothTwins(t *testing.T) {
	root := t.TempDir()
	put(t, root, "caf\u00e9.md", "1")
	put(t, root, "cafe\u0301.md", "2")
	put(t, root, "Topic.md", "3")
	put(t, root, "topic.md", "4")
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if got := keys(scan(t, open(t, root), time.Now(), nothing)); len(got) != len(entries) {
		t.Errorf("files %q of %d", got, len(entries))
	}
}

func TestScanStopsWithItsContext(t *testing.T) {
	root := t.TempDir()
	put(t, root, "a/b.md", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, root).Scan(ctx, time.Now(), limit, nothing); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestTemporaryNamesThatAreKnown: what a stock client pushed under such a name is
// written here, and its edits go back (protocol.md, section 1.7).
func TestTemporaryNamesThatAreKnown(t *testing.T) {
	root := t.TempDir()
	dir := open(t, root)
	file, err := dir.Write(time.Now(), "notes.tmp", []byte("theirs"), time.Time{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	known := func(key api.Key) (memdir.File, bool) { return file, key == "notes.tmp" }
	put(t, root, "notes.tmp", "ours")
	list := scan(t, dir, time.Now(), known)
	if len(list.Files) != 1 || list.Files[0].Checksum != api.ChecksumOf([]byte("ours")) {
		t.Errorf("known: %v", list)
	}
	list = scan(t, dir, time.Now(), nothing)
	if len(list.Files) != 0 || list.Left[len(list.Left)-1].Reason != memdir.ReasonTemporary {
		t.Errorf("unknown: %v", list)
	}
}
