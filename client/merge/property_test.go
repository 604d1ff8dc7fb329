package merge_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/merge"
)

// memory is a file that the properties start from.
type memory struct {
	key   api.Key
	lines []string // of the body
	head  []string
}

// memories are the real files of the corpus and a few of our own, so that the
// properties also run where there is no corpus.
func memories(t testing.TB) []memory {
	all := []memory{
		{key: "MEMORY.md", lines: strings.Split("# Memory Index\n\n- [One](one.md) — first\n- [Two](two.md) -- second\n- [Three](three.md)\n\n## Notes\n\nProse stands here.\n- [Four](four.md) - fourth", "\n")},
		{key: "topic.md", lines: strings.Split("# Build\n\nRun make.\n\n**Why:** it is there.\n\n**How to apply:** always.\n\n```sh\nmake\n```\n\n- one\n- two\n- three", "\n")},
	}
	dir := filepath.Join("..", "..", "..", "shared", "corpus", "open")
	if root := os.Getenv("TEAMMEM_CORPUS"); root != "" {
		dir = filepath.Join(root, "open")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*.md"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := memory{key: api.Key(filepath.Base(file)), lines: strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}
		if m.lines[0] == "---" {
			if end := slices.Index(m.lines[1:], "---"); end >= 0 {
				m.head, m.lines = m.lines[:end+2], m.lines[end+2:]
			}
		}
		if len(m.lines) > 1 {
			all = append(all, m)
		}
	}
	return all
}

// edit is what a person does to one base line.
type edit struct {
	line  int
	drop  bool     // the line goes; with fresh lines it is rewritten
	fresh []string // written after the line, or in its place
}

// edited applies edits, at most one a line.
func edited(lines []string, edits []edit) []string {
	at := map[int]edit{}
	for _, e := range edits {
		at[e.line] = e
	}
	var out []string
	for i, line := range lines {
		e, ok := at[i]
		if !ok || !e.drop {
			out = append(out, line)
		}
		out = append(out, e.fresh...)
	}
	return out
}

// drawEdits draws edits of the given base lines. Every line that is written is a
// new one.
func drawEdits(t *rapid.T, m memory, at []int, who string) []edit {
	var edits []edit
	for n, i := range at {
		fresh := func(form string) string { return fmt.Sprintf(form, fmt.Sprintf("%s%d", who, n)) }
		line := "Said by %s, who knows about it."
		if m.key.IsIndex() {
			line = "- [About %[1]s](about_%[1]s.md) — what %[1]s found"
		}
		e := edit{line: i}
		switch rapid.SampledFrom([]string{"drop", "touch up", "rewrite", "split", "add", "add more", "add paragraph", "add section"}).Draw(t, who+" does") {
		case "drop":
			e.drop = true
		case "touch up":
			e.drop, e.fresh = true, []string{m.lines[i] + fresh(" (%s)")}
		case "rewrite":
			e.drop, e.fresh = true, []string{fresh(line)}
		case "split":
			e.drop, e.fresh = true, []string{m.lines[i] + fresh(" [%s]"), fresh(line)}
		case "add":
			e.fresh = []string{fresh(line)}
		case "add more":
			e.fresh = []string{fresh(line), fresh("- another from %s"), "", fresh("- and one more from %s")}
		case "add paragraph":
			e.fresh = []string{"", fresh(line)}
		case "add section":
			e.fresh = []string{fresh("## Section of %s"), "", "```", fresh("run %s"), "```", ""}
		}
		edits = append(edits, e)
	}
	return edits
}

// sortedWords is the lines of a text that hold words, sorted.
func sortedWords(text []byte) []string {
	lines := words(text)
	slices.Sort(lines)
	return lines
}

func text(lines ...[]string) []byte {
	all := slices.Concat(lines...)
	if len(all) == 0 {
		return nil
	}
	return []byte(strings.Join(all, "\n") + "\n")
}

// Edits of different base lines are always joined: the result has every line that
// either added, lacks every line that either removed, and doubles none. It is the
// same both ways about, and merging it once more with either side changes nothing.
func TestIndependentEdits(t *testing.T) {
	all := memories(t)
	for _, kind := range []string{"index", "topic"} {
		t.Run(kind, rapid.MakeCheck(func(t *rapid.T) {
			m := rapid.SampledFrom(all).Filter(func(m memory) bool { return m.key.IsIndex() == (kind == "index") }).Draw(t, "file")
			at := rapid.SliceOfNDistinct(rapid.IntRange(0, len(m.lines)-1), 2, min(16, len(m.lines)), rapid.ID).Draw(t, "lines")
			cut := rapid.IntRange(1, len(at)-1).Draw(t, "mine are the first")
			checkIndependent(t, m, drawEdits(t, m, at[:cut], "mine"), drawEdits(t, m, at[cut:], "theirs"))
		}))
	}
}

func checkIndependent(t *rapid.T, m memory, byMe, byThem []edit) {
	base := text(m.head, m.lines)
	mine, theirs := text(m.head, edited(m.lines, byMe)), text(m.head, edited(m.lines, byThem))
	want := text(m.head, edited(m.lines, append(byMe, byThem...)))

	got := merge.Merge(m.key, base, mine, theirs)
	if !got.Clean {
		t.Fatalf("not clean: %s", got.Reason)
	}
	if a, b := sortedWords(got.Text), sortedWords(want); !slices.Equal(a, b) {
		t.Fatalf("lines differ\ngot  %q\nwant %q\nmerged:\n%s", minus(a, b), minus(b, a), got.Text)
	}
	checkAlways(t, m.key, base, mine, theirs)
	checkStable(t, m.key, base, mine, theirs)
}

// sameWords compares the lines of two texts that hold words, whatever their order.
// Which of two blank lines or fences is which nobody can tell, so that one may come
// or go, and additions around it change places.
func sameWords(a, b []byte) bool {
	telling := func(text []byte) []string {
		return slices.DeleteFunc(sortedWords(text), func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "```") })
	}
	return slices.Equal(telling(a), telling(b))
}

func words(text []byte) []string {
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return !hasWords(line) })
}

func hasWords(line string) bool {
	return strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// minus is the lines of a that b lacks.
func minus(a, b []string) []string {
	out := slices.Clone(a)
	for _, line := range b {
		if i := slices.Index(out, line); i >= 0 {
			out = slices.Delete(out, i, i+1)
		}
	}
	return out
}

// reporter is what a property needs of a test.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkAlways holds for any three texts.
func checkAlways(t reporter, key api.Key, base, mine, theirs []byte) {
	t.Helper()
	got := merge.Merge(key, base, mine, theirs)
	back := merge.Merge(key, base, theirs, mine)
	if got.Clean != back.Clean || !bytes.Equal(got.Text, back.Text) || got.Reason != back.Reason {
		t.Fatalf("the other way about it is another result:\n%q %s\n%q %s", got.Text, got.Reason, back.Text, back.Reason)
	}
	if got.Clean != (got.Text != nil) || got.Clean != (got.Reason == "") {
		t.Fatalf("half a result: %+v", got)
	}
	for _, side := range [][]byte{mine, theirs} {
		if again := merge.Merge(key, base, side, side); !again.Clean || !bytes.Equal(again.Text, side) {
			t.Fatalf("equal sides do not stay as they are: %+v", again)
		}
		if again := merge.Merge(key, base, side, base); base != nil && (!again.Clean || !bytes.Equal(again.Text, side)) {
			t.Fatalf("one side alone is not followed: %+v", again)
		}
	}
}

// checkStable merges the result once more with either side, as after a reply that
// got lost: nothing may change. It holds where lines can be told from each other.
func checkStable(t reporter, key api.Key, base, mine, theirs []byte) {
	t.Helper()
	got := merge.Merge(key, base, mine, theirs)
	if !got.Clean {
		return
	}
	for _, side := range [][]byte{mine, theirs} {
		if again := merge.Merge(key, base, got.Text, side); again.Clean && !sameWords(again.Text, got.Text) {
			t.Fatalf("merging once more changes the result:\n%q\n%q\nbase   %q\nmine   %q\ntheirs %q", got.Text, again.Text, base, mine, theirs)
		}
	}
}
