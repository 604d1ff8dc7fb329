package client_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/server/servertest"
)

func mustBeRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a file system for this test")
	}
}

// TestFullDisk: when the client's disk is full the old bytes stay and the file is
// named, what needs no room goes on, and room on the disk cures it.
func TestFullDisk(t *testing.T) {
	mustBeRoot(t)
	server := servertest.Start(t)
	front := newGate(t, server, func(r *http.Request) bool { return r.URL.Path == api.PathEvents })
	a, b := newMachine(t, server, "dana", "acme/widgets").quick(), newMachine(t, server, "lee", "acme/widgets").quick()
	a.cfg.Remote.Server, b.cfg.Remote.Server = front.URL, front.URL
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", b.dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("tmpfs cannot be mounted here:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(b.dir, syscall.MNT_DETACH) })
	a.write("big.md", "small as yet")
	a.write("other.md", "one")
	a.run()
	stop := b.run()
	defer stop()
	b.arrives("other.md", "one")

	filler := filepath.Join(b.dir, "filler.bin")
	err := os.WriteFile(filler, make([]byte, 2<<20), 0o600)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	large := strings.Repeat("large ", 30_000)
	a.write("big.md", large)
	await(t, "the file is named", func() bool {
		for _, e := range b.eventsOf(syncer.EventFailed) {
			if len(e.Keys) == 1 && e.Keys[0] == "big.md" && strings.Contains(e.Text, "no space left") {
				return true
			}
		}
		return false
	})
	if got := b.read("big.md"); got != "small as yet" {
		t.Errorf("the file holds %d bytes", len(got))
	}
	store, err := state.Open(b.cfg.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "status would say so", func() bool {
		p := store.LastPulse()
		return p.Trouble == state.Faulty && strings.Contains(p.Text, "big.md")
	})
	// What is here already is sent all the same.
	if err := os.Truncate(filepath.Join(b.dir, "other.md"), 2); err != nil {
		t.Fatal(err)
	}
	a.arrives("other.md", "on")

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	b.arrives("big.md", large)
	await(t, "status says nothing more", func() bool { return store.LastPulse().Trouble == "" })
	a.wantEvents(syncer.EventConflict, 0)
	b.wantEvents(syncer.EventConflict, 0)
}

// TestFoldingDisk: a directory on a file system that folds case and lists names in
// lower case lives with one that does not, and renames nothing there.
func TestFoldingDisk(t *testing.T) {
	server := servertest.Start(t)
	front := newGate(t, server, nil)
	a, b := newMachine(t, server, "dana", "acme/widgets"), newMachine(t, server, "lee", "acme/widgets")
	b.cfg.Remote.Server = front.URL
	b.dir = filepath.Join(foldingDisk(t), "team")
	b.cfg.Dir = b.dir
	a.write("MEMORY.md", "# Memory\n")
	a.write("Notes/Topic.md", "one")
	a.once()
	b.once()
	before := front.puts()
	for range 2 {
		if report := b.once(); report.Changed || report.Pending {
			t.Errorf("a round with nothing to do: %+v", report)
		}
	}
	if front.puts() != before {
		t.Errorf("%d PUTs with nothing to do", front.puts()-before)
	}
	b.write("notes/topic.md", "an edit")
	b.once()
	a.once()
	a.arrives("Notes/Topic.md", "an edit")
	a.write("Notes/Topic.md", "another")
	a.once()
	b.once()
	if got := b.read("Notes/Topic.md"); got != "another" {
		t.Errorf("the file holds %q", got)
	}
	if got := len(treeOf(t, a.dir)); got != 2 {
		t.Errorf("%d files with the other: %v", got, treeOf(t, a.dir))
	}
	a.wantEvents(syncer.EventConflict, 0)
	b.wantEvents(syncer.EventConflict, 0)
}

// foldingDisk is NTFS through FUSE, as client/memdir tests it.
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
	at := t.TempDir()
	for _, command := range [][]string{
		{"mkntfs", "-q", "-F", image},
		{"lowntfs-3g", "-o", "ignore_case,windows_names", image, at},
	} {
		path, err := exec.LookPath(command[0])
		if err != nil {
			path = filepath.Join("/sbin", command[0])
		}
		if out, err := exec.Command(path, command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%s does not run here: %v: %s", command[0], err, out)
		}
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(at, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return at
}

// TestUnreadable: what cannot be read is named once and stays as it is; the rest
// goes on. A folder that cannot be looked into is not taken for an empty one.
func TestUnreadable(t *testing.T) {
	server := servertest.Start(t)
	a, b := newMachine(t, server, "dana", "acme/widgets").quick(), newMachine(t, server, "lee", "acme/widgets").quick()
	a.write("t.md", "one")
	a.write("folder/inside.md", "one")
	a.run()
	stop := b.run()
	b.arrives("folder/inside.md", "one")
	b.arrives("t.md", "one")
	stop()

	// Permissions do not bind root: a pipe in a file's place, and a link in a
	// folder's, cannot be read by anyone here.
	folder, away := filepath.Join(b.dir, "folder"), filepath.Join(t.TempDir(), "away")
	if err := os.Rename(folder, away); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, folder); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(b.dir, "pipe.md")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	b.run()
	b.write("fine.md", "sent")
	a.arrives("fine.md", "sent")
	a.write("folder/inside.md", "two")
	a.write("t.md", "two")
	b.arrives("t.md", "two")
	named := func(name string) (n int) {
		for _, e := range b.eventsOf(syncer.EventSkipped) {
			for _, key := range e.Keys {
				if string(key) == name {
					n++
				}
			}
		}
		return n
	}
	await(t, "the news for it is named", func() bool { return named("folder/inside.md") == 1 })
	if named("pipe.md") != 1 || named("folder") != 1 {
		t.Errorf("named: %+v", b.eventsOf(syncer.EventSkipped))
	}
	if text, err := os.ReadFile(filepath.Join(away, "inside.md")); err != nil || string(text) != "one" {
		t.Errorf("the file behind the link holds %q, %v", text, err)
	}
	if got := a.read("folder/inside.md"); got != "two" {
		t.Errorf("the other's file holds %q", got)
	}
	// The folder is back: so is its news.
	if err := errors.Join(os.Remove(folder), os.Rename(away, folder), os.Remove(pipe)); err != nil {
		t.Fatal(err)
	}
	b.arrives("folder/inside.md", "two")
}
