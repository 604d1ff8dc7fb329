package curate

import (
	"bytes"
	"slices"
	"strings"

	"github.com/teammem/teammem/api/memory"
)

// AddLine puts a line into an index, behind its last entry, or at its end where it has
// none. The line takes the ending that the others have.
func AddLine(index []byte, line string) []byte {
	at, text := Insertion(index, line)
	return slices.Concat(index[:at], []byte(text), index[at:])
}

// Insertion is where [AddLine] puts a line, and what exactly it puts there.
func Insertion(index []byte, line string) (at int, text string) {
	at = len(index)
	if last := lastEntry(index); last >= 0 {
		if n := bytes.IndexByte(index[last:], '\n'); n >= 0 {
			at = last + n + 1
		}
	}
	end := ending(index)
	if at > 0 && index[at-1] != '\n' {
		return at, end + line + end // the last line has no end
	}
	return at, line + end
}

// lastEntry is the offset of the last entry; -1 without any.
func lastEntry(index []byte) int {
	at := -1
	for _, l := range memory.Links(index) {
		if l.Entry {
			at = l.Offset
		}
	}
	return at
}

// Line is the entry of a memory.
func Line(title, target, hook string) string {
	if strings.ContainsAny(target, " \t()") {
		target = "<" + target + ">"
	}
	line := "- [" + label(oneLine(title)) + "](" + target + ")"
	if hook = oneLine(hook); hook != "" {
		line += " — " + hook
	}
	return line
}

// label is a title as it may stand between brackets: those of its own that are no pairs
// are escaped, and a backslash at the end is left out, or the link would begin or end
// elsewhere.
func label(title string) string {
	title = strings.TrimRight(title, `\`)
	depth, escaped, fits := 0, false, true
	var b strings.Builder
	for _, r := range title {
		bracket := !escaped && (r == '[' || r == ']')
		if bracket {
			b.WriteByte('\\')
			depth += map[rune]int{'[': 1, ']': -1}[r]
			fits = fits && depth >= 0
		}
		b.WriteRune(r)
		escaped = r == '\\' && !escaped
	}
	if !fits || depth != 0 {
		return b.String()
	}
	return title
}

// oneLine takes the ends of lines out of a text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// takeLine takes the line that holds an offset out of a text.
func takeLine(text []byte, offset int) (line string, rest []byte) {
	begin := bytes.LastIndexByte(text[:offset], '\n') + 1
	end := len(text)
	if n := bytes.IndexByte(text[offset:], '\n'); n >= 0 {
		end = offset + n + 1
	}
	// An empty text is a text: nil would say that the file goes.
	return strings.TrimRight(string(text[begin:end]), "\r\n"), append(append([]byte{}, text[:begin]...), text[end:]...)
}

// edit is a piece of a text that is replaced.
type edit struct {
	offset, length int
	text           string
}

// apply carries out edits that do not overlap. The result is never nil.
func apply(text []byte, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return a.offset - b.offset })
	out := []byte{}
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.offset]...), e.text...)
		at = e.offset + e.length
	}
	return append(out, text[at:]...)
}
