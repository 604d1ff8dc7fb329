package syncer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/syncer"
)

// Two clients see each other's edits, and then nothing more is sent.
func TestTwoClientsConverge(t *testing.T) {
	f := newFake()
	a, b := newBox(t, f), newBox(t, f)
	a.write("topic.md", "one\r\n")
	a.write("MEMORY.md", "- [T](topic.md) — one\n")
	a.mustRound()
	b.mustRound()
	if got := b.read("topic.md"); got != "one\r\n" {
		t.Fatalf("B has %q", got)
	}
	b.write("topic.md", "two\r\n")
	b.mustRound()
	a.mustRound()
	if got := a.read("topic.md"); got != "two\r\n" {
		t.Fatalf("A has %q", got)
	}
	puts := f.puts
	for range 5 {
		a.mustRound()
		b.mustRound()
	}
	if f.puts != puts {
		t.Errorf("%d further pushes with nothing to push", f.puts-puts)
	}
}

// BR-15: the reply is lost, or somebody writes between try and retry.
func TestLostReply(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	a.write("x.md", "mine")
	f.after = func(api.Push) error { return lost() }
	if _, err := a.round(); err == nil {
		t.Fatal("a lost reply is no success")
	}
	f.after = nil
	version := f.version
	a.mustRound()
	if f.version != version {
		t.Errorf("the retry made version %d of %d", f.version, version)
	}
	if len(a.kept()) > 0 {
		t.Error("a false conflict")
	}
	t.Run("with a team-mate in between", func(t *testing.T) {
		f := newFake()
		a := newBox(t, f)
		a.write("x.md", "mine")
		f.after = func(api.Push) error { f.set("x.md", "theirs"); return lost() }
		if _, err := a.round(); err == nil {
			t.Fatal("a lost reply is no success")
		}
		f.after = nil
		a.mustRound()
		if a.read("x.md") != "theirs" || len(a.kept()) != 1 {
			t.Errorf("file %q, kept %v", a.read("x.md"), a.kept())
		}
	})
}

// BR-15 (c), C9: a server that answers 412 for ever is not asked for ever.
func TestEndlessConflict(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	a.write("x.md", "mine")
	f.before = func(api.Push) error {
		return api.ConflictError("stale", f.version, f.checksum(), nil)
	}
	_, err := a.round()
	if api.CodeOf(err) != api.Conflict {
		t.Fatalf("got %v", err)
	}
	if f.puts > 5 {
		t.Errorf("%d pushes", f.puts)
	}
	f.before = nil
	a.mustRound()
	if f.rows["x.md"].text != "mine" {
		t.Error("the edit did not go out afterwards")
	}
}

// After a 412 the plan is made anew as long as team-mates write.
func TestBusyTeam(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	a.opts.PerKey = false
	a.restart()
	a.write("x.md", "mine")
	left := 12
	f.before = func(api.Push) error {
		if left--; left >= 0 {
			f.set(api.Key(fmt.Sprintf("other%d.md", left)), "theirs")
		}
		return nil
	}
	a.mustRound()
	if f.rows["x.md"].text != "mine" {
		t.Error("the edit did not get in")
	}
	if len(a.files()) != 13 {
		t.Errorf("files: %v", a.files())
	}
}

// BR-15 (d), 1.8: batches of 200,000 bytes, topics before the index, each on the
// reply of the one before.
func TestBatches(t *testing.T) {
	for _, perKey := range []bool{true, false} {
		f := newFake()
		a := newBox(t, f)
		a.opts.PerKey = perKey
		a.restart()
		var order []string
		f.before = func(push api.Push) error {
			body, err := remote.EncodePush(push)
			if err != nil {
				t.Fatal(err)
			}
			if len(body) > api.DefaultLimits.BatchBytes && len(push.Entries) > 1 {
				t.Errorf("a body of %d bytes with %d entries", len(body), len(push.Entries))
			}
			for _, key := range api.SortedKeys(push.Entries) {
				order = append(order, string(key))
			}
			return nil
		}
		a.write("A.md", strings.Repeat("a", 90_000))
		a.write("MEMORY.md", "- [a](A.md)\n")
		a.write("a.txt", strings.Repeat("\"", 90_000)) // twice as long in JSON
		a.write("b.md", strings.Repeat("b", 249_999))
		a.write("c.md", strings.Repeat("\x01", 100_000)) // six times as long
		a.mustRound()
		if got := strings.Join(order, " "); got != "A.md a.txt b.md c.md MEMORY.md" {
			t.Errorf("order %s", got)
		}
		if len(f.rows) != 5 {
			t.Errorf("%d entries at the server", len(f.rows))
		}
	}
}

// BR-17: nothing but a tombstone deletes.
func TestNothingDeletesButTombstones(t *testing.T) {
	for name, answer := range map[string]func(remote.Answer) remote.Answer{
		"an empty list": func(a remote.Answer) remote.Answer {
			a.Memory = api.Memory{OrganizationID: "o", Repo: repo, Version: 99, Epoch: "e1", Checksum: api.ChecksumOf(nil)}
			return remote.Answer{Memory: a.Memory}
		},
		"no memory": func(remote.Answer) remote.Answer { return remote.Answer{NoMemory: true} },
		"another organization": func(a remote.Answer) remote.Answer {
			a.Memory.OrganizationID, a.NotModified = "other", false
			a.Memory.Repo = repo
			return a
		},
		"an older version": func(a remote.Answer) remote.Answer {
			return remote.Answer{Memory: api.Memory{OrganizationID: "o", Repo: repo, Version: 0, Epoch: "e1", Checksum: api.ChecksumOf(nil)}}
		},
		"another epoch": func(a remote.Answer) remote.Answer {
			return remote.Answer{Memory: api.Memory{OrganizationID: "o", Repo: repo, Version: 99, Epoch: "e2", Checksum: api.ChecksumOf(nil)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			a := newBox(t, f)
			for i := range 40 {
				a.write(fmt.Sprintf("f%02d.md", i), "text")
			}
			a.mustRound()
			puts := f.puts
			f.answer = answer
			_, err := a.round()
			if !errors.Is(err, syncer.ErrHalted) {
				t.Errorf("got %v, want a halt", err)
			}
			if len(a.files()) != 40 || f.puts != puts {
				t.Errorf("%d files left, %d pushes", len(a.files()), f.puts-puts)
			}
			if a.s.Agreed().Halted == "" {
				t.Error("the state does not say that it stopped")
			}
			f.answer = nil
			a.mustRound()
			if a.s.Agreed().Halted != "" {
				t.Error("it did not go on by itself when the server was well again")
			}
		})
	}
}

// BR-18: a restored server gets the newer files back, and nothing is overwritten.
func TestRestoredServer(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	a.write("x.md", "old")
	a.write("z.md", "same")
	a.mustRound()
	a.write("x.md", "new")
	a.write("y.md", "since")
	a.mustRound()
	f.epoch, f.version = "e2", 1
	f.rows = map[api.Key]fakeRow{"x.md": {text: "old", version: 1}, "z.md": {text: "same", version: 1}}
	if _, err := a.round(); !errors.Is(err, syncer.ErrHalted) {
		t.Fatalf("got %v, want a halt", err)
	}
	if a.read("x.md") != "new" || a.read("y.md") != "since" {
		t.Fatal("an edit is gone")
	}
	a.opts.Accept = true
	a.restart()
	a.mustRound()
	if f.rows["x.md"].text != "new" || f.rows["y.md"].text != "since" {
		t.Errorf("the server has %v", f.rows)
	}
}

// A client that was behind when the server was restored does not push its older
// text over what another one has offered meanwhile.
func TestRestoredServerAndAClientBehind(t *testing.T) {
	f := newFake()
	a, b := newBox(t, f), newBox(t, f)
	a.write("x.md", "one")
	a.mustRound()
	b.mustRound()
	a.write("x.md", "two")
	a.mustRound()
	// The backup is older than both; A offers first.
	f.epoch, f.version = "e2", 0
	f.rows = map[api.Key]fakeRow{}
	f.set("other.md", "of the backup")
	for _, c := range []*box{a, b} {
		c.opts.Accept = true
		c.restart()
		c.mustRound()
	}
	if f.rows["x.md"].text != "two" || b.read("x.md") != "two" {
		t.Errorf("the server has %q, B has %q", f.rows["x.md"].text, b.read("x.md"))
	}
	if kept := b.kept(); len(kept) != 1 || kept[0].Key != "x.md" {
		t.Errorf("B kept %v", kept)
	}
}

// BR-20: the root disappears or is another one.
func TestRootVanishes(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	a.write("x.md", "text")
	a.mustRound()
	away := a.root + ".bak"
	puts := f.puts
	halts := func(what string) {
		t.Helper()
		if _, err := a.round(); !errors.Is(err, syncer.ErrHalted) {
			t.Errorf("%s: got %v, want a halt", what, err)
		}
		if f.puts != puts {
			t.Errorf("%s: something was sent", what)
		}
	}
	move(t, a.root, away)
	halts("gone")
	if err := os.Mkdir(a.root, 0o755); err != nil {
		t.Fatal(err)
	}
	halts("an empty one in its place")
	a.write("other.md", "another project")
	halts("another one in its place")
	move(t, a.root, a.root+".other")
	move(t, away, a.root)
	a.write("x.md", "edited meanwhile")
	a.mustRound()
	if f.rows["x.md"].text != "edited meanwhile" {
		t.Error("it did not go on by itself")
	}
}

// BR-23: an edit that was not pushed yet is preserved before the server's text
// takes the file.
func TestUnpushedEditIsKept(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	a.write("x.md", "v1\n")
	a.mustRound()
	a.write("x.md", "v2\n")
	f.set("x.md", "v3\n")
	a.mustRound()
	if a.read("x.md") != "v3\n" {
		t.Errorf("file: %q", a.read("x.md"))
	}
	kept := a.kept()
	if len(kept) != 1 {
		t.Fatalf("kept: %v", kept)
	}
	text, err := a.store.KeptText(kept[0].ID)
	if err != nil || string(text) != "v2\n" {
		t.Errorf("kept %q, %v", text, err)
	}
	if !a.told(syncer.EventConflict, "x.md") {
		t.Errorf("events: %v", a.events)
	}
}

// BR-22: two writers append to the index; both lines stay.
func TestBothLinesOfTheIndexStay(t *testing.T) {
	f := newFake()
	a, b := newBox(t, f), newBox(t, f)
	base := "- [One](one.md) — first\n"
	a.write("MEMORY.md", base)
	a.mustRound()
	b.mustRound()
	a.write("MEMORY.md", base+"- [A](a.md) — of A\n")
	b.write("MEMORY.md", base+"- [B](b.md) — of B\n")
	a.mustRound()
	b.mustRound()
	a.mustRound()
	got := a.read("MEMORY.md")
	if got != b.read("MEMORY.md") || !strings.Contains(got, "of A") || !strings.Contains(got, "of B") {
		t.Errorf("A has %q, B has %q", got, b.read("MEMORY.md"))
	}
}

// BR-04: a change of spelling is one change, everywhere.
func TestRespelling(t *testing.T) {
	f := newFake()
	a, b := newBox(t, f), newBox(t, f)
	a.write("Topic.md", "text")
	a.mustRound()
	b.mustRound()
	move(t, filepath.Join(a.root, "Topic.md"), filepath.Join(a.root, "topic.md"))
	a.mustRound()
	b.mustRound()
	for _, c := range []*box{a, b} {
		if got := strings.Join(c.files(), " "); got != "topic.md" {
			t.Errorf("files: %s", got)
		}
	}
	puts := f.puts
	a.mustRound()
	b.mustRound()
	if f.puts != puts {
		t.Error("ping-pong")
	}
}

// C7: a file with a secret stays home, alone, is named once, and goes out when it
// is mended.
func TestHeldFile(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	a.write("good.md", "fine")
	a.write("bad.md", "one\nSECRET\n")
	a.mustRound()
	if _, there := f.rows["bad.md"]; there || f.rows["good.md"].text != "fine" {
		t.Fatalf("the server has %v", f.rows)
	}
	if !a.told(syncer.EventHeld, "bad.md") || a.s.Agreed().Refused["bad.md"].Line != 2 {
		t.Errorf("events %v, refused %v", a.events, a.s.Agreed().Refused)
	}
	a.mustRound()
	if a.told(syncer.EventHeld, "bad.md") {
		t.Error("named twice")
	}
	a.write("bad.md", "one\n")
	a.mustRound()
	if f.rows["bad.md"].text != "one\n" || len(a.s.Agreed().Refused) > 0 {
		t.Error("the mended file did not go out")
	}
}

// BR-38: what the server refuses for good is named and not sent again until it
// changes, and the rest goes on; a limit that is raised lets it in.
func TestRefusedEntry(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	f.before = func(push api.Push) error {
		if _, ok := push.Entries["big.md"]; ok {
			return &api.Error{Code: api.RequestTooLarge, Message: "too large", Details: api.Details{ErrorCode: api.ErrorCodeEntryTooLarge, MaxBytes: 3}}
		}
		return nil
	}
	for _, key := range []string{"a.md", "b.md", "big.md", "c.md"} {
		a.write(key, "text")
	}
	a.mustRound()
	if len(f.rows) != 3 {
		t.Fatalf("the server has %v", f.rows)
	}
	puts := f.puts
	a.mustRound()
	if f.puts != puts {
		t.Error("sent again though nothing changed")
	}
	f.before = nil
	limits := api.DefaultLimits
	limits.EntryBytes = 300_000
	a.s.SetLimits(limits, true)
	a.mustRound()
	if len(f.rows) != 4 {
		t.Error("the raised limit did not let it in")
	}
}

// Deletions (protocol 2.2): an unmodified file goes to the trash, an edited one
// wins, and a file put back by hand is restored for everyone.
func TestDeletions(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	a.write("gone.md", "text")
	a.write("edited.md", "text")
	a.mustRound()
	f.remove("gone.md")
	f.remove("edited.md")
	a.write("edited.md", "text, edited")
	a.mustRound()
	if a.read("gone.md") != "" || f.rows["edited.md"].text != "text, edited" || f.rows["edited.md"].deleted {
		t.Errorf("files %v, server %v", a.files(), f.rows)
	}
	trash, err := a.store.Trashes()
	if err != nil || len(trash) != 1 || trash[0].Key != "gone.md" {
		t.Errorf("trash %v, %v", trash, err)
	}
	a.write("gone.md", "text")
	a.restart()
	a.mustRound()
	if a.read("gone.md") != "text" || f.rows["gone.md"].deleted {
		t.Error("put back by hand, and not restored")
	}
}

// A file deleted by hand comes back, and with Propagate is deleted for everyone;
// many at once ask (C10, BR-21).
func TestDeletedByHand(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	for i := range 10 {
		a.write(fmt.Sprintf("f%d.md", i), "text")
	}
	a.mustRound()
	remove(t, a, "f0.md")
	a.mustRound()
	if a.read("f0.md") != "text" || !a.told(syncer.EventRestored, "f0.md") {
		t.Errorf("files %v, events %v", a.files(), a.events)
	}
	a.opts.Propagate = true
	a.restart()
	remove(t, a, "f0.md")
	a.mustRound()
	if !f.rows["f0.md"].deleted {
		t.Error("not deleted for everyone")
	}
	for i := 1; i < 5; i++ {
		remove(t, a, fmt.Sprintf("f%d.md", i))
	}
	if _, err := a.round(); !errors.Is(err, syncer.ErrHalted) {
		t.Errorf("four of nine at once: got %v, want a halt", err)
	}
	if f.rows["f1.md"].deleted {
		t.Error("deleted without a yes")
	}
}

// C10: a pull that would take most away asks.
func TestPullBrake(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	for i := range 12 {
		a.write(fmt.Sprintf("f%02d.md", i), "some text")
	}
	a.mustRound()
	for i := range 4 {
		f.remove(api.Key(fmt.Sprintf("f%02d.md", i)))
	}
	for i := 4; i < 8; i++ {
		f.set(api.Key(fmt.Sprintf("f%02d.md", i)), "")
	}
	if _, err := a.round(); !errors.Is(err, syncer.ErrHalted) {
		t.Fatalf("got %v, want a halt", err)
	}
	if len(a.files()) != 12 || a.read("f04.md") != "some text" {
		t.Error("something was changed")
	}
	a.opts.Accept = true
	a.restart()
	a.mustRound()
	if len(a.files()) != 8 {
		t.Errorf("%d files after the yes", len(a.files()))
	}
}

// BR-06 and C11: what a hostile or damaged answer names is not written; the rest
// of it is.
func TestHostileAnswer(t *testing.T) {
	f := newFake()
	f.set("good.md", "fine")
	a := newBox(t, f)
	f.answer = func(answer remote.Answer) remote.Answer {
		for _, key := range []api.Key{"../x.md", "/x.md", "a/../../x.md", `..\x.md`, "C:x.md", "a\x00b.md", "", ".", ".git/config", ".hidden/x.md", "%2e%2e/x.md"} {
			answer.Memory.Content.Entries[key] = "evil"
		}
		answer.Memory.Content.Entries["lie.md"] = "text"
		answer.Memory.Content.EntryChecksums["lie.md"] = api.ChecksumOfString("other text")
		answer.Memory.Content.Entries["large.md"] = strings.Repeat("x", api.DefaultLimits.EntryBytes+1)
		return answer
	}
	a.mustRound()
	if got := strings.Join(a.files(), " "); got != "good.md" {
		t.Errorf("files: %s", got)
	}
	entries, err := os.ReadDir(filepath.Dir(a.root))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the root: %v, %v", entries, err)
	}
	if !a.told(syncer.EventSkipped, "lie.md") || !a.told(syncer.EventSkipped, "large.md") {
		t.Errorf("events: %v", a.events)
	}
}

// C4: losing the state costs a comparison and nothing else.
func TestStateLost(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	a.write("x.md", "text")
	a.mustRound()
	if err := os.Remove(filepath.Join(a.store.Dir(), "state")); err != nil {
		t.Fatal(err)
	}
	a.restart()
	puts := f.puts
	report := a.mustRound()
	if f.puts != puts || len(report.Downloaded) > 0 || a.read("x.md") != "text" || len(a.kept()) > 0 {
		t.Errorf("report %+v", report)
	}
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, b *box, key string) {
	t.Helper()
	if err := os.Remove(filepath.Join(b.root, filepath.FromSlash(key))); err != nil {
		t.Fatal(err)
	}
}

// A repo that is full takes the next entry when another has gone, without an edit of the
// one that waits; until then it is not asked again and again.
func TestRoomAgain(t *testing.T) {
	const most = 2
	f := newFake()
	f.before = func(push api.Push) error {
		live := map[api.Key]bool{}
		for key, row := range f.rows {
			live[key] = !row.deleted
		}
		for key := range push.Entries {
			if !live[key] && len(f.memory(0).Content.Entries) >= most {
				return &api.Error{Code: api.RequestTooLarge, Message: "the repo is full", Details: api.Details{ErrorCode: api.ErrorCodeTooManyEntries, MaxEntries: most}}
			}
		}
		return nil
	}
	f.set("a.md", "theirs")
	f.set("b.md", "theirs")
	a := newBox(t, f)
	a.write("mine.md", "mine")
	a.mustRound()
	if a.s.Agreed().Refused["mine.md"].Kind != syncer.RefusedLimit {
		t.Fatalf("refused: %+v", a.s.Agreed().Refused)
	}
	puts := f.puts
	f.set("a.md", "edited")
	a.mustRound()
	if f.puts != puts {
		t.Errorf("%d pushes into a full repo", f.puts-puts)
	}
	f.remove("b.md")
	a.mustRound()
	if f.rows["mine.md"].text != "mine" || len(a.s.Agreed().Refused) != 0 {
		t.Errorf("there is room, and it did not go out: %+v", a.s.Agreed().Refused)
	}
}

// What an organization's limits leave no room for is held, told once for all of it, and
// not asked for file by file; what still fits goes out, and the rest when there is room.
func TestNoRoomInTheOrganization(t *testing.T) {
	const files = 40
	for _, c := range []struct {
		name string
		no   func(f *fakeServer, push api.Push) *api.Error
		fit  int // of the files
		puts int // at most, in the first round
	}{
		{"repos", func(*fakeServer, api.Push) *api.Error {
			return &api.Error{Code: api.RequestTooLarge, Message: "no repo more", Details: api.Details{ErrorCode: api.ErrorCodeTooManyRepos, MaxRepos: 3}}
		}, 0, 1},
		{"bytes", func(f *fakeServer, push api.Push) *api.Error {
			const most = 25
			var size int64
			for _, row := range f.rows {
				size += int64(len(row.text))
			}
			for _, text := range push.Entries {
				size += int64(len(text))
			}
			if size <= most {
				return nil
			}
			return &api.Error{Code: api.RequestTooLarge, Message: "no byte more", Details: api.Details{ErrorCode: api.ErrorCodeRepoTooLarge, MaxBytes: most, ReceivedBytes: size}}
		}, 6, 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			f.before = func(push api.Push) error {
				if e := c.no(f, push); e != nil {
					return e
				}
				return nil
			}
			a := newBox(t, f)
			for i := range files {
				a.write(fmt.Sprintf("f%02d.md", i), "text")
			}
			a.mustRound()
			if len(f.rows) != c.fit || f.puts > c.puts {
				t.Errorf("%d files of %d went out, by %d pushes; want %d by at most %d", len(f.rows), files, f.puts, c.fit, c.puts)
			}
			told := 0
			for _, e := range a.events {
				if e.Kind == syncer.EventRefused {
					told++
					if len(e.Keys) != files-c.fit || !strings.Contains(e.Hint, "by itself") {
						t.Errorf("told: %+v", e)
					}
				}
			}
			if told != 1 {
				t.Errorf("told %d times", told)
			}
			puts := f.puts
			a.mustRound()
			if f.puts != puts {
				t.Error("asked again though nothing says that there is room")
			}
			if !a.s.WaitsForLimits() || !a.s.TryRoom() {
				t.Error("nothing waits for room")
			}
			a.mustRound()
			for _, e := range a.events {
				if e.Kind == syncer.EventRefused {
					t.Errorf("told again: %+v", e)
				}
			}
			f.before = nil
			a.s.TryRoom()
			a.mustRound()
			if len(f.rows) != files || len(a.s.Agreed().Refused) != 0 || a.s.TryRoom() {
				t.Errorf("there is room: %d files went out, refused are %v", len(f.rows), a.s.Agreed().Refused)
			}
		})
	}
}

// Exactly the bytes of a deleted entry, put back by hand, are a wish to restore where
// bases by key can say so. Elsewhere the server would only answer well, so that is told,
// and the next edit goes out.
func TestDeletedBytesPutBack(t *testing.T) {
	for _, perKey := range []bool{true, false} {
		f := newFake()
		a := newBox(t, f)
		a.opts.PerKey = perKey
		a.restart()
		a.write("x.md", "text")
		a.mustRound()
		f.remove("x.md")
		a.mustRound()
		a.write("x.md", "text")
		a.mustRound()
		if held := a.s.Agreed().Refused["x.md"].Kind == syncer.RefusedServer; f.rows["x.md"].deleted != held || held == perKey {
			t.Errorf("bases by key %t: deleted at the server %t, and here held %t", perKey, f.rows["x.md"].deleted, held)
		}
		a.write("x.md", "another text")
		a.mustRound()
		if row := f.rows["x.md"]; row.deleted || row.text != "another text" || len(a.s.Agreed().Refused) != 0 {
			t.Errorf("bases by key %t: the edit did not go out: %+v", perKey, row)
		}
	}
}
