package merge

import (
	"bytes"
	"strings"
	"unicode"
)

// whole is what concerns a text as a whole, beside its lines.
type whole struct {
	bom   bool // it begins with a byte order mark
	crlf  bool // its lines end in CRLF
	ended bool // its last line has an end
}

const bom = "\xef\xbb\xbf"

// ends says how the lines of a text end.
type ends int

const (
	endsNone  ends = iota // there is no line end
	endsLF                // all in LF
	endsCRLF              // all in CRLF
	endsMixed             // some in this, some in that
)

func endsOf(text []byte) ends {
	all := bytes.Count(text, []byte("\n"))
	switch bytes.Count(text, []byte("\r\n")) {
	case 0:
		if all == 0 {
			return endsNone
		}
		return endsLF
	case all:
		return endsCRLF
	}
	return endsMixed
}

// open takes three texts apart into lines without their ends, and decides what
// concerns the whole of the result: a change of one side is followed. Where one of
// the texts mixes its line ends they are part of the lines, and stay as they are
// line by line.
func open(base, x, y []byte) (b, lx, ly []string, w whole) {
	eb, ex, ey := endsOf(base), endsOf(x), endsOf(y)
	cr := eb != endsMixed && ex != endsMixed && ey != endsMixed
	w.crlf = cr && chooseEnds(eb, ex, ey) == endsCRLF

	b, wb := split(base, cr)
	lx, wx := split(x, cr)
	ly, wy := split(y, cr)
	w.bom = follow(wb.bom, wx.bom, wy.bom)
	w.ended = follow(wb.ended, wx.ended, wy.ended)
	return b, lx, ly, w
}

func chooseEnds(base, x, y ends) ends {
	switch {
	case x == y || y == endsNone:
		return x
	case x == endsNone || base == x:
		return y
	case base == y:
		return x
	}
	return endsLF
}

// follow gives the value of the side that changed it.
func follow(base, x, y bool) bool {
	if x == base {
		return y
	}
	return x
}

// split cuts a text into lines without their ends; cr tells it to take a carriage
// return before the newline for a part of the end. An empty text has no lines and
// counts as ended.
func split(text []byte, cr bool) ([]string, whole) {
	s, marked := strings.CutPrefix(string(text), bom)
	w := whole{bom: marked, ended: s == "" || strings.HasSuffix(s, "\n")}
	if s == "" {
		return nil, w
	}
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if !cr {
		return lines, w
	}
	for i, line := range lines {
		if i < len(lines)-1 || w.ended {
			lines[i] = strings.TrimSuffix(line, "\r")
		}
	}
	return lines, w
}

// join is the way back. An empty last line without an end would be no line at
// all, so it gets one.
func (w whole) join(lines []string) []byte {
	end := "\n"
	if w.crlf {
		end = "\r\n"
	}
	var b bytes.Buffer
	if w.bom {
		b.WriteString(bom)
	}
	for i, line := range lines {
		b.WriteString(line)
		if i < len(lines)-1 || w.ended || line == "" {
			b.WriteString(end)
		}
	}
	return b.Bytes()
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }

// wordy reports whether a line holds a letter or a digit. Blank lines, rules and
// closing brackets do not; equal ones are everywhere and prove nothing.
func wordy(line string) bool {
	return strings.IndexFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0
}

// telling reports whether a line says something by itself: "```sh" has letters but
// only opens a block.
func telling(line string) bool { return wordy(line) && !fence(line) }

// label reports whether a line only names what follows, as "**How to apply:**"
// does. Two people who write it need not mean the same thing.
func label(line string) bool { return strings.HasSuffix(strings.TrimRight(line, " *_"), ":") }

func heading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	return len(rest) < len(line) && (rest == "" || rest[0] == ' ')
}

// item reports whether a line stands for itself: a list item at the margin or the
// row of a table. Such lines may be shuffled like cards; others belong to the ones
// around them.
func item(line string) bool {
	if line == "" {
		return false
	}
	switch line[0] {
	case '-', '*', '+':
		return strings.HasPrefix(line[1:], " ")
	case '|':
		return true
	}
	rest := strings.TrimLeft(line, "0123456789")
	return len(rest) < len(line) && strings.HasPrefix(rest, ". ")
}

// fence reports whether a line opens or closes a block of code.
func fence(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}
