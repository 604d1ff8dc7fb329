//go:build unix

package memdir_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
)

// TestScanLeavesOut is the last paragraph of protocol.md 1.7, one row a kind.
func TestScanLeavesOut(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	put(t, outside, "secret.md", "not ours")
	put(t, outside, "dir/secret.md", "not ours")
	at := func(name string) string { return filepath.Join(root, name) }
	file := func(content string) func(string) error {
		return func(name string) error { return os.WriteFile(at(name), []byte(content), 0o666) }
	}
	link := func(to string) func(string) error { return func(name string) error { return os.Symlink(to, at(name)) } }
	mkdir := func(name string) error { return os.Mkdir(at(name), 0o777) }
	cases := []struct {
		name   string
		make   func(name string) error
		reason memdir.Reason
		quiet  bool
		noKey  bool
	}{
		{name: ".teammem", make: mkdir, reason: memdir.ReasonHidden, quiet: true, noKey: true},
		{name: ".hidden.md", make: file("x"), reason: memdir.ReasonHidden},
		{name: ".obsidian", make: mkdir, reason: memdir.ReasonHidden},
		{name: ".git", make: mkdir, reason: memdir.ReasonHidden, noKey: true},
		{name: ".topic.md.swp", make: file("x"), reason: memdir.ReasonHidden, quiet: true},
		{name: "topic.md~", make: file("x"), reason: memdir.ReasonTemporary, quiet: true},
		{name: "topic.md.tmp", make: file("x"), reason: memdir.ReasonTemporary, quiet: true},
		{name: "topic.md.swp", make: file("x"), reason: memdir.ReasonTemporary, quiet: true},
		{name: "#topic.md#", make: file("x"), reason: memdir.ReasonTemporary, quiet: true},
		{name: "4913", make: file("x"), reason: memdir.ReasonTemporary, quiet: true},
		{name: "latin1.md", make: file("caf\xe9"), reason: memdir.ReasonNotUTF8},
		{name: "surrogate.md", make: file("\xed\xa0\x80"), reason: memdir.ReasonNotUTF8},
		{name: "large.md", make: file(strings.Repeat("x", limit+1)), reason: memdir.ReasonTooLarge},
		{name: "link.md", make: link(filepath.Join(outside, "secret.md")), reason: memdir.ReasonSymlink},
		{name: "inside.md", make: link("fine.md"), reason: memdir.ReasonSymlink},
		{name: "dangling.md", make: link("nowhere"), reason: memdir.ReasonSymlink},
		{name: "folder", make: link(filepath.Join(outside, "dir")), reason: memdir.ReasonSymlink},
		{name: "loop", make: link("."), reason: memdir.ReasonSymlink},
		{name: "pipe.md", make: func(n string) error { return syscall.Mkfifo(at(n), 0o666) }, reason: memdir.ReasonDevice},
		{name: "back\\slash.md", make: file("x"), reason: memdir.ReasonBadKey, noKey: true},
		{name: "co:lon.md", make: file("x"), reason: memdir.ReasonBadKey, noKey: true},
		{name: "nul.md", make: file("x"), reason: memdir.ReasonBadKey, noKey: true},
		{name: "bytes\xff.md", make: file("x"), reason: memdir.ReasonBadKey, noKey: true},
		{name: "new\nline.md", make: file("x"), reason: memdir.ReasonBadKey, noKey: true},
		{name: "trailing.", make: mkdir, reason: memdir.ReasonBadKey, noKey: true},
	}
	for _, c := range cases {
		if err := c.make(c.name); err != nil {
			t.Fatal(c.name, err)
		}
	}
	put(t, root, "fine.md", strings.Repeat("x", limit))
	put(t, root, "trailing./a.md", "x")
	socket, err := net.Listen("unix", at("socket.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()

	list := scan(t, open(t, root), time.Now(), nothing)
	if got := keys(list); len(got) != 1 || got[0] != "fine.md" {
		t.Errorf("files %q, want fine.md alone", got)
	}
	found := map[string]memdir.Left{}
	for _, left := range list.Left {
		found[left.Name] = left
	}
	for _, c := range cases {
		got, ok := found[c.name]
		if !ok || got.Reason != c.reason || got.Quiet != c.quiet || (got.Key == "") != c.noKey || got.Detail == "" {
			t.Errorf("%q: %+v", c.name, got)
		}
	}
	if found["socket.md"].Reason != memdir.ReasonDevice || len(list.Left) != len(cases)+1 {
		t.Errorf("%d left out, want %d", len(list.Left), len(cases)+1)
	}
}

// TestNothingIsFollowed asks for single files by keys that lead through links.
func TestNothingIsFollowed(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	put(t, outside, "n.md", "not ours")
	put(t, root, "real/n.md", "ours")
	for name, to := range map[string]string{"team": outside, "inside": "real", "n.md": filepath.Join(outside, "n.md")} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := open(t, root)
	for _, key := range []api.Key{"team/n.md", "inside/n.md", "n.md", "pipe", "pipe/n.md"} {
		if b, err := dir.Read(key, limit); err == nil {
			t.Errorf("read %s: %q", key, b)
		}
		if _, left, err := dir.Look(time.Now(), key, limit); left == nil || err != nil {
			t.Errorf("look at %s: %v, %v", key, left, err)
		}
		if _, err := dir.Write(time.Now(), key, []byte("x"), time.Time{}, nil); err == nil {
			t.Errorf("wrote %s", key)
		}
		if err := dir.Remove(key, memdir.File{Key: key, Checksum: api.ChecksumOf([]byte("not ours"))}); err == nil {
			t.Errorf("removed %s", key)
		}
	}
	var obstacle *memdir.ObstacleError
	if _, err := dir.Write(time.Now(), "team/new.md", nil, time.Time{}, nil); !errors.As(err, &obstacle) || obstacle.Reason != memdir.ReasonSymlink {
		t.Errorf("through a link: %v", err)
	}
	if got := get(t, outside, "n.md") + get(t, root, "real/n.md"); got != "not oursours" {
		t.Errorf("contents changed: %q", got)
	}
}

// TestUnreadable needs a user whom permissions bind.
func TestUnreadable(t *testing.T) {
	root := t.TempDir()
	put(t, root, "closed.md", "x")
	put(t, root, "folder/a.md", "x")
	put(t, root, "open.md", "x")
	dir := open(t, root)
	for _, name := range []string{"closed.md", "folder"} {
		if err := os.Chmod(filepath.Join(root, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "folder"), 0o777) })
	asNobody(t, root, func() {
		list := scan(t, dir, time.Now(), nothing)
		if got := keys(list); len(got) != 1 || got[0] != "open.md" {
			t.Errorf("files %q", got)
		}
		for _, key := range []api.Key{"closed.md", "folder/a.md"} {
			if left := list.Obscured(key); left == nil || left.Reason != memdir.ReasonUnreadable {
				t.Errorf("%s is taken for gone: %v", key, list.Left)
			}
		}
		if list.Obscured("open.md") != nil || list.Obscured("folder.md") != nil {
			t.Error("what is readable is obscured")
		}
	})
}

func TestRead(t *testing.T) {
	root := t.TempDir()
	put(t, root, "a.md", "12345")
	dir := open(t, root)
	if b, err := dir.Read("a.md", 5); string(b) != "12345" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	var left *memdir.Left
	if _, err := dir.Read("a.md", 4); !errors.As(err, &left) || left.Reason != memdir.ReasonTooLarge {
		t.Errorf("over the limit: %v", err)
	}
	for _, key := range []api.Key{"b.md", "c/d.md"} {
		if _, err := dir.Read(key, 5); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", key, err)
		}
		if _, _, err := dir.Look(time.Now(), key, 5); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
