package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
)

func TestLinks(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"- [Testing](feedback_testing.md) — how we test", "entry Testing > feedback_testing.md | how we test"},
		{"- [Testing](a.md) -- how", "entry Testing > a.md | how"},
		{"- [Testing](a.md) - how - and why", "entry Testing > a.md | how - and why"},
		{"* [Testing](a.md): how", "entry Testing > a.md | how"},
		{"1. **[Testing](a.md)** — how", "entry Testing > a.md | how"},
		{"- [ ] [Testing](a.md)", "entry Testing > a.md | "},
		{"[Testing](a.md)", "entry Testing > a.md | "},
		{"  - [Deep](sub/a.md) — b", "entry Deep > sub/a.md | b"},
		{"- [a [b] c](x.md) — brackets", "entry a [b] c > x.md | brackets"},
		{"- [`code` in a label](x.md) — y", "entry `code` in a label > x.md | y"},
		{"- [T](<a b.md>) — c", "entry T > a b.md | c"},
		{"- [T](a(1).md) — c", "entry T > a(1).md | c"},
		{`- [T](a.md "title") — c`, "entry T > a.md | c"},
		{"- [T](./a.md#part) — c", "entry T > ./a.md#part | c"},
		{"- [A](a.md), [B](b.md) — both", "entry A > a.md | , [B](b.md) — both; link B > b.md | "},
		{"See [A](a.md) for more.", "link A > a.md | "},
		{"- project_x.md — hook", "bare project_x.md > project_x.md | hook"},
		{"- `project_x.md`: hook", "bare project_x.md > project_x.md | hook"},
		{"- **project_x.md** -- hook", "bare project_x.md > project_x.md | hook"},
		{"project_x.md is prose", ""},
		{"- [T](https://x.example/a.md)", ""},
		{"- [T](mailto:a@x.example)", ""},
		{"- [T](#part)", ""},
		{"- ![picture](a.png)", ""},
		{"- `[T](a.md)`", ""},
		{"- [T] (a.md)", ""},
		{"- [T](a.md", ""},
		{"- []()", ""},
		{"# Memory", ""},
	} {
		var got []string
		for _, l := range memory.Links([]byte(c.line)) {
			kind := "link"
			if l.Entry {
				kind = "entry"
			}
			if l.Bare {
				kind = "bare"
			}
			got = append(got, fmt.Sprintf("%s %s > %s | %s", kind, l.Title, l.Target, l.Hook))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.line, text, c.want)
		}
	}
}

func TestLinksLeadBelowTheRoot(t *testing.T) {
	for _, c := range []struct{ folder, target, want string }{
		{".", "a.md", "a.md"},
		{".", "./sub/a.md#x", "sub/a.md"},
		{".", "a%20b.md", "a b.md"},
		{"sub", "a.md", "sub/a.md"},
		{"sub", "../a.md", "a.md"},
		{".", "../a.md", ""},
		{".", "%2e%2e/a.md", ""},
		{".", "/etc/passwd", ""},
		{".", ".", ""},
	} {
		if got := (memory.Link{Target: c.target}).Path(c.folder); got != c.want {
			t.Errorf("%s in %s leads to %q, want %q", c.target, c.folder, got, c.want)
		}
	}
}

func TestWikiLinks(t *testing.T) {
	text := strings.Join([]string{
		"---", "name: [[front-matter]]", "---",
		"See [[stem]], [[Some name|label]] and [[x#part]].",
		"`[[code]]`, ``[[a ` b]]``, if [[ -f x ]]; then; [[nodiscard]] int f();",
		"```", "[[block]]", "```", "~~~", "[[tilde]]", "~~~",
		"[[open", "]] [[two", "lines]] [[last]]",
		"[[[three]]] [[[]]]",
		"a `span", "over [[lines]] two`",
	}, "\n")
	want := []string{"4 stem", "4 Some name", "4 x", "14 last", "15 three"}
	var got []string
	for _, w := range memory.WikiLinks([]byte(text)) {
		got = append(got, fmt.Sprintf("%d %s", w.Line, w.Target))
		if !strings.HasPrefix(text[w.Offset:], w.Target) {
			t.Errorf("%s does not stand at its offset", w.Target)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestNamesResolve(t *testing.T) {
	memories := []memory.Memory{
		{Key: "feedback_testing.md", Head: memory.Head{Name: "How we test"}},
		{Key: "project-x.md", Head: memory.Head{Name: "feedback_testing"}},
		{Key: "sub/same.md"},
		{Key: "same.md"},
		{Key: "sub/deep.md"},
		{Key: "Größe.md"},
	}
	names := memory.NewNames(memories)
	for _, c := range []struct {
		target string
		from   api.Key
		want   api.Key
		how    memory.How
	}{
		{"feedback_testing", "a.md", "feedback_testing.md", memory.ByStem},
		{"feedback_testing.md", "a.md", "feedback_testing.md", memory.ByStem},
		{"How we test", "a.md", "feedback_testing.md", memory.ByName},
		{"Feedback-Testing", "a.md", "feedback_testing.md", memory.ByFold},
		{"how we TEST", "a.md", "feedback_testing.md", memory.ByFold},
		{"GRÖSSE", "a.md", "Größe.md", memory.ByFold},
		{"same", "a.md", "same.md", memory.ByStem},
		{"same", "sub/a.md", "sub/same.md", memory.ByStem},
		{"sub/same", "a.md", "sub/same.md", memory.ByStem},
		{"sub/deep", "a.md", "sub/deep.md", memory.ByStem},
		{"other/deep", "a.md", "", ""},
		{"nothing", "a.md", "", ""},
	} {
		key, how, ok := names.Resolve(c.target, c.from)
		if key != c.want || how != c.how || ok != (c.want != "") {
			t.Errorf("[[%s]] in %s is %q by %q, want %q by %q", c.target, c.from, key, how, c.want, c.how)
		}
	}
}

// A long line of brackets costs no more than its length.
func TestLinksOfOneLongLine(t *testing.T) {
	for _, part := range []string{"](", "](x)", "[", "[[", "[[a ", "[[a]]", "[a](b)", "`", "``a`", "](<", "[x](y \"", "- [ ] ", "]"} {
		text := []byte(strings.Repeat(part, 250_000/len(part)) + ")]]")
		begun := time.Now()
		memory.Links(text)
		memory.WikiLinks(text)
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("a line of %q took %v", part, took)
		}
	}
}

func FuzzLinks(f *testing.F) {
	f.Add([]byte("- [T](f.md) — hook\n- [a [b]](<x y.md> \"t\") -- h\n- bare.md - h\n"))
	f.Add([]byte("```\n[[a]]\n~~~\n``` x\n[[b|c]] `[[d` ]]"))
	f.Add([]byte("1. **[x](y(z).md)** [[[w]]]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		prose := memory.Prose(text)
		if len(prose) != len(text) || strings.Count(string(prose), "\n") != strings.Count(string(text), "\n") {
			t.Fatal("prose stands elsewhere than the text")
		}
		for _, l := range memory.Links(text) {
			if !strings.HasPrefix(string(text[l.Offset:]), l.Target) {
				t.Errorf("%q does not stand at its offset", l.Target)
			}
			if at := l.Path("sub"); at != "" && (strings.HasPrefix(at, "/") || strings.HasPrefix(at, "../") || at == "..") {
				t.Errorf("%q leads outside: %q", l.Target, at)
			}
		}
		for _, w := range memory.WikiLinks(text) {
			if !strings.HasPrefix(string(text[w.Offset:]), w.Target) {
				t.Errorf("[[%s]] does not stand at its offset", w.Target)
			}
		}
		memory.CutIndex(text)
	})
}
