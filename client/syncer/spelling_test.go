package syncer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/syncer"
)

// folding is a directory on a file system that folds letter case and lists every
// name in lower case.
type folding struct{ *memdir.Dir }

func lower(key api.Key) api.Key { return api.Key(strings.ToLower(string(key))) }

func (f folding) Read(key api.Key, maxBytes int) ([]byte, error) {
	return f.Dir.Read(lower(key), maxBytes)
}

func (f folding) Write(now time.Time, key api.Key, content []byte, modified time.Time, expect *memdir.File) (memdir.File, error) {
	file, err := f.Dir.Write(now, lower(key), content, modified, expect)
	file.Key = key
	return file, err
}

func (f folding) Remove(key api.Key, expect memdir.File) error {
	return f.Dir.Remove(lower(key), expect)
}

func (f folding) Same(a, b api.Key) bool {
	_, err := f.Dir.Read(lower(a), 1<<20)
	return err == nil && lower(a) == lower(b)
}

func newFoldingBox(t *testing.T, server syncer.Server) *box {
	b := newBox(t, server)
	dir := folding{b.dir}
	b.opts.Same = dir.Same
	b.restart()
	b.s.SetDirectory(dir)
	return b
}

// settled checks that two more rounds ask for nothing but news and change nothing.
func (b *box) settled(server *fakeServer) {
	b.t.Helper()
	puts, gets, version := server.puts, server.gets, server.version
	for range 2 {
		report, err := b.s.Round(context.Background(), syncer.Both)
		if err != nil || report.Changed || report.Pending {
			b.t.Errorf("a round with nothing to do: %+v, %v", report, err)
		}
	}
	if server.puts != puts || server.version != version || server.gets != gets+2 {
		b.t.Errorf("%d PUTs and %d GETs in two rounds", server.puts-puts, server.gets-gets)
	}
}

// TestFoldingFileSystem: where the file system has spellings of its own, the
// server's hold, nothing is renamed for the others, and nothing goes round in
// circles (BR-04).
func TestFoldingFileSystem(t *testing.T) {
	server := newFake()
	server.set("Notes/Topic.md", "one")
	server.set("MEMORY.md", "index")
	b := newFoldingBox(t, server)
	b.mustRound()
	b.settled(server)
	if got := strings.Join(b.files(), " "); got != "memory.md notes/topic.md" {
		t.Fatalf("the directory holds %s", got)
	}

	b.write("notes/topic.md", "an edit")
	b.mustRound()
	b.settled(server)
	if row := server.rows["Notes/Topic.md"]; row.text != "an edit" || row.deleted || len(server.rows) != 2 {
		t.Errorf("the server holds %+v", server.rows)
	}

	server.set("Notes/Topic.md", "by a team-mate")
	b.mustRound()
	b.settled(server)
	if got := b.read("notes/topic.md"); got != "by a team-mate" {
		t.Errorf("the file holds %q", got)
	}

	// The server's spelling changes, and the text with it.
	server.remove("Notes/Topic.md")
	server.set("notes/TOPIC.md", "renamed")
	b.mustRound()
	b.settled(server)
	if got := b.read("notes/topic.md"); got != "renamed" || len(b.kept()) != 0 {
		t.Errorf("the file holds %q, kept %v", got, b.kept())
	}

	server.remove("notes/TOPIC.md")
	b.mustRound()
	b.settled(server)
	if got := strings.Join(b.files(), " "); got != "memory.md" {
		t.Errorf("the directory holds %s", got)
	}
}

// TestTwinsOnAFoldingFileSystem: of two keys that are one file here one is here; the
// other is named once.
func TestTwinsOnAFoldingFileSystem(t *testing.T) {
	server := newFake()
	server.set("Topic.md", "one")
	server.set("topic.md", "two")
	b := newFoldingBox(t, server)
	b.mustRound()
	b.mustRound()
	b.settled(server)
	if row := server.rows["Topic.md"]; row.text != "one" || server.rows["topic.md"].text != "two" {
		t.Errorf("the server holds %+v", server.rows)
	}
}
