package memory

import (
	"bytes"
	"iter"
	"strings"
)

// fields reads the lines between the fences one by one.
func fields(text []byte, b block) iter.Seq[Field] {
	return func(yield func(Field) bool) {
		r := fieldReader{text: text, end: b.end, child: -1}
		for at, number := b.open, 2; at < b.end; number++ {
			line, next := lineAt(text[:b.end], at)
			f, ok := r.field(line, at, number, next)
			if ok && !yield(f) {
				return
			}
			at = next
		}
	}
}

// fieldReader remembers under which key the indented lines stand.
type fieldReader struct {
	text   []byte
	end    int    // of the block
	parent string // the last key at the margin whose value is empty, else ""
	child  int    // how deep its fields are indented; -1 before the first
}

func (r *fieldReader) field(line []byte, at, number, next int) (Field, bool) {
	line = bytes.TrimRight(line, " \t\r")
	inner := bytes.TrimLeft(line, " \t")
	depth := len(line) - len(inner)
	key, from, ok := keyOf(inner)
	if !ok {
		return Field{}, false
	}
	value := bytes.TrimLeft(inner[from:], " \t")
	raw := string(value)
	f := Field{Key: key, Value: unquote(raw), Raw: raw, Line: number, Offset: at + len(line) - len(value)}
	if isBlockScalar(raw) {
		f.Value = r.folded(next, depth)
	}
	switch {
	case depth == 0:
		r.parent, r.child = "", -1
		if raw == "" {
			r.parent = key
		}
		return f, true
	case r.parent == "":
		return Field{}, false // the items of a list, a folded text
	case r.child < 0:
		r.child = depth
	case r.child != depth:
		return Field{}, false // deeper than any field that means something here
	}
	f.Key = r.parent + "." + key
	return f, true
}

// folded joins the indented lines below a ">" or "|" as one line, which is what a
// description is.
func (r *fieldReader) folded(at, depth int) string {
	var words []string
	for at < r.end {
		line, next := lineAt(r.text[:r.end], at)
		inner := bytes.TrimSpace(line)
		if len(inner) > 0 && len(bytes.TrimRight(line, " \t\r"))-len(inner) <= depth {
			break
		}
		if len(inner) > 0 {
			words = append(words, string(inner))
		}
		at = next
	}
	return strings.Join(words, " ")
}

// isBlockScalar knows the marks behind which YAML puts a text on lines of its own.
func isBlockScalar(raw string) bool {
	switch raw {
	case ">", ">-", ">+", "|", "|-", "|+":
		return true
	}
	return false
}

// keyOf is the key of a line, up to the first colon that a space follows or that ends
// the line, and where the value begins. Comments and the items of lists have none.
func keyOf(line []byte) (key string, from int, ok bool) {
	if len(line) == 0 || line[0] == '#' || bytes.HasPrefix(line, []byte("- ")) {
		return "", 0, false
	}
	for i, c := range line {
		if c != ':' || i+1 < len(line) && line[i+1] != ' ' && line[i+1] != '\t' {
			continue
		}
		key = unquote(string(bytes.TrimRight(line[:i], " \t")))
		return key, i + 1, key != ""
	}
	return "", 0, false
}

// unquote takes the quotes off a value that begins and ends with the same one.
// What stands between them is left as it is.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
