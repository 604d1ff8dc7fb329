package project

import (
	"slices"
	"strings"
)

// gitConfig is a git configuration file, read as far as remotes need it: sections,
// subsections, values with quotes, escapes and continued lines. Includes are not
// followed. What cannot be read ends the reading; what came before stands.
type gitConfig []gitSetting

type gitSetting struct {
	section, sub, name, value string
}

func readConfig(path string) gitConfig {
	content, err := readSmall(path, 4<<20)
	if err != nil {
		return nil
	}
	return parseConfig(string(content))
}

// last is the value that counts when one is given several times.
func (c gitConfig) last(section, sub, name string) (string, bool) {
	for _, s := range slices.Backward(c) {
		if s.section == section && s.sub == sub && s.name == name {
			return s.value, true
		}
	}
	return "", false
}

// first is the address that git fetches from when a remote has several.
func (c gitConfig) first(section, sub, name string) (string, bool) {
	for _, s := range c {
		if s.section == section && s.sub == sub && s.name == name {
			return s.value, true
		}
	}
	return "", false
}

// subsections lists those that have a setting of that name, in order.
func (c gitConfig) subsections(section, name string) []string {
	var all []string
	for _, s := range c {
		if s.section == section && s.name == name && !slices.Contains(all, s.sub) {
			all = append(all, s.sub)
		}
	}
	return all
}

func parseConfig(text string) gitConfig {
	var all gitConfig
	section, sub := "", ""
	p := configText{rest: strings.TrimPrefix(text, "\uFEFF")}
	for p.skipBlank() {
		if p.rest[0] == '[' {
			var ok bool
			if section, sub, ok = p.header(); !ok {
				return all
			}
			continue
		}
		name, value, ok := p.setting()
		if !ok || section == "" {
			return all
		}
		all = append(all, gitSetting{section, sub, name, value})
	}
	return all
}

type configText struct{ rest string }

// skipBlank passes over space and comments; false at the end.
func (p *configText) skipBlank() bool {
	for {
		p.rest = strings.TrimLeft(p.rest, " \t\r\n")
		if p.rest == "" {
			return false
		}
		if p.rest[0] != '#' && p.rest[0] != ';' {
			return true
		}
		_, p.rest, _ = strings.Cut(p.rest, "\n")
	}
}

// header reads [section], [section "sub"] and the old [section.sub].
func (p *configText) header() (section, sub string, ok bool) {
	end := strings.IndexAny(p.rest, "]\"\n")
	if end < 0 || p.rest[end] == '\n' {
		return "", "", false
	}
	section = strings.ToLower(strings.TrimSpace(p.rest[1:end]))
	if p.rest[end] == ']' {
		p.rest = p.rest[end+1:]
		section, sub, _ = strings.Cut(section, ".")
		return section, sub, section != ""
	}
	var b strings.Builder
	for i := end + 1; i < len(p.rest) && p.rest[i] != '\n'; i++ {
		switch p.rest[i] {
		case '\\':
			if i++; i < len(p.rest) {
				b.WriteByte(p.rest[i])
			}
		case '"':
			rest := strings.TrimLeft(p.rest[i+1:], " \t")
			p.rest, ok = strings.CutPrefix(rest, "]")
			return section, b.String(), ok && section != ""
		default:
			b.WriteByte(p.rest[i])
		}
	}
	return "", "", false
}

// setting reads name = value. A name alone is true.
func (p *configText) setting() (name, value string, ok bool) {
	end := strings.IndexFunc(p.rest, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
	})
	if end < 0 {
		end = len(p.rest)
	}
	name = strings.ToLower(p.rest[:end])
	p.rest = strings.TrimLeft(p.rest[end:], " \t")
	if name == "" {
		return "", "", false
	}
	after, given := strings.CutPrefix(p.rest, "=")
	if !given {
		return name, "true", p.rest == "" || strings.ContainsRune("\r\n#;", rune(p.rest[0]))
	}
	p.rest = strings.TrimLeft(after, " \t")
	value, ok = p.value()
	return name, value, ok
}

// value reads to the end of the line: quotes keep spaces and comment signs, a
// backslash at the end goes on with the next line, bare spaces at the end go.
func (p *configText) value() (string, bool) {
	var b []byte
	keep := 0 // bytes of b that are not bare spaces at its end
	quoted := false
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '\n':
			p.rest = p.rest[i+1:]
			return string(b[:keep]), !quoted
		case c == '\\':
			i++
			escaped, skip, ok := escape(p.rest[min(i, len(p.rest)):])
			if !ok {
				return "", false
			}
			i += skip
			b = append(b, escaped...)
			keep = len(b)
		case c == '"':
			quoted = !quoted
			keep = max(keep, len(b))
		case !quoted && (c == '#' || c == ';'):
			_, p.rest, _ = strings.Cut(p.rest[i:], "\n")
			return string(b[:keep]), true
		default:
			b = append(b, c)
			if quoted || c != ' ' && c != '\t' && c != '\r' {
				keep = len(b)
			}
		}
	}
	p.rest = ""
	return string(b[:keep]), !quoted
}

// escape reads what follows a backslash; skip counts what it takes beyond one byte.
func escape(s string) (text string, skip int, ok bool) {
	switch {
	case strings.HasPrefix(s, "\r\n"):
		return "", 1, true
	case s == "":
		return "", 0, false
	}
	switch s[0] {
	case '\n':
		return "", 0, true
	case 'n':
		return "\n", 0, true
	case 't':
		return "\t", 0, true
	case 'b':
		return "\b", 0, true
	case '\\', '"':
		return s[:1], 0, true
	}
	return "", 0, false
}

func isTrue(value string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(value))
}
