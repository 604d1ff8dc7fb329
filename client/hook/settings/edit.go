package settings

import (
	"bytes"
	"encoding/json"
	"strings"
)

// style is how a text is laid out.
type style struct {
	indent, end string
	flat        bool // all of it stands on one line
}

// style looks at the first line that is indented, and at the first end of a line.
func (d *Document) style() style {
	s := style{indent: "  ", end: "\n"}
	first := bytes.IndexByte(d.text, '\n')
	if first > 0 && d.text[first-1] == '\r' {
		s.end = "\r\n"
	}
	inner := d.text[d.Root.Start:d.Root.End]
	if len(d.Root.Members) > 0 && !bytes.ContainsRune(inner, '\n') {
		s.flat = true
	}
	for line := range bytes.Lines(inner) {
		trimmed := bytes.TrimLeft(line, " \t")
		if width := len(line) - len(trimmed); width > 0 && len(bytes.TrimSpace(trimmed)) > 0 && trimmed[0] == '"' {
			s.indent = string(line[:width])
			break
		}
	}
	return s
}

func (s style) brk(depth int) string {
	if s.flat {
		return ""
	}
	return s.end + strings.Repeat(s.indent, depth)
}

func (s style) member(key, value string) string { return quote(key) + ": " + value }

// object and list stand at a depth; their parts stand one deeper.
func (s style) object(depth int, parts ...string) string { return s.wrap("{", "}", depth, parts) }

func (s style) list(depth int, parts ...string) string { return s.wrap("[", "]", depth, parts) }

func (s style) wrap(begin, end string, depth int, parts []string) string {
	between := ","
	if s.flat {
		between = ", "
	}
	return begin + s.brk(depth+1) + strings.Join(parts, between+s.brk(depth+1)) + s.brk(depth) + end
}

// insert puts a part at the end of an object or array whose parts stand at a depth.
// It adds one run of bytes, which [Document.cuts] finds again.
func (d *Document) insert(into *Value, part string, depth int, s style) []byte {
	var at int
	piece := s.brk(depth) + part
	empty := len(into.Members)+len(into.Items) == 0
	switch {
	case empty:
		// Behind the opening bracket; what stands between the brackets stays.
		at = into.Start + 1
		piece += s.brk(depth - 1)
	case into.comma:
		at = d.lastComma(into) + 1
		if s.flat {
			piece = " " + piece
		}
		piece += ","
	default:
		at = into.lastEnd()
		if s.flat {
			piece = " " + piece
		}
		piece = "," + piece
	}
	return splice(d.text, at, at, piece)
}

func (v *Value) lastEnd() int {
	if n := len(v.Items); n > 0 {
		return v.Items[n-1].End
	}
	return v.Members[len(v.Members)-1].Value.End
}

// lastComma is the comma behind the last part. Only space and comments lie between.
func (d *Document) lastComma(v *Value) int {
	p := &parser{text: d.text, at: v.lastEnd()}
	if p.space() != nil {
		return v.lastEnd()
	}
	return p.at
}

// cuts are the ways to take a value out of the one above it, the likeliest first. None
// takes a comment with it; not all of them leave a text that can be read.
func (d *Document) cuts(in, v *Value, closing int) [][]byte {
	start, previous := v.Start, -1
	for i, item := range in.Items {
		if item == v && i > 0 {
			previous = in.Items[i-1].End
		}
	}
	for i, m := range in.Members {
		if m.Value != v {
			continue
		}
		if start = m.Start; i > 0 {
			previous = in.Members[i-1].Value.End
		}
	}
	begin := d.lineBegin(start, in.Start+1)
	ways := [][2]int{{begin, v.End + closing}, {begin, v.End}, {begin, d.after(v.End)}}
	if previous >= 0 {
		ways = [][2]int{{previous, v.End}, {d.after(previous), d.after(v.End)}}
	}
	ways = append(ways, [2]int{start, d.after(v.End)}, [2]int{start, v.End})
	var all [][]byte
	for _, way := range ways {
		from, to := way[0], way[1]
		if to < in.End && !hasComment(d.text[from:start]) && !hasComment(d.text[v.End:to]) {
			all = append(all, splice(d.text, from, to, ""))
		}
	}
	return all
}

func hasComment(between []byte) bool {
	return bytes.Contains(between, []byte("//")) || bytes.Contains(between, []byte("/*"))
}

// after is behind the comma that follows an offset, if one does.
func (d *Document) after(at int) int {
	p := &parser{text: d.text, at: at}
	if p.space() == nil && p.peek() == ',' {
		return p.at + 1
	}
	return at
}

// lineBegin goes back over the white space before an offset.
func (d *Document) lineBegin(at, floor int) int {
	for at > floor && (d.text[at-1] == ' ' || d.text[at-1] == '\t' || d.text[at-1] == '\n' || d.text[at-1] == '\r') {
		at--
	}
	return at
}

func splice(text []byte, from, to int, piece string) []byte {
	out := make([]byte, 0, len(text)+len(piece))
	out = append(out, text[:from]...)
	out = append(out, piece...)
	return append(out, text[to:]...)
}

// Quote writes a text as JSON does, and as JavaScript takes it.
func Quote(s string) string { return quote(s) }

func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
