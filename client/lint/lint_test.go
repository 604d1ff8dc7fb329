package lint_test

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/client/curate"
	"github.com/teammem/teammem/client/lint"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// library is a private directory with a team's below it, as texts.
func library(files map[string]string) curate.Library {
	private, team := fstest.MapFS{}, fstest.MapFS{}
	for name, text := range files {
		into, rest := private, name
		if inTeam, ok := strings.CutPrefix(name, "team/"); ok {
			into, rest = team, inTeam
		}
		into[rest] = &fstest.MapFile{Data: []byte(text), ModTime: noon}
	}
	return curate.Library{
		TeamPrefix: "team/",
		List:       memory.Scan(0, memory.Source{FS: private, Scope: memory.Private}, memory.Source{FS: team, Scope: memory.Team, Prefix: "team/"}),
		Read: func(key api.Key) ([]byte, error) {
			text, ok := files[string(key)]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		},
	}
}

// tree is a checkout of few files.
type tree struct {
	files   map[string]int // lines by path
	symbols string
	commits string
}

func (c tree) Path(path string) (int, bool) {
	if n, ok := c.files[path]; ok {
		return n, true
	}
	for name := range c.files {
		if strings.HasPrefix(name, path+"/") {
			return 0, true
		}
	}
	return 0, false
}

func (c tree) Base(name string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(c.files)), func(p string) bool { return strings.HasSuffix("/"+p, "/"+name) })
}

func (c tree) Symbols(names []string) (map[string]bool, error) {
	found := map[string]bool{}
	for _, name := range names {
		found[name] = slices.Contains(strings.Fields(c.symbols), name)
	}
	return found, nil
}

func (c tree) Commits(ids []string) (map[string]bool, bool) {
	found := map[string]bool{}
	for _, id := range ids {
		found[id] = strings.HasPrefix(c.commits, id)
	}
	return found, true
}

var scanner = func() func(api.Key, []byte) ([]scan.Finding, error) {
	s, err := scan.New(scan.Options{})
	if err != nil {
		panic(err)
	}
	return s.Scan
}()

func run(t *testing.T, files map[string]string) []lint.Finding {
	t.Helper()
	found, err := lint.Run(lint.Input{
		Library: library(files), Now: noon, Scan: scanner,
		Checkout: tree{map[string]int{"src/main.go": 40, "docs/guide.md": 10}, "main parseFlags TokenStore", "1a2b3c4d5e6f"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const head = "---\nname: n\ndescription: d\ntype: project\n---\n"

func TestRules(t *testing.T) {
	long := strings.Repeat("x", 250)
	words := "the release goes out every second tuesday of a month and is cut from the main branch by whoever is on duty that week "
	for name, c := range map[string]struct {
		files map[string]string
		want  []string // rule, place, and ! where it is mended
	}{
		"nothing":            {map[string]string{"MEMORY.md": "- [A](a.md) — x\n", "a.md": head + "text\n"}, nil},
		"unclosed":           {map[string]string{"a.md": "---\nname: n\n"}, []string{"front-matter-unclosed a.md:1"}},
		"too long":           {map[string]string{"a.md": "---\n" + strings.Repeat("x: y\n", 30) + "---\n"}, []string{"front-matter-long a.md:1"}},
		"missing":            {map[string]string{"a.md": "text\n"}, []string{"front-matter-missing a.md:1"}},
		"fields missing":     {map[string]string{"a.md": "---\nx: y\n---\n"}, []string{"description-missing a.md:1", "name-missing a.md:1", "type-missing a.md:1"}},
		"type of its own":    {map[string]string{"a.md": "---\nname: n\ndescription: d\ntype: note\n---\n"}, []string{"type-unknown a.md:4"}},
		"type in capitals":   {map[string]string{"a.md": "---\nname: n\ndescription: d\nmetadata:\n  type: Project\n---\n"}, []string{"type-unknown a.md:5 !"}},
		"no YAML":            {map[string]string{"a.md": "---\nname: n\ndescription: a: b\ntype: user\n---\n"}, []string{"front-matter-yaml a.md:3 !"}},
		"no YAML, uncertain": {map[string]string{"a.md": "---\nname: n\ndescription: \"a \"b\" c\"\ntype: user\n---\n"}, []string{"front-matter-yaml a.md:3"}},
		"cut at a hash":      {map[string]string{"a.md": "---\nname: n\ndescription: PR #4 x\ntype: user\n---\n"}, []string{"value-cut a.md:3 !"}},
		"lost to a hash":     {map[string]string{"a.md": "---\nname: n\ndescription: #4 x\ntype: user\n---\n"}, []string{"value-lost a.md:3 !"}},
		"dangling": {
			map[string]string{"MEMORY.md": "- [A](a.md)\n- [B](b.md)\n", "a.md": head + "[[nobody]] [x](y.md) `[[code]]`\n"},
			[]string{"link-dangling MEMORY.md:2", "link-dangling a.md:6", "link-dangling a.md:6"},
		},
		"dangling by a letter's case": {map[string]string{"MEMORY.md": "- [A](A_b.md)\n", "a-b.md": head}, []string{"link-dangling MEMORY.md:1 !", "orphan a-b.md:0 !"}},
		"orphan":                      {map[string]string{"MEMORY.md": "- [A](a.md)\n", "a.md": head, "b.md": "---\nname: other\ndescription: e\ntype: user\n---\n"}, []string{"orphan b.md:0 !"}},
		"no index, no orphan":         {map[string]string{"a.md": head}, nil},
		"a log is no orphan":          {map[string]string{"MEMORY.md": "", "logs/2026/11/2026-11-30.md": "- 09:00 yesterday\n"}, nil},
		"listed by the private index": {map[string]string{"MEMORY.md": "- [A](team/a.md)\n", "team/a.md": head}, nil},
		"too many lines": {
			map[string]string{"MEMORY.md": strings.Repeat("text\n", 200) + "- [A](a.md)\n", "a.md": head},
			[]string{"index-over-budget MEMORY.md:201"},
		},
		"a long entry":   {map[string]string{"MEMORY.md": "- [A](a.md) " + long + "\n", "a.md": head}, []string{"index-entry-long MEMORY.md:1"}},
		"listed twice":   {map[string]string{"MEMORY.md": "- [A](a.md)\n- [A](a.md)\n- [Z](a.md)\n", "a.md": head}, []string{"entry-twice MEMORY.md:2 !", "entry-twice MEMORY.md:3"}},
		"index with one": {map[string]string{"MEMORY.md": "---\nname: x\n---\n"}, []string{"index-front-matter MEMORY.md:1"}},
		"near duplicates": {
			map[string]string{"a.md": "---\nname: n\ndescription: d\ntype: user\n---\n" + words + words + "today is new", "b.md": "---\nname: m\ndescription: e\ntype: user\n---\n" + words + words},
			[]string{"relative-date a.md:6", "near-duplicate b.md:0"},
		},
		"one name and description": {map[string]string{"a.md": head, "b.md": head}, []string{"near-duplicate b.md:0"}},
		"about a person":           {map[string]string{"team/a.md": "---\nname: n\ndescription: d\ntype: user\n---\n"}, []string{"scope-user team/a.md:4"}},
		"private behind a link":    {map[string]string{"team/a.md": head + "[[b]]\n", "b.md": "---\nname: b\ndescription: e\ntype: user\n---\n"}, []string{"link-private team/a.md:6"}},
		"paths of a machine": {
			map[string]string{"team/a.md": head + "/home/dana/x\n/tmp/build\n", "b.md": "---\nname: b\ndescription: e\ntype: user\n---\n/home/dana/x\n"},
			[]string{"machine-local team/a.md:6", "machine-local team/a.md:7"},
		},
		"relative dates":  {map[string]string{"a.md": "---\nname: n\ndescription: since last week\ntype: user\n---\nYesterday `tomorrow` 3 days ago\n"}, []string{"relative-date a.md:3", "relative-date a.md:6", "relative-date a.md:6"}},
		"paths that are":  {map[string]string{"a.md": head + "`src/main.go`, src/main.go:40, `docs/`, `main.go`, `either/or`, `owner/repo`\n"}, nil},
		"paths that were": {map[string]string{"a.md": head + "`src/old.go`, see lib/gone.ts, `src/none`, `none.go`\n"}, []string{"stale-path a.md:6", "stale-path a.md:6", "stale-path a.md:6", "stale-path a.md:6"}},
		"lines that were": {map[string]string{"a.md": head + "`src/main.go:41`\n"}, []string{"stale-line a.md:6"}},
		"symbols":         {map[string]string{"a.md": head + "`parseFlags()`, `TokenStore`, `flags.parseArgs()`, `TokenStash`, `word`, `a b`\n"}, []string{"stale-symbol a.md:6", "stale-symbol a.md:6"}},
		"commits":         {map[string]string{"a.md": head + "commit 1a2b3c4, `1a2b3c4d`, commit 9f8e7d6c, `deadbeef`, 1234567\n"}, []string{"stale-commit a.md:6"}},
	} {
		var got []string
		for _, f := range run(t, c.files) {
			line := fmt.Sprintf("%s %s:%d", f.Rule, f.Key, f.Line)
			if f.Fixable {
				line += " !"
			}
			got = append(got, line)
			if f.Message == "" || f.Cure == "" || f.Severity == "" {
				t.Errorf("%s: %+v says too little", name, f)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
		mended(t, name, c.files)
	}
}

// mended checks that what is certain is mended by one run, that no other byte changes, and
// that a second run has nothing left to mend.
func mended(t *testing.T, name string, files map[string]string) {
	t.Helper()
	files = maps.Clone(files)
	changes, err := lint.Fix(library(files), run(t, files))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if string(c.Before) != files[string(c.Key)] {
			t.Errorf("%s: %s was not %q", name, c.Key, c.Before)
		}
		files[string(c.Key)] = string(c.After)
	}
	for _, f := range run(t, files) {
		if f.Fixable {
			t.Errorf("%s: after the mending there is still %s in %s:%d\n%s", name, f.Rule, f.Key, f.Line, files[string(f.Key)])
		}
	}
}

// A text that breaks a rule on every line is told of a bearable number of times, and what
// can be mended is mended wherever it stands.
func TestAFloodIsAFewLines(t *testing.T) {
	files := map[string]string{
		"a.md":      head + strings.Repeat("see [[nobody]] since yesterday\n", 300),
		"MEMORY.md": strings.Repeat("- [A](a.md)\n", 150),
	}
	rules := map[string]int{}
	var last string
	var lines []string
	for _, f := range run(t, files) {
		rules[f.Rule]++
		if strings.Contains(f.Message, "not listed") {
			lines = append(lines, fmt.Sprintf("%s %d", f.Rule, f.Line))
		}
		if f.Rule == "link-dangling" {
			last = f.Message
		}
	}
	want := map[string]int{"link-dangling": 100, "relative-date": 100, "entry-twice": 149}
	if !maps.Equal(rules, want) || len(lines) != 2 || !strings.HasSuffix(last, "; 200 more of this rule in this file are not listed") {
		t.Errorf("found %v, want %v; the last says %q; cut short are %q", rules, want, last, lines)
	}
	mended(t, "a flood", files)
}

func TestFixesAreEditsOfLines(t *testing.T) {
	files := map[string]string{
		"MEMORY.md": "\uFEFF# Index\r\n- [A](A.md) — x\r\n- [A](A.md) — x\r\n\r\nprose",
		"a.md":      "\uFEFF---\r\nname: fix: it # now \r\ndescription: d # comment\r\ntype: User\r\ntags: [a, b]\r\n---\r\nbody ",
		"b.md":      head,
	}
	changes, err := lint.Fix(library(files), run(t, files))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range changes {
		got[string(c.Key)] = string(c.After)
	}
	want := "\uFEFF---\r\nname: \"fix: it # now\" \r\ndescription: \"d # comment\"\r\ntype: user\r\ntags: [a, b]\r\n---\r\nbody "
	if got["a.md"] != want {
		t.Errorf("got %q\nwant %q", got["a.md"], want)
	}
	if index := got["MEMORY.md"]; !strings.HasPrefix(index, "\uFEFF# Index\r\n- [A](a.md) — x\r\n") || !strings.HasSuffix(index, "- [n](b.md) — d\r\n\r\nprose") {
		t.Errorf("the index is %q", index)
	}
}

// Nothing that somebody may write stops the linter, and mending it leads to nothing new.
func FuzzLint(f *testing.F) {
	f.Add("---\nname: a: b\ndescription: c #d\n---\n[[x]] `y()` commit abc1234\n", "- [A](a.md)\n- [A](a.md)\n")
	f.Add("\uFEFF---\r\nname: \"x\r\nmetadata: {type: user}\r\n---\r\n", "- a.md\r\n")
	f.Fuzz(func(t *testing.T, text, index string) {
		if len(text)+len(index) > 4<<10 {
			return // nothing new is behind that, and a run is linear
		}
		// Of a private memory: the scan of the team's has a target of its own.
		mended(t, "fuzz", map[string]string{"a.md": text, "MEMORY.md": index})
	})
}
