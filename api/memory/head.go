package memory

import (
	"bytes"
	"strings"
	"time"
)

// A scan reads no more than this of a file: front matter that does not end here is
// not seen, neither by an agent nor by us.
const (
	HeadLines = 30
	HeadBytes = 64 << 10
)

// Head is the front matter of a topic file.
type Head struct {
	Name        string
	Description string
	Type        Type
	// TypeText is the type as it is written, when that is none of the four.
	TypeText string
	// Modified is the stamp that an agent left; zero without one. The age of a
	// memory goes by the time of its file.
	Modified time.Time
	Session  string // originSessionId
	Pinned   bool
	// Lines of the block with its fences; 0 when there is none.
	Lines int
	// Body is the offset at which the text begins.
	Body    int
	Trouble Trouble
}

// Trouble says why a block that begins is not read. The words are for programs.
type Trouble string

// The troubles.
const (
	Unclosed Trouble = "unclosed" // no second fence: all of it is text
	TooLong  Trouble = "too-long" // it ends after HeadLines or HeadBytes: no field is read
)

// Field is one line "key: value" of front matter.
type Field struct {
	Key    string // "type", or "metadata.type" for one below another
	Value  string // unquoted when the same quote closes it
	Raw    string // the value as it stands, spaces around it removed
	Line   int    // in the file, from 1
	Offset int    // of Raw in the file
}

const (
	fence = "---"
	bom   = "\uFEFF"
)

// block is where the front matter stands: [open, end) are the lines between the
// fences, body is what follows.
type block struct {
	open, end, body int
	lines           int
	closed          bool
}

// cutBlock finds the block. A fence is a whole line of three dashes, with or without
// a CR; only the first line opens, behind a BOM at most.
func cutBlock(text []byte) (b block, opened bool) {
	start := 0
	if bytes.HasPrefix(text, []byte(bom)) {
		start = len(bom)
	}
	line, next := lineAt(text, start)
	if !isFence(line) {
		return block{body: start}, false
	}
	b = block{open: next, body: start, lines: 1}
	for at := next; at < len(text); at = next {
		line, next = lineAt(text, at)
		b.lines++
		if isFence(line) {
			b.end, b.body, b.closed = at, next, true
			return b, true
		}
	}
	return b, true
}

// lineAt gives the line that begins at an offset, without its end, and where the next
// one begins.
func lineAt(text []byte, at int) (line []byte, next int) {
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return text[at : at+n], at + n + 1
	}
	return text[at:], len(text)
}

func isFence(line []byte) bool {
	return string(bytes.TrimSuffix(line, []byte("\r"))) == fence
}

// Parse reads the head of a file. It takes the whole text or as much of its beginning
// as [HeadLines] lines.
func Parse(text []byte) Head {
	b, opened := cutBlock(text)
	h := Head{Body: b.body}
	switch {
	case !opened:
		return h
	case !b.closed:
		h.Trouble = Unclosed
		return h
	}
	h.Lines = b.lines
	if b.lines > HeadLines || b.body > HeadBytes+len(bom) {
		h.Trouble = TooLong
		return h
	}
	seen := map[string]bool{}
	for f := range fields(text, b) {
		if !seen[f.Key] {
			seen[f.Key] = true
			h.take(f)
		}
	}
	return h
}

// Fields lists the fields of the block as they stand, nil without one. A key that
// stands twice is listed twice; the first is the one that is read.
func Fields(text []byte) []Field {
	b, opened := cutBlock(text)
	if !opened || !b.closed {
		return nil
	}
	var all []Field
	for f := range fields(text, b) {
		all = append(all, f)
	}
	return all
}

// take keeps a field that an agent knows. It stands at the top level in older files and
// under metadata in newer ones; the top level comes first.
func (h *Head) take(f Field) {
	key, nested := strings.CutPrefix(f.Key, "metadata.")
	switch {
	case key == "name" && !nested:
		h.Name = f.Value
	case key == "description" && !nested:
		h.Description = f.Value
	case key == "type":
		h.takeType(f.Value, nested)
	case key == "modified" && (h.Modified.IsZero() || !nested):
		h.Modified, _ = stampOf(f.Value)
	case key == "originSessionId" && (h.Session == "" || !nested):
		h.Session = f.Value
	case key == "pinned" && strings.EqualFold(f.Value, "true"):
		h.Pinned = true
	}
}

func (h *Head) takeType(text string, nested bool) {
	t := TypeOf(text)
	switch {
	case t != None && (h.Type == None || !nested):
		h.Type, h.TypeText = t, ""
	case t == None && h.Type == None && (h.TypeText == "" || !nested):
		h.TypeText = text
	}
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
