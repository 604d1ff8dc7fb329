package recall

import (
	"slices"
	"strings"
)

// leftOut tells which notes a question does not want: those shown already, and the
// plain reference notes of tools that are in use.
func (x *Index) leftOut(q Query) func(*document) bool {
	tools := make([][]uint32, 0, len(q.Tools))
	words := newSplitter()
	for _, tool := range q.Tools {
		tools = append(tools, toolWords(words, tool)...)
	}
	return func(d *document) bool {
		if slices.Contains(q.Shown, d.note.Path) {
			return true
		}
		return !d.warns && isReference(d.note) && slices.ContainsFunc(tools, d.isAbout)
	}
}

// toolWords is what a tool is called in notes: its name, and for a tool of an MCP
// server (mcp__server__tool) the server's, or the tool's own.
func toolWords(words *splitter, tool string) [][]uint32 {
	names := []string{tool}
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		names = strings.SplitN(rest, "__", 2)
	}
	var all [][]uint32
	for _, name := range names {
		var terms []uint32
		words.split(prepare(name), func(t term) {
			if t.part && len(terms) == 1 {
				all = append(all, terms) // the compound as it is written
				terms = nil
			}
			terms = append(terms, hash(t.text))
		})
		if len(terms) > 0 {
			all = append(all, terms)
		}
	}
	return all
}

// isAbout reports whether name or description hold every word.
func (d *document) isAbout(words []uint32) bool {
	for _, word := range words {
		c, ok := d.terms.find(word)
		if !ok || c.name == 0 && c.description == 0 {
			return false
		}
	}
	return true
}

// isReference knows notes on where things are and how they are used: by their type,
// and without one by how they are called.
func isReference(n Note) bool {
	if n.Type != "" {
		return n.Type == "reference"
	}
	return holdsAny(n.Name+" "+n.Description, "reference", "usage", "how to use", "api", "docs", "documentation", "cheat sheet", "cheatsheet", "manual", "用法", "文档", "使い方", "リファレンス", "사용법", "문서")
}

// isWarning knows notes that keep one from harm. Name and description say so in
// many words; in a text it takes a plain one, since texts say "fails" of anything.
func isWarning(n Note) bool {
	return holdsAny(n.Name+" "+n.Description+" "+stemOf(n.Path), slices.Concat(plainWarnings, softWarnings)...) || holdsAny(n.Body, plainWarnings...)
}

var plainWarnings = []string{
	"gotcha", "gotchas", "warning", "warnings", "caveat", "caveats", "pitfall", "pitfalls", "beware", "danger", "dangerous", "careful",
	"known issue", "known issues", "known bug", "never", "do not", "don't", "don’t", "must not", "trap", "traps", "footgun", "workaround", "silently",
	"注意", "警告", "陷阱", "千万不要", "不要", "切勿", "禁止", "坑", "落とし穴", "しないで", "してはいけない", "危険", "주의", "경고", "함정", "하지 마", "금지",
}

var softWarnings = []string{
	"bug", "bugs", "breaks", "broken", "fails", "failure", "crash", "crashes", "hangs", "avoid", "instead of", "cannot", "can't", "limit", "limits", "limitation", "limitations",
	"quirk", "quirks", "issue", "issues", "problem", "problems", "wrong", "loses", "drops", "ignores", "swallows", "corrupts", "flaky",
	"不能", "失败", "问题", "限制", "できない", "失敗", "不具合", "バグ", "제한", "문제", "실패", "버그",
}

// holdsAny looks for words, whole ones in scripts with spaces.
func holdsAny(text string, words ...string) bool {
	text = strings.ToLower(prepare(text))
	for _, word := range words {
		for from := 0; ; {
			at := strings.Index(text[from:], word)
			if at < 0 {
				break
			}
			at += from
			from = at + len(word)
			if !isASCII(word) || !isWordAt(text, at-1) && !isWordAt(text, from) {
				return true
			}
		}
	}
	return false
}

func isWordAt(text string, i int) bool {
	if i < 0 || i >= len(text) {
		return false
	}
	c := text[i]
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_'
}
