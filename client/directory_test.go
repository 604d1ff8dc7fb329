package client_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/server/servertest"
)

// TestDirectoryVanishes: while it is gone, empty or another one, nothing is sent and
// nothing is deleted anywhere; when it is back syncing goes on by itself (BR-20).
func TestDirectoryVanishes(t *testing.T) {
	server := servertest.Start(t)
	for name, c := range map[string]struct {
		repo      string
		meanwhile func(t *testing.T, dir string)             // what stands there while it is away
		back      func(t *testing.T, away, dir string) error // how it returns
	}{
		"gone, and moved back": {"moved", func(*testing.T, string) {}, func(_ *testing.T, away, dir string) error { return os.Rename(away, dir) }},
		"gone, and copied back": {"copied", func(*testing.T, string) {}, func(_ *testing.T, away, dir string) error {
			return os.CopyFS(dir, os.DirFS(away))
		}},
		"an empty one in its place": {"empty", func(t *testing.T, dir string) {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}, func(t *testing.T, away, dir string) error {
			return errors.Join(os.Remove(dir), os.Rename(away, dir))
		}},
		"another project's": {"another", func(t *testing.T, dir string) {
			other := newMachine(t, server, "dana", "acme/other")
			other.write("secret.md", "of another project")
			other.once()
			if err := os.CopyFS(dir, os.DirFS(other.dir)); err != nil {
				t.Fatal(err)
			}
		}, func(t *testing.T, away, dir string) error {
			return errors.Join(os.RemoveAll(dir), os.Rename(away, dir))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := api.RepoSlug("acme/" + c.repo)
			a, b := newMachine(t, server, "dana", repo).quick(), newMachine(t, server, "lee", repo).quick()
			a.write("t.md", "one")
			a.write("u.md", "one")
			a.run()
			b.run()
			b.arrives("u.md", "one")

			away := a.dir + ".away"
			if err := os.Rename(a.dir, away); err != nil {
				t.Fatal(err)
			}
			c.meanwhile(t, a.dir)
			await(t, "it is told", func() bool { return len(a.eventsOf(syncer.EventHalted)) > 0 })
			if err := os.WriteFile(filepath.Join(away, "t.md"), []byte("two"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := c.back(t, away, a.dir); err != nil {
				t.Fatal(err)
			}
			b.arrives("t.md", "two")
			b.write("t.md", "three")
			a.arrives("t.md", "three")
			a.write("t.md", "four")
			b.arrives("t.md", "four")
			if b.read("u.md") != "one" || b.read("secret.md") != "" {
				t.Error("what was in its place has reached the others")
			}
			a.wantEvents(syncer.EventHalted, 1)
			a.wantEvents(syncer.EventResumed, 1)
			a.wantEvents(syncer.EventConflict, 0)
		})
	}
}

// TestOneClientADirectory: the second is refused, and told who is there; when the
// first has ended there is room.
func TestOneClientADirectory(t *testing.T) {
	server := servertest.Start(t)
	a := newMachine(t, server, "dana", "acme/widgets").quick()
	stop := a.run()
	session, err := a.open()
	if !errors.Is(err, memdir.ErrLocked) || !strings.Contains(err.Error(), "client sync") {
		t.Errorf("%v, %v", session, err)
	}
	stop()
	a.once()
}

// TestAnotherPartner: a directory that was synced with one repo, server or
// organization is not taken for another's, and nothing of it is sent there.
func TestAnotherPartner(t *testing.T) {
	server, second := servertest.Start(t), servertest.Start(t)
	foreign := server.TokenOf("globex", "dana", api.Member)
	elsewhere := second.TokenOf("local", "dana", api.Member)
	for what, change := range map[string]func(*client.Config){
		"repo":         func(c *client.Config) { c.Repo = "acme/gadgets" },
		"organization": func(c *client.Config) { c.Remote.Token = func() string { return foreign } },
		"server": func(c *client.Config) {
			c.Remote.Server, c.Remote.Token = second.URL, func() string { return elsewhere }
		},
	} {
		t.Run(what, func(t *testing.T) {
			a := newMachine(t, server, "dana", "acme/widgets")
			a.write("t.md", "one")
			a.once()
			change(&a.cfg)
			_, err := a.open()
			var mismatch *client.MismatchError
			if !errors.As(err, &mismatch) || mismatch.What != what {
				t.Fatalf("%v", err)
			}
			// A person may say that it is meant; both sides then keep all they have.
			a.cfg.Accept = true
			a.once()
			a.cfg.Accept = false
			if report := a.once(); report.Changed || a.read("t.md") != "one" || report.Entries != 1 {
				t.Errorf("%+v, the file holds %q", report, a.read("t.md"))
			}
		})
	}
}

// TestStateLost: without what it remembered a client compares, and loses and
// doubles nothing (C4). An edit that was not pushed is merged or kept.
func TestStateLost(t *testing.T) {
	server := servertest.Start(t)
	a, b := newMachine(t, server, "dana", "acme/widgets"), newMachine(t, server, "lee", "acme/widgets")
	a.write("same.md", "same")
	a.write("edited.md", "one\n")
	a.write("old.md", "to be deleted")
	a.once()
	b.once()
	a.write("edited.md", "by A\n")
	b.write("edited.md", "by B\n")
	b.once()
	for name, damage := range map[string]func(path string) error{
		"gone":    os.Remove,
		"damaged": func(path string) error { return os.WriteFile(path, []byte("nonsense"), 0o600) },
		"empty":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		if err := damage(filepath.Join(a.cfg.StateDir, "state")); err != nil {
			t.Fatal(err)
		}
		a.once()
		if got := a.read("same.md"); got != "same" {
			t.Errorf("%s: the file holds %q", name, got)
		}
	}
	if got := a.read("edited.md"); got != "by B\n" {
		t.Errorf("the edited file holds %q", got)
	}
	if kept := a.eventsOf(syncer.EventConflict); len(kept) != 1 {
		t.Errorf("kept %+v", kept)
	}
	calm(t, a, b)
}
