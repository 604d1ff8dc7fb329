package claudemd

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/teammem/teammem/api/memory"
)

// patternsOf reads the globs of a rule: paths, else globs, as a list in lines, a list
// in brackets, or one text with commas. It reads lines, as all our front matter: an
// unquoted *.sh is an alias to YAML and a pattern to people. A rule without any
// applies at once, and so does one for everything.
func patternsOf(content []byte) []string {
	var found *memory.Field
	for _, f := range memory.Fields(content) {
		if f.Key == "paths" && (found == nil || found.Key != "paths") || f.Key == "globs" && found == nil {
			found = &f
		}
	}
	if found == nil {
		return nil
	}
	body := memory.Parse(content).Body
	rest := string(content[found.Offset:max(body, found.Offset)])
	var all []string
	everything := true
	for _, pattern := range listOf(found.Raw, rest) {
		if pattern = unquoted(pattern); pattern == "" {
			continue
		}
		all = append(all, pattern)
		everything = everything && (pattern == "**" || pattern == "**/*" || pattern == "*")
	}
	if everything {
		return nil
	}
	return all
}

// listOf takes a value apart. rest is the front matter from the value on.
func listOf(raw, rest string) []string {
	switch {
	case strings.HasPrefix(raw, "["):
		text, _, _ := strings.Cut(rest[1:], "]")
		// A class of characters has brackets of its own.
		if line, _, _ := strings.Cut(rest, "\n"); strings.Contains(line, "]") {
			line = withoutRemark(strings.TrimRight(line, " \t\r"))
			text = strings.TrimSuffix(line[1:], "]")
		}
		return commas(text)
	case raw == "" || raw[0] == '#':
		_, below, _ := strings.Cut(rest, "\n")
		return items(below)
	}
	return commas(withoutRemark(raw))
}

// items are the lines "- item" that follow.
func items(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		item, ok := strings.CutPrefix(line, "-")
		switch {
		case line == "" || line[0] == '#':
		case !ok || line == "---" || item != "" && item[0] != ' ' && item[0] != '\t' && item[0] != '"' && item[0] != '\'':
			return all
		default:
			all = append(all, withoutRemark(strings.TrimSpace(item)))
		}
	}
	return all
}

// commas parts a text at commas outside of braces and quotes.
func commas(text string) []string {
	var all []string
	depth, quote, from := 0, byte(0), 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth <= 0:
			all = append(all, text[from:i])
			from = i + 1
		}
	}
	return append(all, text[from:])
}

// withoutRemark cuts a YAML comment.
func withoutRemark(text string) string {
	if len(text) > 0 && (text[0] == '"' || text[0] == '\'') {
		if end := strings.IndexByte(text[1:], text[0]); end >= 0 {
			if rest := strings.TrimSpace(text[end+2:]); rest == "" || rest[0] == '#' {
				return text[:end+2]
			}
		}
	}
	before, _, _ := strings.Cut(text, " #")
	return strings.TrimSpace(before)
}

// unquoted takes quotes off, also those round a whole list in one text.
func unquoted(text string) string {
	text = strings.TrimSpace(text)
	for _, quote := range []string{`"`, `'`} {
		if strings.HasPrefix(text, quote) || strings.HasSuffix(text, quote) {
			text = strings.Trim(text, quote)
		}
	}
	return strings.TrimSpace(text)
}

// matches reports whether a file, by either of its paths, is one that a rule is for.
// A pattern is held against the path below the rule's base; one without a slash
// matches at any depth, one that names a folder everything in it, and a later one with
// "!" takes back.
func matches(patterns []string, base, home string, names ...string) bool {
	matched := false
	for _, pattern := range patterns {
		pattern, not := strings.CutPrefix(pattern, "!")
		for _, name := range names {
			if name != "" && matchesOne(pattern, base, home, name) {
				matched = !not
			}
		}
	}
	return matched
}

func matchesOne(pattern, base, home, name string) bool {
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok && home != "" {
		pattern = path.Join(home, rest)
	}
	if strings.HasPrefix(pattern, "/") && glob(pattern, name) {
		return true
	}
	if !within(name, base) {
		return false
	}
	below := strings.TrimPrefix(strings.TrimPrefix(name, base), "/")
	anchored := strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "./")
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "."), "/")
	if !anchored && !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
		pattern = "**/" + pattern
	}
	return glob(pattern, below)
}

// glob matches a path or the folder that it lies in.
func glob(pattern, name string) bool {
	pattern = strings.TrimSuffix(pattern, "/")
	if ok, err := doublestar.Match(pattern, name); err != nil || ok {
		return ok
	}
	ok, err := doublestar.Match(pattern+"/**", name)
	return ok && err == nil
}

// headOf is where the text behind the front matter begins.
func headOf(content []byte) int { return memory.Parse(content).Body }
