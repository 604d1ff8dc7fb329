package merge

import (
	"slices"
	"strings"
)

// head is the front matter of a file: the block between a first line `---` and the
// next. It is read line by line, not as YAML: one file in twenty is none, and
// nothing is ever written in another form than somebody typed it.
type head struct {
	lines  []string // as they stand, without the fences
	lead   []string // lines before the first field
	fields []*field
}

// field is one `key: value` and the lines under it that belong to it: children
// where the value is empty and the lines below are indented fields, and a tail of
// whatever else stands there (the items of a list, a folded text, a comment).
type field struct {
	key      string
	path     string // key, or parent.key
	line     string
	tail     []string
	children []*field
}

const headFence = "---"

// cutHead splits the lines of a file into front matter, nil for none, and body.
func cutHead(lines []string) (*head, []string) {
	isFence := func(line string) bool { return strings.TrimSuffix(line, "\r") == headFence }
	if len(lines) == 0 || !isFence(lines[0]) {
		return nil, lines
	}
	end := slices.IndexFunc(lines[1:], isFence)
	if end < 0 {
		return nil, lines
	}
	h := &head{lines: lines[:end+2]}
	h.read(lines[1 : end+1])
	return h, lines[end+2:]
}

// read parses the lines between the fences.
func (h *head) read(lines []string) {
	var top, last *field // the field at the margin, and the one that lines belong to
	for _, line := range lines {
		depth := len(line) - len(strings.TrimLeft(line, " \t"))
		key, ok := keyOf(line[depth:])
		switch {
		case ok && depth == 0:
			top = &field{key: key, path: key, line: line}
			last = top
			h.fields = append(h.fields, top)
		case ok && top != nil && top.takes(depth):
			last = &field{key: key, path: top.key + "." + key, line: line}
			top.children = append(top.children, last)
		case last != nil:
			last.tail = append(last.tail, line)
		default:
			h.lead = append(h.lead, line)
		}
	}
}

// takes reports whether a field may have a child that is indented so deep: its own
// value is empty, and its first child stands as deep.
func (f *field) takes(depth int) bool {
	if len(f.children) > 0 {
		first := f.children[0].line
		return len(first)-len(strings.TrimLeft(first, " \t")) == depth
	}
	return valueOf(f.line) == "" && len(f.tail) == 0
}

// keyOf is the key of a field's line, which goes up to the first ": " or to a colon
// at the end. Comments and the items of lists have none.
func keyOf(s string) (string, bool) {
	s = strings.TrimRight(s, " \t\r")
	if s == "" || s[0] == '#' || strings.HasPrefix(s, "- ") {
		return "", false
	}
	if key, _, ok := strings.Cut(s, ": "); ok {
		return key, key != ""
	}
	key, ok := strings.CutSuffix(s, ":")
	return key, ok && key != ""
}

// valueOf is what follows the key, unquoted when the same quote closes it.
func valueOf(line string) string {
	_, v, _ := strings.Cut(strings.TrimSpace(line)+" ", ": ")
	v = strings.TrimSpace(v)
	if len(v) >= 2 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] {
		v = v[1 : len(v)-1]
	}
	return v
}

// maxFields bounds the fields of a block that is merged by field. Real ones have
// fewer than ten.
const maxFields = 200

// plain reports whether every field can be told by its path. A block where one
// stands twice, or that is no front matter by its size, is merged as mere lines.
func (h *head) plain() bool {
	seen := map[string]bool{}
	for _, f := range h.fields {
		for _, g := range append([]*field{f}, f.children...) {
			if seen[g.path] || len(seen) == maxFields {
				return false
			}
			seen[g.path] = true
		}
	}
	return true
}

// write appends a field as it stands.
func (f *field) write(to []string) []string {
	to = append(append(to, f.line), f.tail...)
	for _, child := range f.children {
		to = child.write(to)
	}
	return to
}

// same reports whether two fields, or two absences, are equal to the letter.
func (f *field) same(g *field) bool {
	if f == nil || g == nil {
		return f == g
	}
	return slices.Equal(f.write(nil), g.write(nil))
}

// find gives the field with a key, nil when there is none.
func find(fields []*field, key string) *field {
	for _, f := range fields {
		if f.key == key {
			return f
		}
	}
	return nil
}
