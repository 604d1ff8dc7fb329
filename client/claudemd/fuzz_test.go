package claudemd

import (
	"bytes"
	"path"
	"strings"
	"testing"
	"testing/fstest"
)

// FuzzImports: whatever a file holds, nothing breaks, nothing outside of the project is
// loaded, each file is loaded once, and a reference names the line it stands in.
func FuzzImports(f *testing.F) {
	for _, seed := range []string{
		"@a.md", "see @b/c.md: x", "`@a.md`", "```\n@a.md\n```", "<!-- @a.md -->\n@b/c.md", "@../out.md @/out.md @~/home.md", "@a\\ b.md#x",
		"(@a.md)[x](@b/c.md)", "| @a.md| `x` |\n\t@a.md", "\uFEFF---\r\npaths: a\r\n---\r\n@a.md。", "@@a.md @a.md@a.md \\@a.md", "<pre>@a.md", "<!--", "a\xff@a.md",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := shapeOf(text)
		if len(s.dead) != len(text) {
			t.Fatalf("%d marks for %d bytes", len(s.dead), len(text))
		}
		lines := bytes.Split(text, []byte("\n"))
		for _, ref := range references(text, s.dead) {
			if ref.line < 1 || ref.line > len(lines) || !bytes.Contains(lines[ref.line-1], []byte("@"+ref.raw)) {
				t.Fatalf("@%s is not in line %d", ref.raw, ref.line)
			}
		}
		if out := s.withoutComments(text); len(out) > len(text) {
			t.Fatalf("%d bytes became %d", len(text), len(out))
		}
		fsys := fstest.MapFS{"out.md": {}, "o/x.md": {}, "home/dana/home.md": {}, "r/a.md": {Data: text}, "r/a b.md": {}, "r/b/c.md": {Data: text}, "r/CLAUDE.md": {Data: text}}
		seen := map[string]bool{}
		for _, file := range Load(Options{FS: fsys, Dir: "/r", Root: "/r", Home: "/home/dana"}).Files {
			if file.State != Loaded {
				continue
			}
			if !strings.HasPrefix(path.Clean(file.Path), "/r/") || seen[file.Path] || file.Depth >= MaxDepth {
				t.Fatalf("loaded %s at depth %d, before: %v", file.Path, file.Depth, seen[file.Path])
			}
			seen[file.Path] = true
		}
	})
}

// FuzzPatterns: front matter of any form gives patterns or none, and matching them
// against a path ends.
func FuzzPatterns(f *testing.F) {
	for _, seed := range []string{"---\npaths: [a, 'b', \"c\"]\n---\n", "---\npaths:\n- a\n - b # x\n---\n", "---\nglobs: *.sh\n---", "---\npaths: \"{a,b}/**, c\"\n---\n", "---\npaths: [\n---\n", "---\npaths: a\n---", "---\npaths:"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		patterns := patternsOf(text)
		for _, p := range patterns {
			if strings.TrimSpace(p) != p || p == "" {
				t.Fatalf("pattern %q", p)
			}
		}
		if len(text) < 200 { // a pattern may take as long as it is
			matches(patterns, "/r", "/home/dana", "/r/src/a.ts", "/r/b.sh")
		}
	})
}
