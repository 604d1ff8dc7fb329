package claudemd

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reference is an "@" in text that may be an import.
type reference struct {
	line int
	raw  string // as it stands, up to a space
	// paths are what it may mean, the longest first: with what stands behind the
	// path cut off step by step.
	paths []string
}

// maxReference bounds a path.
const maxReference = 1024

// references finds what may be imports of a text.
func references(source []byte, dead []bool) []reference {
	var all []reference
	line, counted := 1, 0
	for at := 0; ; at++ {
		n := bytes.IndexByte(source[at:], '@')
		if n < 0 {
			return all
		}
		at += n
		if dead[at] || !opens(source[:at]) {
			continue
		}
		raw := rawPath(source[at+1:], dead[at+1:])
		if raw == "" {
			continue
		}
		line += bytes.Count(source[counted:at], []byte("\n"))
		counted = at
		all = append(all, reference{line: line, raw: raw, paths: meanings(raw)})
		at += len(raw)
	}
}

// opens reports whether an import may begin behind a text: not inside a word, an
// address, a path or behind a backslash. Scripts without spaces need none.
func opens(before []byte) bool {
	r, size := utf8.DecodeLastRune(before)
	switch {
	case size == 0 || unicode.IsSpace(r):
		return true
	case strings.ContainsRune(`.+-/\@:=&%#~`+"`", r):
		return false
	case r == '_': // emphasis, unless it is part of a word
		return len(before) == 1 || opens(before[:len(before)-1])
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return true
	}
	return !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// rawPath reads up to a space that no backslash stands before, an end of line, code, or
// what no path holds.
func rawPath(source []byte, dead []bool) string {
	for i := 0; i < len(source) && i <= maxReference; i++ {
		switch c := source[i]; {
		case dead[i], c == '\n', c == '\r', c == '\t', c == '<', c == '>', c == '@', c == '`', c == 0:
			return string(source[:i])
		case c == ' ' && (i == 0 || source[i-1] != '\\'):
			return string(source[:i])
		}
	}
	if len(source) > maxReference {
		return ""
	}
	return string(source)
}

// behind is punctuation that may follow a path in a sentence.
const behind = ".,;:!?)]}*_\"'|…。，、；：！？）】」』》〉”’—–"

// meanings lists what a reference may mean, the longest first.
func meanings(raw string) []string {
	var all []string
	add := func(path string) {
		path = unescape(path)
		if path != "" && path != "." && path != ".." && !slices.Contains(all, path) {
			all = append(all, path)
		}
		if before, _, ok := strings.Cut(path, "#"); ok && before != "" && !slices.Contains(all, before) {
			all = append(all, before)
		}
	}
	shorten := func(path string) {
		for range 8 {
			add(path)
			r, size := utf8.DecodeLastRuneInString(path)
			if size == 0 || !strings.ContainsRune(behind, r) {
				return
			}
			path = path[:len(path)-size]
		}
	}
	shorten(raw)
	// A space of another kind may belong to the name or stand behind it.
	if at := strings.IndexFunc(raw, func(r rune) bool { return r > unicode.MaxASCII && unicode.IsSpace(r) }); at > 0 {
		shorten(raw[:at])
	}
	for _, end := range endsOfName(raw) {
		add(raw[:end])
	}
	return all
}

// endsOfName finds where a file name ends though text goes on, as in "@a.md|" or
// "@a.mdを": behind an ending that files of text have.
func endsOfName(raw string) []int {
	var ends []int
	for i := len(raw) - 1; i > 0 && len(ends) < 4; i-- {
		if raw[i] != '.' {
			continue
		}
		end := i + 1
		for end < len(raw) && (raw[end] >= 'a' && raw[end] <= 'z' || raw[end] >= 'A' && raw[end] <= 'Z' || raw[end] >= '0' && raw[end] <= '9') {
			end++
		}
		if end < len(raw) && isText(raw[:end]) && raw[end] != '/' && raw[end] != '.' && raw[end] != '-' && raw[end] != '_' && raw[end] != '\\' {
			ends = append(ends, end)
		}
	}
	return ends
}

// unescape takes away the backslashes that Markdown and a shell put before spaces and
// punctuation.
func unescape(path string) string {
	if !strings.ContainsRune(path, '\\') {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+1 < len(path) && !isWordByte(path[i+1]) {
			i++
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= utf8.RuneSelf || c == '/' || c == '\\'
}

// name is the reference as a person reads it, without what only follows it.
func (r reference) name() string { return strings.TrimRight(r.raw, behind) }

// meant reports whether a reference that leads to no file looks like one all the same:
// packages (@types/node), people and aliases of a source tree (@/lib/x.ts) do not.
func (r reference) meant() bool {
	for _, start := range []string{"./", "../", "~/"} {
		if strings.HasPrefix(r.raw, start) {
			return true
		}
	}
	return slices.ContainsFunc(r.paths, func(path string) bool {
		switch extension(path) {
		case "md", "markdown", "mdx", "mdc", "txt", "rst":
			return true
		}
		return false
	})
}

// textEndings are those of files that may be imported; a name without any is judged
// by its content alone.
var textEndings = func() map[string]bool {
	set := map[string]bool{}
	for ending := range strings.FieldsSeq(`md markdown mdx mdc txt text rst adoc asciidoc org tex log diff patch
json jsonc json5 jsonl yaml yml toml ini cfg conf config properties xml csv tsv html htm xhtml css scss sass less svg
js mjs cjs jsx ts mts cts tsx vue svelte astro py pyi rb go rs java kt kts scala clj cljs groovy gradle swift m mm c h cc cpp cxx hpp hxx
cs fs vb php pl pm lua r jl dart ex exs erl hs ml mli elm zig nim sh bash zsh fish ps1 bat cmd sql graphql gql proto tf hcl nix
dockerfile makefile cmake mk editorconfig gitignore lock example sample tmpl template`) {
		set[ending] = true
	}
	return set
}()

// isText judges by the name.
func isText(path string) bool {
	ending := extension(path)
	return ending == "" || textEndings[ending]
}

func extension(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return ""
	}
	return strings.ToLower(name[dot+1:])
}
