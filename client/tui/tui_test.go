package tui

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammem/api"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2026, 11, 30, 12, 4, 9, 0, time.FixedZone("", 3600))

// modes are the ways a line can look.
var modes = map[string]Options{
	"terminal": {OutTerminal: true, ErrTerminal: true, UTF8: true},
	"ascii":    {OutTerminal: true, ErrTerminal: true},
	"pipe":     {UTF8: true},
	"json":     {JSON: true, OutTerminal: true, ErrTerminal: true, UTF8: true},
	"quiet":    {Quiet: true, OutTerminal: true, ErrTerminal: true, UTF8: true},
	"colour":   {OutTerminal: true, ErrTerminal: true, UTF8: true, Colour: true},
}

// terminal writes both streams to one buffer, as a screen does.
func terminal(mode string) (*Terminal, *bytes.Buffer) {
	o := modes[mode]
	o.Now = func() time.Time { return noon.Add(11*time.Minute + 4*time.Second) }
	o.Location = noon.Location()
	o.Home = "/home/dana"
	var screen bytes.Buffer
	return New(&screen, &screen, o), &screen
}

// day is the example of looks.md, and what it lacks.
var day = []Event{
	{Time: noon, Kind: Pushed, Keys: []api.Key{"feedback_testing.md"}},
	{Time: noon.Add(32 * time.Second), Kind: Pulled, Keys: []api.Key{"project_release.md", "MEMORY.md"}, From: "Lee"},
	{Time: noon.Add(71 * time.Second), Kind: Merged, Keys: []api.Key{"MEMORY.md"}, From: "Sam"},
	{Time: noon.Add(113 * time.Second), Kind: Held, Keys: []api.Key{"notes.md"}, Text: "github-pat, line 14", Hint: "client secrets notes.md"},
	{Time: noon.Add(346 * time.Second), Kind: Kept, Keys: []api.Key{"project_db.md"}, Text: "Sam changed the same lines; theirs is in place, yours is kept", Hint: "client conflicts"},
	{Time: noon.Add(651 * time.Second), Kind: Waiting, Text: "server unreachable, 2 edits wait; next try in 30 s"},
	{Time: noon.Add(652 * time.Second), Kind: Pulled, Keys: []api.Key{"a.md", "b.md", "c.md", "d.md", "e.md"}},
	{Time: noon.Add(653 * time.Second), Kind: Merged, Keys: []api.Key{"MEMORY.md"}},
	{Time: noon.Add(654 * time.Second), Kind: Deleted, Keys: []api.Key{"old.md"}, From: "Lee", Hint: "client trash"},
	{Time: noon.Add(655 * time.Second), Kind: Restored, Keys: []api.Key{"old.md"}, Text: "back from the server; client rm deletes for everyone"},
	{Time: noon.Add(656 * time.Second), Kind: Skipped, Keys: []api.Key{"big.md"}, Text: "310 KB, limit 250 KB"},
	{Time: noon.Add(657 * time.Second), Kind: Stopped, Text: "a pull would remove 23 of 30 files", Hint: "client sync --accept"},
	{Time: noon.Add(658 * time.Second), Kind: Pulled, Keys: []api.Key{"\x1b[2Jwiped.md", "gnp.\u202edm", "日本語のメモ.md"}, From: "E\u0301va"},
	{Kind: Info, Text: "now"},
}

func TestEventsInEachMode(t *testing.T) {
	for mode := range modes {
		tty, screen := terminal(mode)
		tty.Opening(OpeningView{Repo: "acme/widgets", Server: "https://memory.acme.example", User: "dana", Dir: "/home/dana/.claude/projects/-home-dana-widgets/memory/team", Entries: 31})
		for _, e := range day {
			tty.Event(e)
		}
		golden(t, "events."+mode, screen.String())
	}
}

var statuses = []StatusView{
	{
		Repo: "acme/widgets", Server: "https://memory.acme.example", Dir: "/home/dana/team", State: InSync, Synced: noon.Add(11 * time.Minute), Running: true,
		Version: 1204, Entries: 31, Held: 1, Kept: 1,
		Lines: []StatusLine{
			{Kind: Held, Key: "notes.md", Text: "github-pat on line 14", Hint: "client secrets notes.md"},
			{Kind: Kept, Key: "project_db.md", Text: "kept since 12:09", Hint: "client conflicts show project_db.md"},
			{Kind: Skipped, Name: "link\n.md", Text: "a symbolic link"},
		},
	},
	{Repo: "acme/new", State: NeverSynced},
	{Repo: "acme/late", State: InSync, Synced: noon, Version: 3, Entries: 1},
	{Repo: "acme/away", State: Unreachable, Synced: noon.Add(-26 * time.Hour), ToPush: 2, Message: "connection refused", Hint: "client doctor"},
	{Repo: "acme/halted", State: Halted, Synced: noon.Add(10 * time.Minute), Message: "a pull would remove 23 of 30 files", Hint: "client sync --accept"},
}

func TestStatusInEachMode(t *testing.T) {
	for mode := range modes {
		tty, screen := terminal(mode)
		for _, v := range statuses {
			tty.Status(v)
		}
		tty.Rows([]Row{
			{Level: OK, Label: "server", Text: "https://memory.acme.example, 18 ms, clock differs by 0.4 s"},
			{Level: Warn, Label: "directory", Text: "the agent uses ~/work/.mem", Note: "settings.json", Cure: "client sync ~/work/.mem/team"},
			{Level: Failed, Label: "watcher", Text: "polling"},
		})
		tty.Rows([]Row{{Label: "root", Text: "/p/日本", Note: "holds .git"}, {Label: "repo", Text: "acme/widgets", Note: "owner and name at github.com"}})
		golden(t, "status."+mode, screen.String())
	}
}

// refused is an error as the client makes them.
type refused struct{}

func (refused) Error() string { return "the server refused 1 of 3 entries" }
func (refused) Details() []string {
	return []string{"notes.md   key is a directory of another key: notes.md/today.md"}
}
func (refused) Hint() string { return "rename one of the two; the other 2 entries are in" }

func TestErrorsInEachMode(t *testing.T) {
	for mode := range modes {
		tty, screen := terminal(mode)
		tty.Error(fmt.Errorf("push: %w", refused{}), "")
		tty.Error(errors.New("first\n  second\n\nthird \x1b[31m"), "do this")
		tty.Error(errors.New("alone"), "")
		tty.Warn("the token file can be read by others", "chmod 600 it")
		tty.Note("only for people")
		tty.Print("a result")
		golden(t, "errors."+mode, screen.String())
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the difference. Got\n%s", path, got)
	}
}

func TestResultsAndTalkGoApart(t *testing.T) {
	var out, talk bytes.Buffer
	tty := New(&out, &talk, Options{})
	tty.Event(Event{Time: noon, Kind: Pushed, Keys: []api.Key{"a.md"}})
	tty.Print("result")
	tty.Raw([]byte("bytes\r\n"))
	tty.Error(errors.New("fault"), "")
	tty.Note("note")
	if !strings.Contains(out.String(), "result\nbytes\r\n") || talk.String() != "error: fault\nnote\n" {
		t.Errorf("out %q, err %q", out.String(), talk.String())
	}
}

// A file's bytes go into a pipe as they are; a terminal is not steered by them.
func TestRawResults(t *testing.T) {
	const text = "a\tb\r\n\x1b[2J\x9b\u202e日本\xff\n\nlast"
	for mode, want := range map[string]string{"pipe": text, "terminal": "a\tb\n\\x1b[2J\\x9b\\u202e日本\\xff\n\nlast"} {
		tty, screen := terminal(mode)
		if tty.Raw([]byte(text)); screen.String() != want {
			t.Errorf("%s: %q, want %q", mode, screen.String(), want)
		}
	}
}

func TestEveryJSONLineIsOneObject(t *testing.T) {
	tty, screen := terminal("json")
	for _, e := range day {
		tty.Event(e)
	}
	last := day[len(day)-2].Keys
	if !strings.Contains(screen.String(), `"gnp.\u202edm"`) || last[1] != "gnp.\u202edm" {
		t.Error("a hidden character is not escaped")
	}
	for line := range strings.Lines(screen.String()) {
		var e struct {
			Time    time.Time
			Event   string
			Keys    []string
			Message string
		}
		if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), hidden) {
			t.Errorf("it would act on a terminal: %q", line)
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Event == "" || e.Keys == nil || e.Time.IsZero() {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestNothingIsCarriedByColourAlone(t *testing.T) {
	plain, coloured := map[string]string{}, map[string]string{}
	for mode, texts := range map[string]map[string]string{"terminal": plain, "colour": coloured} {
		for _, e := range day {
			tty, screen := terminal(mode)
			tty.Event(e)
			texts[string(e.Kind)+e.Text] = stripColour(screen.String())
		}
	}
	for name, text := range plain {
		if coloured[name] != text {
			t.Errorf("%q and %q", text, coloured[name])
		}
	}
}

func stripColour(text string) string {
	for {
		before, after, ok := strings.Cut(text, "\x1b[")
		if !ok {
			return text
		}
		_, after, _ = strings.Cut(after, "m")
		text = before + after
	}
}

func TestProgressAppearsAfterASecondAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tty, screen := terminal("terminal")
		p := tty.Progress("pulling", 1030, "entries")
		p.Add(100)
		time.Sleep(900 * time.Millisecond)
		synctest.Wait()
		if screen.Len() != 0 {
			t.Errorf("early: %q", screen)
		}
		p.Add(112)
		time.Sleep(150 * time.Millisecond)
		synctest.Wait()
		if got := screen.String(); got != "\r\x1b[Kpulling 212 of 1,030 entries" {
			t.Errorf("after a second: %q", got)
		}
		screen.Reset()
		for range 50 { // too fast to be worth a line each
			p.Add(1)
		}
		if screen.Len() != 0 {
			t.Errorf("redrawn too often: %q", screen)
		}
		tty.Print("a line")
		if got := screen.String(); got != "\r\x1b[Ka line\n\r\x1b[Kpulling 262 of 1,030 entries" {
			t.Errorf("a line beside it: %q", got)
		}
		screen.Reset()
		p.End()
		p.End()
		tty.Print("after")
		if got := screen.String(); got != "\r\x1b[Kafter\n" {
			t.Errorf("at the end: %q", got)
		}
	})
}

func TestNoProgressWhereNobodyLooks(t *testing.T) {
	for _, mode := range []string{"pipe", "json", "quiet"} {
		synctest.Test(t, func(t *testing.T) {
			tty, screen := terminal(mode)
			p := tty.Progress("pulling", 0, "entries")
			time.Sleep(time.Minute)
			synctest.Wait()
			p.Set(3, 4)
			p.End()
			if screen.Len() != 0 {
				t.Errorf("%s: %q", mode, screen)
			}
		})
	}
}

// The race detector looks on.
func TestManyMayWriteAtOnce(t *testing.T) {
	tty, screen := terminal("terminal")
	p := tty.Progress("pulling", 10, "entries")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				tty.Event(day[0])
				p.Add(1)
			}
		})
	}
	wg.Wait()
	p.End()
	if n := strings.Count(screen.String(), "feedback_testing.md\n"); n != 400 {
		t.Errorf("%d whole lines", n)
	}
}

func TestQuestions(t *testing.T) {
	for _, c := range []struct {
		name, typed string
		usual, want bool
		asked       string
	}{
		{"yes", "y\n", false, true, "Join? [y/N] "},
		{"Yes", "Yes\r\n", false, true, "Join? [y/N] "},
		{"no", "n\n", true, false, "Join? [Y/n] "},
		{"enter", "\n", false, false, "Join? [y/N] "},
		{"enter for yes", "\n", true, true, "Join? [Y/n] "},
		{"end of input", "", false, false, "Join? [y/N] \n"},
		{"a word, then yes", "perhaps\ny\n", false, true, "Join? [y/N] y or n\nJoin? [y/N] "},
		{"only words", "a\nb\nc\nd\n", false, false, strings.Repeat("Join? [y/N] y or n\n", 3)},
	} {
		var screen bytes.Buffer
		in := strings.NewReader(c.typed)
		tty := New(&screen, &screen, Options{In: in})
		if got := tty.Ask("Join?", c.usual); got != c.want || screen.String() != c.asked {
			t.Errorf("%s: %v, %q", c.name, got, screen.String())
		}
	}
	var screen bytes.Buffer
	if New(&screen, &screen, Options{}).Ask("Delete?", false) || !New(&screen, &screen, Options{Yes: true}).Ask("Delete?", false) || screen.Len() != 0 {
		t.Errorf("asked nobody: %q", screen.String())
	}
	two := New(&screen, &screen, Options{In: strings.NewReader("y\nn\n")})
	if !two.Ask("first", false) || two.Ask("second", true) {
		t.Error("the first answer took the second's")
	}
}

func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Number(0), "0"},
		{Number(999), "999"},
		{Number(1204), "1,204"},
		{Number(-1234567), "-1,234,567"},
		{Number(api.Version(1000)), "1,000"},
		{Count(1, "entry", "entries"), "1 entry"},
		{Count(0, "entry", "entries"), "0 entries"},
		{Count(1030, "entry", "entries"), "1,030 entries"},
		{Size(0), "0 bytes"},
		{Size(1), "1 byte"},
		{Size(999), "999 bytes"},
		{Size(1_000), "1 KB"},
		{Size(1_549), "1.5 KB"},
		{Size(9_960), "10 KB"},
		{Size(250_000), "250 KB"},
		{Size(999_949), "1,000 KB"},
		{Size(999_950), "1 MB"},
		{Size(4 << 20), "4.2 MB"},
		{Size(3_000_000_000), "3 GB"},
		{Age(-time.Hour), "just now"},
		{Age(4 * time.Second), "4 s ago"},
		{Age(90 * time.Second), "1 min ago"},
		{Age(23 * time.Hour), "23 h ago"},
		{Age(25 * time.Hour), "1 day ago"},
		{Age(47 * time.Hour), "1 day ago"},
		{Age(240 * time.Hour), "10 days ago"},
		{Age(3000 * time.Hour), "4 months ago"},
		{Age(20000 * time.Hour), "2 years ago"},
		{Wait(300 * time.Millisecond), "300 ms"},
		{Wait(30 * time.Second), "30 s"},
		{Wait(5 * time.Minute), "5 min"},
		{Wait(3 * time.Hour), "3 h"},
		{Short(""), "-"},
		{Short(api.ChecksumOfString("")), "e3b0c442"},
		{Escape("plain — ünïcode 👨‍👩‍👧.md"), "plain — ünïcode 👨‍👩‍👧.md"},
		{Escape("a\x1b]0;b\x07\n\tc\x7f\x00"), `a\x1b]0;b\x07\n\tc\x7f\x00`},
		{Escape("\u202etxt\u2066\u200b\u2028\u0085\ufeff"), `\u202etxt\u2066\u200b\u2028\u0085\ufeff`},
		{Escape("\xff\xfe"), `\xff\xfe`},
		{Escape("\U000e0041"), `\U000e0041`},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	tty, _ := terminal("terminal")
	for path, want := range map[string]string{"/home/dana": "~", "/home/dana/x": "~/x", "/home/danae/x": "/home/danae/x", "/x": "/x"} {
		if got := tty.Path(path); filepath.ToSlash(got) != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestWhichTerminalsShowUTF8(t *testing.T) {
	for _, c := range []struct {
		env  string
		os   string
		want bool
	}{
		{"LANG=en_US.UTF-8", "linux", true},
		{"LANG=C.utf8", "linux", true},
		{"LC_ALL=C LANG=en_US.UTF-8", "linux", false},
		{"LC_CTYPE=C.UTF-8 LANG=C", "linux", true},
		{"LANG=de_DE@euro", "linux", false},
		{"", "linux", false},
		{"", "darwin", true},
		{"", "windows", true},
		{"LC_ALL=C", "darwin", false},
	} {
		vars := map[string]string{}
		for pair := range strings.FieldsSeq(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			vars[name] = value
		}
		if got := showsUTF8(func(name string) string { return vars[name] }, c.os); got != c.want {
			t.Errorf("%q on %s: %v", c.env, c.os, got)
		}
	}
}

func TestAPipeIsNoTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	o := Detect(func(name string) string { return map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"}[name] }, r, w, w, "linux")
	if o.OutTerminal || o.ErrTerminal || o.In != nil || !o.UTF8 {
		t.Errorf("%+v", o)
	}
	if o = Detect(func(name string) string { return map[string]string{"TERM": "xterm", "NO_COLOR": "1"}[name] }, r, w, w, "linux"); o.Colour {
		t.Error("NO_COLOR, and colour")
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\x1b[31m\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		got := Escape(text)
		if strings.ContainsFunc(got, hidden) {
			t.Fatalf("%q", got)
		}
		if Escape(got) != got {
			t.Fatalf("%q is escaped again", got)
		}
	})
}
