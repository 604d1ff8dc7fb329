package recall

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/teammem/teammem/client/memdir"
)

// fixture is the archive of memories and questions.
func fixture(t testing.TB) (notes []Note, questions []string) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/fixture.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if f.Name == "queries" {
			questions = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
			continue
		}
		notes = append(notes, noteOf(f.Name, f.Data, memdir.Fingerprint{}))
	}
	return notes, questions
}

// TestFixture: every question of the fixture finds its memory first, and those that
// have no answer find nothing, however the index came about.
func TestFixture(t *testing.T) {
	notes, questions := fixture(t)
	fresh, ready, turnedTwice := NewIndex(), NewIndex(), NewIndex()
	for i, n := range notes {
		fresh.Set(n)
		ready.Set(n)
		turnedTwice.Set(Note{Path: n.Path, Name: "what stood there before", Body: "sourdough gift cards"})
		if i == len(notes)/2 {
			turnedTwice.Ready()
		}
	}
	ready.Ready()
	turnedTwice.Ready()
	for _, n := range notes {
		turnedTwice.Set(n)
	}
	for name, x := range map[string]*Index{"fresh": fresh, "ready": ready, "changed": turnedTwice} {
		for _, line := range questions {
			ask(t, name, x, line)
		}
	}
}

func ask(t *testing.T, index string, x *Index, line string) {
	t.Helper()
	parts := strings.Split(line, "|")
	text, want := strings.TrimSpace(parts[1]), strings.TrimSpace(parts[2])
	q := Query{Text: text}
	if tools, ok := strings.CutPrefix(text, "--tools="); ok {
		tools, text, _ = strings.Cut(tools, " ")
		q = Query{Text: text, Tools: strings.Split(tools, ",")}
	}
	var found []string
	for _, m := range x.Search(q) {
		found = append(found, m.Path)
		if m.Reason == "" || m.Score <= 0 {
			t.Errorf("%s: %s: score %v for %q", text, m.Path, m.Score, m.Reason)
		}
	}
	if len(found) > Most {
		t.Errorf("%s: %d answers", text, len(found))
	}
	if want == "none" {
		if len(found) != 0 {
			t.Errorf("%s index: %s: %q found %v (%s), want none", index, parts[0], text, found, x.Search(q)[0].Reason)
		}
		return
	}
	wanted := strings.Split(want, " + ")
	if len(found) == 0 || found[0] != wanted[0] {
		t.Errorf("%s index: %s: %q found %v, want %s first", index, parts[0], text, found, wanted[0])
		return
	}
	for _, w := range wanted[1:] {
		if !slices.Contains(found, w) {
			t.Errorf("%s index: %q found %v, want %s among them", index, text, found, w)
		}
	}
}

func TestWhatWasShownIsLeftOut(t *testing.T) {
	notes, _ := fixture(t)
	x := NewIndex()
	for _, n := range notes {
		x.Set(n)
	}
	q := Query{Text: "kubectl staging cluster", Shown: []string{"reference_kubectl.md"}}
	matches := x.Search(q)
	if len(matches) == 0 || matches[0].Path != "gotcha_kubectl.md" {
		t.Errorf("found %v", matches)
	}
}

func TestAtMostFiveAndTheNewestOfEquals(t *testing.T) {
	x := NewIndex()
	for i := range 9 {
		x.Set(Note{Path: fmt.Sprintf("n%d.md", i), Description: "the staging database", Modified: time.Unix(int64(i), 0)})
	}
	x.Set(Note{Path: "other.md", Description: "nothing of the kind"})
	matches := x.Search(Query{Text: "staging database"})
	if len(matches) != Most || matches[0].Path != "n8.md" || matches[4].Path != "n4.md" {
		t.Errorf("%d: %+v", len(matches), matches)
	}
}

func TestReasonNamesTheWordsAndWhereTheyStand(t *testing.T) {
	x := NewIndex()
	x.Set(Note{Path: "a.md", Name: "deploy", Description: "only on Fridays", Body: "The rollback is by hand."})
	x.Set(Note{Path: "b.md", Name: "数据库备份"})
	for question, want := range map[string]string{
		"Deploys on Friday, and the Rollback?": "name: Deploys; description: Friday; text: Rollback",
		"数据库备份":                                "name: 数据库备份",
	} {
		matches := x.Search(Query{Text: question})
		if len(matches) != 1 || matches[0].Reason != want {
			t.Errorf("%s: %+v, want %s", question, matches, want)
		}
	}
}

func TestStemsMeet(t *testing.T) {
	for _, family := range []string{
		"configure configures configured configuring configuration configurations",
		"authenticate authenticated authenticates authentication authenticator",
		"deploy deploys deployed deploying deployment deployments",
		"cache caches cached caching",
		"query queries queried querying",
		"connect connects connected connection connections",
		"choose chose chosen", "run runs ran running", "migrate migrated migration",
		"process processes processed processing", "implement implemented implementation",
		"document documents documentation", "log logs logged logging", "class classes",
	} {
		words := strings.Fields(family)
		want := string(stem([]byte(words[0])))
		for _, w := range words[1:] {
			if got := string(stem([]byte(w))); got != want {
				t.Errorf("%s: %s, %s: %s", w, got, words[0], want)
			}
		}
	}
	for _, apart := range [][2]string{{"status", "state"}, {"string", "strong"}, {"test", "text"}, {"python", "pythons3"}, {"release", "relate"}} {
		if a, b := string(stem([]byte(apart[0]))), string(stem([]byte(apart[1]))); a == b {
			t.Errorf("%v both are %s", apart, a)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"MCP_INIT_TIMEOUT getUserName HTTPServer", "数据库 ｶﾞｷﾞ ＡＰＩ", "배포는 언제", "a\xff\u0301__b", "é’s ﬁ ㎞ ①"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = prepare(text)
		last := 0
		newSplitter().split(text, func(found term) {
			if len(found.text) == 0 || found.start < last || found.end > len(text) || found.start >= found.end {
				t.Fatalf("%q: term %q at %d to %d after %d", text, found.text, found.start, found.end, last)
			}
			last = found.start
		})
		x := NewIndex()
		x.Set(Note{Path: "a.md", Body: text})
		x.Search(Query{Text: text})
	})
}
