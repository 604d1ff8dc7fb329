package syncer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/syncer"
)

// The tests of this file are schedules that the simulation found.

// failing is a directory that cannot be written to for a while.
type failing struct {
	*memdir.Dir
	full bool
}

var errFull = errors.New("no space left on device")

func (f *failing) Write(now time.Time, key api.Key, content []byte, modified time.Time, expect *memdir.File) (memdir.File, error) {
	if f.full {
		return memdir.File{}, errFull
	}
	return f.Dir.Write(now, key, content, modified, expect)
}

func (f *failing) Remove(key api.Key, expect memdir.File) error {
	if f.full {
		return errFull
	}
	return f.Dir.Remove(key, expect)
}

func newFailingBox(t *testing.T, server syncer.Server) (*box, *failing) {
	b := newBox(t, server)
	dir := &failing{Dir: b.dir}
	b.s.SetDirectory(dir)
	return b, dir
}

// A client that could not take all of the news believes no "nothing changed": the set
// may have become again what it was before them.
func TestNewsTakenInPart(t *testing.T) {
	f := newFake()
	f.set("x.md", "one")
	b, dir := newFailingBox(t, f)
	b.mustRound()
	f.set("y.md", "two")
	dir.full = true
	b.mustRound()
	dir.full = false
	f.remove("y.md")
	b.mustRound()
	if got := strings.Join(b.files(), " "); got != "x.md" {
		t.Errorf("the directory holds %s", got)
	}
}

// A deletion that could not be carried out is no reason to ask a person.
func TestRemovalFails(t *testing.T) {
	f := newFake()
	f.set("x.md", "one")
	b, dir := newFailingBox(t, f)
	b.mustRound()
	f.remove("x.md")
	dir.full = true
	b.mustRound()
	if _, err := b.s.Round(context.Background(), syncer.Edits); err != nil {
		t.Errorf("a look at the edits: %v", err)
	}
	dir.full = false
	b.mustRound()
	if got := b.files(); len(got) != 0 {
		t.Errorf("the directory holds %s", got)
	}
}

// A reply that was lost may have carried more than what is sent again.
func TestLostReplyAndSecondThoughts(t *testing.T) {
	f := newFake()
	f.set("y.md", "one")
	b := newBox(t, f)
	b.mustRound()
	b.write("x.md", "new")
	b.write("y.md", "two")
	f.after = func(api.Push) error { return lost() }
	if _, err := b.s.Round(context.Background(), syncer.Edits); err == nil {
		t.Fatal("a lost reply is no success")
	}
	f.after = nil
	b.write("y.md", "one")
	if _, err := b.s.Round(context.Background(), syncer.Edits); err != nil {
		t.Fatal(err)
	}
	b.mustRound()
	if got, want := b.read("y.md"), f.rows["y.md"].text; got != want {
		t.Errorf("y.md is %q here and %q at the server", got, want)
	}
}

// The server names no tombstone that a live twin makes void, so the twin itself says
// that the old spelling is gone.
func TestRespelledThereEditedHere(t *testing.T) {
	f := newFake()
	f.set("a.md", "one\n")
	b := newBox(t, f)
	b.mustRound()
	b.write("a.md", "one\nmine\n")
	f.remove("a.md")
	f.set("A.md", "one\n")
	f.answer = func(answer remote.Answer) remote.Answer {
		delete(answer.Memory.Deleted, "a.md")
		return answer
	}
	b.mustRound()
	if f.rows["A.md"].text != "one\nmine\n" || !f.rows["a.md"].deleted {
		t.Errorf("the server holds %+v", f.rows)
	}
	if got := strings.Join(b.files(), " "); got != "A.md" {
		t.Errorf("the directory holds %s", got)
	}
}

// An offer to a restored server that is cut short is not forgotten: the older texts
// there are not taken for a team-mate's.
func TestOfferCutShort(t *testing.T) {
	f := newFake()
	f.set("x.md", "older")
	f.set("z.md", "z")
	b := newBox(t, f)
	b.mustRound()
	b.write("x.md", "newer")
	b.write("y.md", "newest")
	b.mustRound()
	f.version, f.epoch = 2, "e2"
	delete(f.rows, "y.md")
	f.rows["x.md"] = fakeRow{text: "older", version: 1}

	f.before = func(api.Push) error { return lost() }
	b.opts.Accept = true
	b.restart()
	if _, err := b.round(); err == nil {
		t.Fatal("the push was lost")
	}
	f.before = nil
	b.opts.Accept = false
	b.restart()
	b.mustRound()
	if b.read("x.md") != "newer" || f.rows["x.md"].text != "newer" || f.rows["y.md"].text != "newest" {
		t.Errorf("x.md is %q; the server holds %+v", b.read("x.md"), f.rows)
	}
}

// A push does not paper over a restore: what it wrote is the next version by number,
// in another life of the server.
func TestPushAfterUnnoticedRestore(t *testing.T) {
	f := newFake()
	f.set("x.md", "one")
	f.set("y.md", "two")
	b := newBox(t, f)
	b.mustRound()
	f.epoch = "e2" // a backup that lacks y.md, and one change since
	delete(f.rows, "y.md")
	b.write("z.md", "new")
	if _, err := b.s.Round(context.Background(), syncer.Edits); err != nil {
		t.Fatal(err)
	}
	if _, err := b.round(); !errors.Is(err, syncer.ErrHalted) {
		t.Errorf("got %v, want a question", err)
	}
}

// A push that finds all of its texts there already is at the number of our own next
// version, but a team-mate made it and wrote more.
func TestPushThatWasThereAlready(t *testing.T) {
	f := newFake()
	f.set("x.md", "one")
	b := newBox(t, f)
	b.mustRound()
	b.write("y.md", "two")
	f.version++
	f.rows["y.md"] = fakeRow{text: "two", version: f.version}
	f.rows["z.md"] = fakeRow{text: "three", version: f.version}
	if _, err := b.s.Round(context.Background(), syncer.Edits); err != nil {
		t.Fatal(err)
	}
	b.mustRound()
	if got := strings.Join(b.files(), " "); got != "x.md y.md z.md" {
		t.Errorf("the directory holds %s", got)
	}
	b.settled(f)
}

// A name that the server refused for a key that had come meanwhile is free again when
// that key is gone, though the set is then what it was before.
func TestRefusedForAKeyThatWent(t *testing.T) {
	f := newFake()
	f.set("x.md", "one")
	b := newBox(t, f)
	b.mustRound()
	f.set("sub/C.md", "theirs")
	b.write("sub/c.md", "mine")
	f.before = func(api.Push) error { return api.TwinError("sub/c.md", "sub/C.md") }
	if _, err := b.s.Round(context.Background(), syncer.Edits); err != nil {
		t.Fatal(err)
	}
	f.before = nil
	f.remove("sub/C.md")
	b.mustRound()
	if got := f.rows["sub/c.md"].text; got != "mine" {
		t.Errorf("sub/c.md is %q at the server", got)
	}
	b.settled(f)
}

// A client that has lost its state asks before it pushes: what looks new to it may have
// been deleted.
func TestStateLostThenEdits(t *testing.T) {
	f := newFake()
	f.set("x.md", "one")
	f.remove("x.md")
	b := newBox(t, f)
	b.write("x.md", "one")
	if _, err := b.s.Round(context.Background(), syncer.Edits); err != nil {
		t.Fatal(err)
	}
	if !f.rows["x.md"].deleted || len(b.files()) != 0 {
		t.Errorf("the server holds %+v, the directory %s", f.rows, b.files())
	}
}

// A client that has lost its state cannot hear of a tombstone that a live twin makes
// void, and holds its file beside the twin. When the twin is deleted the old tombstone
// counts again, and no news since then names it.
func TestTombstoneComesToLight(t *testing.T) {
	f := newFake()
	f.set("x/C.md", "one")
	f.remove("x/C.md")
	f.set("x/c.md", "two")
	b := newBox(t, f)
	b.write("x/C.md", "one")
	b.mustRound()
	if !b.told(syncer.EventRefused, "x/C.md") {
		t.Errorf("no word of the twin: %v", b.events)
	}
	f.remove("x/c.md")
	b.mustRound()
	if len(b.files()) != 0 || f.puts != 0 {
		t.Errorf("the directory holds %s after %d PUTs", b.files(), f.puts)
	}
}

// A restore is noticed by a client that has pushed and has not yet heard the server in
// full.
func TestRestoredAfterTheFirstPush(t *testing.T) {
	f := newFake()
	b := newBox(t, f)
	b.write("y.md", "mine")
	f.before = func(api.Push) error { f.set("x.md", "one"); return nil }
	if _, err := b.s.Round(context.Background(), syncer.Edits); err != nil {
		t.Fatal(err)
	}
	f.before = nil
	f.epoch = "e2"
	f.set("y.md", "of another life")
	if _, err := b.round(); !errors.Is(err, syncer.ErrHalted) || b.read("y.md") != "mine" {
		t.Errorf("got %v, want a question; y.md is %q", err, b.read("y.md"))
	}
}

// A file whose key was deleted goes, whatever its name would clash with.
func TestRemovalBeforeClash(t *testing.T) {
	x, y := api.ChecksumOfString("x"), api.ChecksumOfString("y")
	plan := syncer.Plan(syncer.Input{
		Local:   map[api.Key]syncer.Local{"A.md": {Checksum: x}, "a.md": {Checksum: y}},
		Base:    map[api.Key]api.Checksum{"A.md": x, "a.md": y},
		Deleted: map[api.Key]api.Checksum{"A.md": x, "a.md": y},
	})
	if len(plan) != 2 || plan[0].Kind != syncer.Remove || plan[1].Kind != syncer.Remove {
		t.Errorf("the plan is %v", plan)
	}
}

// unflushed is a directory that cannot bring its names to the disk.
type unflushed struct{ *memdir.Dir }

func (unflushed) Flush() error { return errFull }

// The state is not saved before what it speaks of is on the disk.
func TestStateWaitsForTheDirectory(t *testing.T) {
	f := newFake()
	f.set("x.md", "one")
	b := newBox(t, f)
	b.s.SetDirectory(unflushed{b.dir})
	if _, err := b.round(); !errors.Is(err, errFull) || b.read("x.md") != "one" {
		t.Errorf("got %v, x.md is %q", err, b.read("x.md"))
	}
	agreed, err := b.store.Load()
	if err != nil || len(agreed.Entries) != 0 {
		t.Errorf("saved all the same: %+v, %v", agreed.Entries, err)
	}
	b.s.SetDirectory(b.dir)
	b.mustRound()
	if agreed, err = b.store.Load(); err != nil || agreed.Entries["x.md"].Base == "" {
		t.Errorf("not saved after the flush: %+v, %v", agreed.Entries, err)
	}
}

// TestSleptThroughAnEditAndItsDeletion: a file that nobody touched here goes, though what
// was deleted is a newer text; one that was edited stays, and its key comes back.
func TestSleptThroughAnEditAndItsDeletion(t *testing.T) {
	f := newFake()
	f.set("same.md", "one")
	f.set("edited.md", "one")
	b := newBox(t, f)
	b.mustRound()
	b.write("edited.md", "of ours")
	for _, key := range []api.Key{"same.md", "edited.md"} {
		f.set(key, "two")
		f.remove(key)
	}
	b.mustRound()
	b.mustRound()
	if f.rows["edited.md"].text != "of ours" || b.read("edited.md") != "of ours" {
		t.Errorf("the edit: the server has %q", f.rows["edited.md"].text)
	}
	if row := f.rows["same.md"]; !row.deleted || len(b.files()) != 1 {
		t.Errorf("the untouched one: %+v, the directory holds %s", row, b.files())
	}
}
