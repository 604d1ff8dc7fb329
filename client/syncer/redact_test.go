package syncer_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/syncer"
)

// withdraw makes the fake server name contents as redacted, as a real one does in
// every answer about a version after they were.
func (f *fakeServer) withdraw(texts ...string) {
	f.version++
	f.answer = func(a remote.Answer) remote.Answer {
		for _, text := range texts {
			a.Memory.Redacted = append(a.Memory.Redacted, api.ChecksumOfString(text))
		}
		return a
	}
}

// tracesOf looks for a text in every file below the directories.
func tracesOf(t *testing.T, text string, dirs ...string) (found []string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			if err == nil && strings.Contains(string(content), text) {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// A withdrawn content leaves the file, the base texts, the keep, the trash and what
// was displaced; everything else stays.
func TestRedactedContentsLeaveNoTrace(t *testing.T) {
	const withdrawn = "a text that an administrator withdrew"
	server := newFake()
	server.set("a.md", withdrawn)
	server.set("b.md", "b")
	b := newBox(t, server)
	b.mustRound()
	b.write("copy.md", withdrawn)
	b.write("edited.md", withdrawn+", with a line of mine")
	for _, put := range []func() error{
		func() error {
			_, err := b.store.Keep(state.Kept{Key: "a.md", Mine: api.ChecksumOfString(withdrawn)}, []byte(withdrawn))
			return err
		},
		func() error {
			_, err := b.store.Trash(state.Trashed{Key: "a.md", Checksum: api.ChecksumOfString(withdrawn)}, []byte(withdrawn))
			return err
		},
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
	}

	server.remove("a.md") // served as a tombstone
	server.withdraw(withdrawn)
	report := b.mustRound()
	if got := fmt.Sprint(report.Redacted); got != "[a.md copy.md]" {
		t.Errorf("redacted %s", got)
	}
	if !b.told(syncer.EventRedacted, "a.md") || !b.told(syncer.EventRedacted, "copy.md") {
		t.Errorf("not told: %+v", b.events)
	}
	if b.read("b.md") != "b" || b.read("edited.md") == "" {
		t.Error("another file was touched")
	}
	if len(b.kept()) != 0 {
		t.Error("it is still in the keep")
	}
	if trash, err := b.store.Trashes(); err != nil || len(trash) != 0 {
		t.Errorf("it is still in the trash: %v, %v", trash, err)
	}
	if _, ok := b.store.Text(api.ChecksumOfString(withdrawn)); ok {
		t.Error("it is still a base text")
	}
	server.answer = nil
	b.write("edited.md", "mine")
	for _, path := range tracesOf(t, withdrawn, b.root) {
		t.Errorf("%s still holds it", path)
	}
	if report := b.mustRound(); len(report.Redacted) > 0 || len(report.Downloaded) > 0 {
		t.Errorf("the next round finds something to do: %+v", report)
	}
}

// An old version was withdrawn and a newer one stands: the file that still holds the
// old one gets the new one.
func TestRedactedVersionGivesWayToTheNextOne(t *testing.T) {
	server := newFake()
	server.set("a.md", "old")
	b := newBox(t, server)
	b.mustRound()
	server.set("a.md", "new")
	server.withdraw("old")
	b.mustRound()
	if got := b.read("a.md"); got != "new" {
		t.Errorf("the file holds %q", got)
	}
	if found := tracesOf(t, "old", filepath.Join(b.root, ".teammem", "old")); len(found) > 0 {
		t.Errorf("%v still hold it", found)
	}
}

// What cannot be removed is asked for again, and told.
func TestRedactionIsTriedAgain(t *testing.T) {
	server := newFake()
	server.set("a.md", "withdrawn")
	b := newBox(t, server)
	b.mustRound()
	server.remove("a.md")
	server.withdraw("withdrawn")
	fails := &failingMemory{Store: b.store}
	b.memory = fails
	b.restart()
	b.mustRound()
	if !b.told(syncer.EventFailed, "") {
		t.Errorf("not told: %+v", b.events)
	}
	fails.healed = true
	b.mustRound()
	if _, ok := b.store.Text(api.ChecksumOfString("withdrawn")); ok {
		t.Error("it is still a base text")
	}
	gets := server.gets
	server.answer = nil
	b.mustRound()
	if b.s.Agreed().Version != server.version || server.gets != gets+1 {
		t.Errorf("version %d of %d", b.s.Agreed().Version, server.version)
	}
}

type failingMemory struct {
	*state.Store
	healed bool
}

func (m *failingMemory) Redact(sums []api.Checksum) error {
	if !m.healed {
		return fs.ErrPermission
	}
	return m.Store.Redact(sums)
}

// A server that withdraws most of what is here is a fault until a person agrees.
func TestRedactionOfMostFilesAsks(t *testing.T) {
	server := newFake()
	var texts []string
	for i := range 12 {
		texts = append(texts, fmt.Sprint("text ", i))
		server.set(api.Key(fmt.Sprintf("n%02d.md", i)), texts[i])
	}
	b := newBox(t, server)
	b.mustRound()
	for i := range 12 {
		server.remove(api.Key(fmt.Sprintf("n%02d.md", i)))
	}
	server.withdraw(texts...)
	if _, err := b.round(); err == nil {
		t.Fatal("it went ahead")
	}
	if len(b.files()) != 12 {
		t.Errorf("files: %v", b.files())
	}
}
