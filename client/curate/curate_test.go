package curate_test

import (
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/curate"
)

// library is a private directory with a team's below it, as texts.
func library(files map[string]string) curate.Library {
	private, team := fstest.MapFS{}, fstest.MapFS{}
	for name, text := range files {
		if rest, ok := strings.CutPrefix(name, "team/"); ok {
			team[rest] = &fstest.MapFile{Data: []byte(text)}
		} else {
			private[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return curate.Library{
		TeamPrefix: "team/",
		List: memory.Scan(
			0,
			memory.Source{FS: private, Scope: memory.Private},
			memory.Source{FS: team, Scope: memory.Team, Prefix: "team/"},
		),
		Read: func(key api.Key) ([]byte, error) {
			text, ok := files[string(key)]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		},
	}
}

// after is the directory with the changes carried out.
func after(t *testing.T, files map[string]string, changes []curate.Change) string {
	t.Helper()
	for _, c := range changes {
		if was, ok := files[string(c.Key)]; ok != (c.Before != nil) || was != string(c.Before) {
			t.Errorf("%s is said to have been %q", c.Key, c.Before)
		}
		if c.After == nil {
			delete(files, string(c.Key))
		} else {
			files[string(c.Key)] = string(c.After)
		}
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "-- %s --\n%s", name, files[name])
	}
	return b.String()
}

func TestMoveTakesLinksAlong(t *testing.T) {
	files := map[string]string{
		"MEMORY.md":      "# Index\r\n- [Old](old.md) — hook\r\n- [Other](./other.md#part) -- x\r\n- [Old again](old.md#a), see [it](<old.md>)\r\n",
		"old.md":         "---\nname: Old name\n---\nsee [other](other.md), [self](old.md) and `[code](other.md)`\n",
		"other.md":       "[[old]] [[Old name]] [[OLD|label]] [[old.md#x]] `[[old]]` [t](old.md \"title\")\n",
		"sub/deep.md":    "[up](../old.md) [[other]]",
		"team/apart.md":  "[[nothing]] [x](old.md)\n",
		"team/MEMORY.md": "",
	}
	changes, err := library(files).Move("old.md", "sub/new one.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "-- MEMORY.md --\n# Index\r\n- [Old](sub/new%20one.md) — hook\r\n- [Other](./other.md#part) -- x\r\n- [Old again](sub/new%20one.md#a), see [it](<sub/new%20one.md>)\r\n" +
		"-- other.md --\n[[new one]] [[Old name]] [[new one|label]] [[new one.md#x]] `[[old]]` [t](sub/new%20one.md \"title\")\n" +
		"-- sub/deep.md --\n[up](new%20one.md) [[other]]" +
		"-- sub/new one.md --\n---\nname: Old name\n---\nsee [other](../other.md), [self](new%20one.md) and `[code](other.md)`\n" +
		"-- team/MEMORY.md --\n-- team/apart.md --\n[[nothing]] [x](old.md)\n"
	if got := after(t, files, changes); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMoveThereAndBackChangesNothing(t *testing.T) {
	begin := func() map[string]string {
		return map[string]string{
			"MEMORY.md":   "- [A](a.md) — x\n- [B](b.md)",
			"a.md":        "[[b]] [b](b.md)\n",
			"b.md":        "[[a]] [a](a.md) [d](sub/deep.md)\n",
			"sub/deep.md": "[a](../a.md)\n",
		}
	}
	files := begin()
	for _, move := range [][2]api.Key{{"a.md", "sub/moved.md"}, {"sub/moved.md", "a.md"}} {
		changes, err := library(files).Move(move[0], move[1])
		if err != nil {
			t.Fatal(err)
		}
		after(t, files, changes)
	}
	if got, want := after(t, files, nil), after(t, begin(), nil); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPromote(t *testing.T) {
	files := map[string]string{
		"MEMORY.md":      "- [Mine](mine.md)\n- [The plan](plan.md) -- in my words\n",
		"mine.md":        "the [plan](plan.md)\n",
		"plan.md":        "---\ntype: project\n---\n[[mine]] [[theirs]]\n",
		"team/MEMORY.md": "# Team\n- [Theirs](theirs.md)\n\nThe end.\n",
		"team/theirs.md": "",
		"user_me.md":     "---\ntype: user\n---\n",
	}
	l := library(files)
	one, err := l.Find("plan")
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Promote(one)
	if err != nil {
		t.Fatal(err)
	}
	if p.Key != "team/plan.md" || len(p.Stay) != 1 || p.Stay[0] != "mine.md" {
		t.Errorf("%s, staying: %v", p.Key, p.Stay)
	}
	want := "-- MEMORY.md --\n- [Mine](mine.md)\n-- mine.md --\nthe [plan](team/plan.md)\n" +
		"-- team/MEMORY.md --\n# Team\n- [Theirs](theirs.md)\n- [The plan](plan.md) — in my words\n\nThe end.\n" +
		"-- team/plan.md --\n---\ntype: project\n---\n[[mine]] [[theirs]]\n-- team/theirs.md --\n-- user_me.md --\n---\ntype: user\n---\n"
	if got := after(t, files, p.Changes); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	me, err := l.Find("user_me.md")
	if err != nil {
		t.Fatal(err)
	}
	var refused *curate.Refused
	if _, err := l.Promote(me); !errors.As(err, &refused) || !strings.Contains(err.Error(), "always private") {
		t.Errorf("a memory about a person: %v", err)
	}
	if _, err := l.Move("mine.md", "team/mine.md"); !errors.As(err, &refused) || !strings.Contains(refused.Cure, "promote") {
		t.Errorf("a move into the team's directory: %v", err)
	}
}

// What is drafted is read again as it was meant, by the line reader.
func TestNewIsReadAsItWasMeant(t *testing.T) {
	for _, name := range []string{"plain", "a: b", "fix #3", "#3", `say "hi": no`, "it's: so", "[x]", "true", "2026", "- dash", "end:", "日本語の名前", "two\nlines"} {
		changes, err := library(nil).New(curate.Draft{Name: name, Description: name, Type: memory.Feedback, Scope: memory.Private})
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		want := strings.Join(strings.Fields(name), " ")
		if h := memory.Parse(changes[0].After); h.Name != want || h.Description != want || h.Type != memory.Feedback {
			t.Errorf("%q is read as %+v", name, h)
		}
		if !strings.Contains(string(changes[0].After), "**Why:**") {
			t.Errorf("%q is not of its type's template", name)
		}
		if links := memory.Links(changes[1].After); len(links) != 1 || links[0].Path(".") != string(changes[0].Key) {
			t.Errorf("%q: the index says %q", name, changes[1].After)
		}
	}
}

// An empty file moves as one, and an index whose only line leaves becomes empty: neither
// goes.
func TestEmptyTextsStay(t *testing.T) {
	files := map[string]string{"a.md": "", "b.md": "---\nname: B\ntype: project\n---\n", "MEMORY.md": "- [B](b.md)\n"}
	changes, err := library(files).Move("a.md", "c.md")
	if err != nil || len(changes) != 2 || changes[0].After == nil || changes[1].After != nil {
		t.Fatalf("%+v, %v", changes, err)
	}
	after(t, files, changes)
	l := library(files)
	b, err := l.Find("b")
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Promote(b)
	if err != nil {
		t.Fatal(err)
	}
	after(t, files, p.Changes)
	if index, ok := files["MEMORY.md"]; !ok || index != "" {
		t.Errorf("the private index is %q, there: %v", index, ok)
	}
	if text, ok := files["c.md"]; !ok || text != "" {
		t.Errorf("what moved is %q, there: %v", text, ok)
	}
}

func TestNewRefuses(t *testing.T) {
	l := library(map[string]string{"user_taken.md": "x", "team/a.md": "x"})
	for name, c := range map[string]struct {
		draft curate.Draft
		why   string // "" when it is made
		key   api.Key
	}{
		"no name":                      {curate.Draft{Name: " \n", Type: memory.User}, "wants a name", ""},
		"a person, for all":            {curate.Draft{Name: "x", Type: memory.User, Scope: memory.Team}, "always private", ""},
		"a name of marks":              {curate.Draft{Name: "!!!", Type: memory.Project}, "no file can be named", ""},
		"private, but for its file":    {curate.Draft{Name: "x", Type: memory.User, Scope: memory.Private, File: "team/x.md"}, "lies in the team's directory", ""},
		"the team's, by its file":      {curate.Draft{Name: "x", Type: memory.Project, Scope: memory.Team, File: "team/x.md"}, "", "team/x.md"},
		"the team's, below its prefix": {curate.Draft{Name: "x", Type: memory.Project, Scope: memory.Team, File: "b/x.md"}, "", "team/b/x.md"},
		"taken":                        {curate.Draft{Name: "taken", Type: memory.User}, "is there already", ""},
		"a control character":          {curate.Draft{Name: "x\x1b[31m", Type: memory.User}, "control character", ""},
		"one in the description":       {curate.Draft{Name: "x", Description: "\x00", Type: memory.User}, "control character", ""},
		"no text":                      {curate.Draft{Name: "x", Text: "a\xff", Type: memory.User}, "not UTF-8", ""},
		"several lines and tabs":       {curate.Draft{Name: "a\nb", Text: "a\r\n\tb\n", Type: memory.User}, "", "user_a_b.md"},
		"up and out":                   {curate.Draft{Name: "x", File: "../x.md", Type: memory.User}, "cannot be the name", ""},
	} {
		changes, err := l.New(c.draft)
		var refused *curate.Refused
		switch {
		case c.why == "" && (err != nil || changes[0].Key != c.key):
			t.Errorf("%s: %v, %v", name, changes, err)
		case c.why != "" && (!errors.As(err, &refused) || !strings.Contains(refused.Why, c.why) || refused.Cure == ""):
			t.Errorf("%s: %v, want %q and a cure", name, err, c.why)
		}
	}
	if _, err := l.Log(time.Now(), "\x1b[2J"); err == nil {
		t.Error("a control character was logged")
	}
}

func TestAddLine(t *testing.T) {
	const line = "- [N](n.md)"
	for _, c := range []struct{ index, want string }{
		{"", line + "\n"},
		{"- [A](a.md)\n", "- [A](a.md)\n" + line + "\n"},
		{"- [A](a.md)", "- [A](a.md)\n" + line + "\n"},
		{"- [A](a.md)\r\n\r\nend\r\n", "- [A](a.md)\r\n" + line + "\r\n\r\nend\r\n"},
		{"# Index\n\nprose\n", "# Index\n\nprose\n" + line + "\n"},
		{"\uFEFF# Index", "\uFEFF# Index\n" + line + "\n"},
	} {
		if got := string(curate.AddLine([]byte(c.index), line)); got != c.want {
			t.Errorf("%q: got %q, want %q", c.index, got, c.want)
		}
	}
}

// A line that is written is read as one entry, whatever the title.
func TestLineIsAnEntry(t *testing.T) {
	for title, want := range map[string]string{
		"Plain": "Plain", "with [a pair]": "with [a pair]", "[broken": `\[broken`, "a] b": `a\] b`, "] [": `\] \[`,
		`ends in \`: "ends in ", `is \[ escaped`: `is \[ escaped`,
	} {
		line := curate.Line(title, "n.md", "hook")
		links := memory.Links([]byte(line))
		if len(links) != 1 || !links[0].Entry || links[0].Title != want || links[0].Target != "n.md" || links[0].Hook != "hook" {
			t.Errorf("%q: %s reads as %+v", title, line, links)
		}
	}
}

func TestLogOnlyAdds(t *testing.T) {
	files := map[string]string{}
	at := time.Date(2026, 11, 30, 9, 5, 0, 0, time.UTC)
	for _, text := range []string{"began", "two\nlines"} {
		changes, err := library(files).Log(at, text)
		if err != nil {
			t.Fatal(err)
		}
		after(t, files, changes)
	}
	if got, want := files["logs/2026/11/2026-11-30.md"], "- 09:05 began\n- 09:05 two\n  lines\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
