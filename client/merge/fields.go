package merge

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// mergeHeads merges the front matter of a file, its fences included. Fields are
// told by their path, whatever their order; unknown lines merge as lines.
func mergeHeads(base, x, y *head) ([]string, *doubt) {
	switch {
	case x == nil && y == nil:
		return nil, nil
	case base != nil && (x == nil || y == nil):
		if left := cmp.Or(x, y); !slices.Equal(left.lines, base.lines) {
			return nil, headRemoved()
		}
		return nil, nil
	case x == nil || y == nil:
		return slices.Clone(cmp.Or(x, y).lines), nil
	case base == nil:
		base = &head{}
	}
	if !base.plain() || !x.plain() || !y.plain() {
		return mergeLines(base.lines, x.lines, y.lines, rules{})
	}
	lead, in := mergeLines(base.lead, x.lead, y.lead, rules{})
	if in != nil {
		return nil, in.below(1)
	}
	fields, in := mergeFields(base.fields, x.fields, y.fields)
	if in != nil {
		return nil, in
	}
	out := append([]string{x.lines[0]}, lead...)
	for _, f := range fields {
		out = f.write(out)
	}
	return append(out, x.lines[len(x.lines)-1]), nil
}

// mergeFields merges the fields of one level.
func mergeFields(base, x, y []*field) ([]*field, *doubt) {
	var out []*field
	for _, key := range order(keys(base), keys(x), keys(y)) {
		f, in := mergeField(find(base, key), find(x, key), find(y, key))
		if in != nil {
			return nil, in
		}
		if f != nil {
			out = append(out, f)
		}
	}
	return out, nil
}

// mergeField merges one field; nil stands for one that is not there.
func mergeField(base, x, y *field) (*field, *doubt) {
	switch {
	case x.same(y) || base.same(y):
		return x, nil
	case base.same(x):
		return y, nil
	case x == nil || y == nil:
		return nil, fieldRemoved(base.path)
	case base == nil:
		base = &field{}
	}
	line, ok := mergeValue(x.key, base.line, x.line, y.line)
	if !ok {
		return nil, fieldChanged(x.path)
	}
	tail, in := mergeLines(base.tail, x.tail, y.tail, rules{})
	if in != nil {
		return nil, fieldChanged(x.path)
	}
	children, in := mergeFields(base.children, x.children, y.children)
	if in != nil {
		return nil, in
	}
	return &field{key: x.key, path: x.path, line: line, tail: tail, children: children}, nil
}

// stampKey is the field in which agents note when they last wrote a file.
const stampKey = "modified"

// mergeValue merges the line of a field. Of two new stamps the later wins; of two
// spellings that differ in the spaces around them, the shorter.
func mergeValue(key, base, x, y string) (string, bool) {
	switch {
	case x == y || base == y:
		return x, true
	case base == x:
		return y, true
	case key == stampKey:
		return later(x, y)
	case strings.TrimSpace(x) == strings.TrimSpace(y):
		if len(y) < len(x) {
			return y, true
		}
		return x, true
	}
	return "", false
}

// later is the line with the later time, if both hold one.
func later(x, y string) (string, bool) {
	tx, okX := stampOf(valueOf(x))
	ty, okY := stampOf(valueOf(y))
	if !okX || !okY {
		return "", false
	}
	if tx.After(ty) || tx.Equal(ty) && x > y {
		return x, true
	}
	return y, true
}

// stampOf reads a time as people and programs write it.
func stampOf(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func keys(fields []*field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.key
	}
	return out
}

// order is the keys of both sides in one order: that of the side that rearranged
// them, with what only the other has behind the key it follows there.
func order(base, x, y []string) []string {
	if !rearranged(base, x) {
		x, y = y, x
	}
	out := slices.Clone(x)
	for i, key := range y {
		if slices.Contains(out, key) {
			continue
		}
		at := 0
		if i > 0 {
			at = slices.Index(out, y[i-1]) + 1
		}
		out = slices.Insert(out, at, key)
	}
	return out
}

// rearranged reports whether the keys that are left of base stand in another order.
func rearranged(base, side []string) bool {
	at := -1
	for _, key := range side {
		if i := slices.Index(base, key); i >= 0 {
			if i < at {
				return true
			}
			at = i
		}
	}
	return false
}
