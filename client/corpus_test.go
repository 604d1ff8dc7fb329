package client_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
)

// TestCorpusRoundTrip: every real memory directory goes through two clients and
// back, byte for byte and with its times, is not uploaded a second time, and small
// changes on either side follow. On both stores.
func TestCorpusRoundTrip(t *testing.T) {
	corpus := os.Getenv("TEAMMEM_CORPUS")
	if corpus == "" {
		corpus = filepath.Join("..", "..", "shared", "corpus")
	}
	dirs, err := os.ReadDir(filepath.Join(corpus, "open"))
	if err != nil {
		t.Skip("the corpus is not here; TEAMMEM_CORPUS names it")
	}
	for name, options := range map[string][]servertest.Option{
		"sqlite":   nil,
		"postgres": {servertest.OnPostgres()},
	} {
		t.Run(name, func(t *testing.T) {
			server := servertest.Start(t, options...)
			for _, dir := range dirs {
				if dir.IsDir() {
					t.Run(dir.Name(), func(t *testing.T) { roundTrip(t, server, filepath.Join(corpus, "open", dir.Name())) })
				}
			}
		})
	}
}

func roundTrip(t *testing.T, server *servertest.Server, source string) {
	repo := api.RepoSlug("corpus/" + filepath.Base(source))
	a, b := newMachine(t, server, "dana", repo), newMachine(t, server, "lee", repo)
	copyTree(t, source, a.dir)
	want := treeOf(t, a.dir)
	if report := a.once(); len(report.Uploaded) != len(want) {
		t.Errorf("uploaded %d of %d files", len(report.Uploaded), len(want))
	}
	b.once()
	sameTree(t, treeOf(t, a.dir), want)
	sameTree(t, treeOf(t, b.dir), want)
	calm(t, a, b)

	// A few edits here, a few there, one new file: each side gets the other's.
	names := slices.Sorted(maps.Keys(want))
	for i, name := range names {
		switch {
		case i < 3:
			a.write(name, a.read(name)+"\nOne more line, by A.\n")
		case i < 5:
			b.write(name, "A first line, by B.\n"+b.read(name))
		}
	}
	b.write("new_by_b.md", "---\nname: new\n---\nText.\n")
	a.once()
	b.once()
	a.once()
	sameTree(t, treeOf(t, b.dir), treeOf(t, a.dir))
	calm(t, a, b)
}

// calm: with nothing to do nothing is sent, and no file is written.
func calm(t *testing.T, machines ...*machine) {
	t.Helper()
	for range 2 {
		for _, m := range machines {
			before := treeOf(t, m.dir)
			if report := m.once(); report.Changed {
				t.Errorf("a round with nothing to do changed something: %+v", report)
			}
			sameTree(t, treeOf(t, m.dir), before)
		}
	}
}

// leaf is a file as an agent sees it.
type leaf struct {
	text string
	at   time.Time // as exact as the wire carries it
}

func treeOf(t *testing.T, root string) map[string]leaf {
	t.Helper()
	tree := map[string]leaf{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".teammem" {
			return filepath.SkipDir
		}
		if entry.IsDir() {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		tree[filepath.ToSlash(name)] = leaf{string(text), info.ModTime().Truncate(time.Millisecond)}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func sameTree(t *testing.T, got, want map[string]leaf) {
	t.Helper()
	for name, w := range want {
		g, ok := got[name]
		switch {
		case !ok:
			t.Errorf("%s is missing", name)
		case g.text != w.text:
			t.Errorf("%s differs", name)
		case !g.at.Equal(w.at):
			t.Errorf("%s is of %v, want %v", name, g.at, w.at)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is too much", name)
		}
	}
}

// copyTree copies a directory; each file gets a time of its own in the past.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, leaf := range treeOf(t, to) {
		path := filepath.Join(to, filepath.FromSlash(name))
		n++
		at := time.Date(2026, 3, 1, 12, 0, 0, n*1_000_000, time.UTC)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		if source, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(name))); err != nil || !bytes.Equal(source, []byte(leaf.text)) {
			t.Fatal(fmt.Errorf("copy of %s: %w", name, err))
		}
	}
}
