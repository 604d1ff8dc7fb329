package client_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/server/servertest"
)

// TestTwoUsers: two people of one machine, each with a home of their own, meet in one
// memory directory. One at a time syncs it; both are of one mind with the server; whoever
// is of another organization is refused; and nobody reads the other's state.
func TestTwoUsers(t *testing.T) {
	server := servertest.Start(t)
	dana, lee := newMachine(t, server, "dana", "acme/widgets").quick(), newMachine(t, server, "lee", "acme/widgets").quick()
	lee.dir, lee.cfg.Dir = dana.dir, dana.dir
	dana.write("t.md", "one")
	stop := dana.run()
	if _, err := lee.open(); !errors.Is(err, memdir.ErrLocked) {
		t.Errorf("the second user is let in beside the first: %v", err)
	}
	stop()

	// Lee has never synced here: all is compared, and nothing doubled or lost.
	if report := lee.once(); report.Changed || report.Entries != 1 {
		t.Errorf("%+v", report)
	}
	lee.write("t.md", "two")
	lee.once()
	if report := dana.once(); report.Changed || dana.read("t.md") != "two" {
		t.Errorf("%+v, the file holds %q", report, dana.read("t.md"))
	}

	foreign := server.TokenOf("globex", "lee", api.Member)
	stranger := newMachine(t, server, "lee", "acme/widgets")
	stranger.cfg.Dir = dana.dir
	stranger.cfg.Remote.Token = func() string { return foreign }
	var mismatch *client.MismatchError
	if _, err := stranger.open(); !errors.As(err, &mismatch) || mismatch.What != "organization" {
		t.Errorf("another organization is let in: %v", err)
	}
	for _, m := range []*machine{dana, lee} {
		m.private(m.cfg.StateDir)
	}
}

// private checks that nobody but its owner may look into a directory.
func (m *machine) private(dir string) {
	m.t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if info.Mode().Perm() != want {
			m.t.Errorf("%s has the mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || files < 2 {
		m.t.Errorf("%d files in %s: %v", files, dir, err)
	}
}
