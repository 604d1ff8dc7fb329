package scan

import (
	"bytes"
	"strings"
)

// join writes into v what its parent says once it is on one line: breaks, with the
// indentation and the marks of quotes and comments about them, and Markdown's
// emphasis are taken out, strings that are put together are one, and the cells of a table follow each other like a name and
// its value. What it removes leaves an [edit], because both can be meant: that a
// value goes on behind it, and that it ends there.
func join(v *view) (changed bool) {
	f := folder{view: v, text: v.parent.text}
	f.walk(&joining, func() {
		switch f.text[f.at] {
		case '\n', '\r':
			f.lineBreak()
		case '|':
			f.cell()
		case '~':
			f.strikethrough()
		case '<':
			f.tag()
		case '_':
			f.underscore()
		case '"', '\'':
			f.quote()
		default: // * and `
			f.mark(removed)
			f.at++
		}
	})
	return len(v.edits) > 0
}

// joining are the bytes at which something to be taken out can begin.
var joining = func() (set [256]bool) {
	for _, c := range []byte("\n\r*`~_|<\"'") {
		set[c] = true
	}
	return set
}()

// folder is what [unescape] and [join] work with.
type folder struct {
	*view
	text []byte // the parent's
	at   int
	// emphasised is whether an underscore before this one opens emphasis, and
	// closing where the next is that could close one.
	emphasised bool
	closing    int
	// row is whether the line up to rowEnd is a row of a table.
	row    bool
	rowEnd int
}

// walk copies the text up to each byte of the set and calls fn there, which moves
// f.at on.
func (f *folder) walk(set *[256]bool, fn func()) {
	for f.at < len(f.text) {
		next := f.at
		for next < len(f.text) && !set[f.text[next]] {
			next++
		}
		f.copyFrom(f.at, next)
		if f.at = next; f.at < len(f.text) {
			fn()
		}
	}
}

// lineBreak removes a break: the white space and signs of continuation before it,
// which are in the view already, and the indentation and marks of quotes and
// comments behind it. Quotes go where one line ends and the next begins with one: a
// string in two parts.
func (f *folder) lineBreak() {
	next := behindBreak(f.text, f.at)
	keep := len(bytes.TrimRight(f.view.text, " \t"))
	if keep > 0 && f.view.text[keep-1] == '\\' || keep > 1 && f.view.text[keep-1] == '+' && strings.IndexByte(" \"'", f.view.text[keep-2]) >= 0 {
		keep = len(bytes.TrimRight(f.view.text[:keep-1], " \t"))
	}
	if keep > 0 && next < len(f.text) && isQuote(f.text[next]) && f.view.text[keep-1] == f.text[next] {
		keep--
		next++
	}
	f.truncate(keep)
	f.mark(broken)
	f.at = next
}

// operators are what puts two strings together in some language.
var operators = []string{"++", "+", "..", ".", "||", "&", "<>"}

// quote removes what stands between two strings that are put together to one.
func (f *folder) quote() {
	at := spaceBehind(f.text, f.at+1)
	if at < len(f.text) && strings.IndexByte("+.|&<", f.text[at]) >= 0 {
		for _, operator := range operators {
			if !hasAnyPrefix(f.text[at:], operator) {
				continue
			}
			if next := spaceBehind(f.text, at+len(operator)); next < len(f.text) && isQuote(f.text[next]) {
				f.mark(removed)
				f.at = next + 1
				return
			}
		}
	}
	f.literally(1)
}

// spaceBehind is where white space ends that stands at, which is not looked at for long.
func spaceBehind(text []byte, at int) int {
	const longest = 80
	for most := min(len(text), at+longest); at < most && isSpace(text[at]); {
		at++
	}
	return at
}

func isQuote(c byte) bool { return c == '"' || c == '\'' }

// behindBreak is where the text goes on after a break at.
func behindBreak(text []byte, at int) int {
	for at < len(text) {
		switch c := text[at]; {
		case isSpace(c), c == '>', c == '|':
			at++
		case hasAnyPrefix(text[at:], "# ", "// ", "* ", "-- ", "; ", "+ "):
			at += bytes.IndexByte(text[at:], ' ') + 1
		default:
			return at
		}
	}
	return at
}

func hasAnyPrefix(text []byte, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(text) >= len(p) && string(text[:len(p)]) == p {
			return true
		}
	}
	return false
}

// truncate takes back what was written beyond keep.
func (f *folder) truncate(keep int) {
	f.view.text = f.view.text[:keep]
	for n := len(f.spans); n > 0 && int(f.spans[n-1].at) >= keep; n-- {
		f.spans = f.spans[:n-1]
	}
	for i := len(f.edits) - 1; i >= 0 && int(f.edits[i].at) > keep; i-- {
		f.edits[i].at = int32(keep)
	}
}

// cell puts a colon between two cells of a table, where names stand before values.
func (f *folder) cell() {
	n := 1
	for f.at+n < len(f.text) && f.text[f.at+n] == '|' {
		n++
	}
	before := f.at == 0 || isSpace(f.text[f.at-1])
	behind := f.at+n == len(f.text) || isSpace(f.text[f.at+n])
	if n > 1 || !before && !behind || !f.inRow() {
		f.literally(n)
		return
	}
	f.put(':', f.at, f.at+1)
	f.at++
}

// inRow reports whether the line has more than one sign of a cell.
func (f *folder) inRow() bool {
	if f.at >= f.rowEnd {
		end := bytes.IndexByte(f.text[f.at:], '\n')
		if end < 0 {
			end = len(f.text) - f.at
		}
		f.row = bytes.Count(f.text[f.at:f.at+end], []byte("|")) > 1
		f.rowEnd = f.at + end
	}
	return f.row
}

func (f *folder) strikethrough() {
	if f.at+1 < len(f.text) && f.text[f.at+1] == '~' {
		f.mark(removed)
		f.at += 2
		return
	}
	f.literally(1)
}

// inlineTags are those that can stand inside of a word without being seen.
var inlineTags = map[string]bool{
	"a": true, "b": true, "br": true, "code": true, "del": true, "em": true, "font": true, "i": true, "ins": true, "kbd": true, "mark": true,
	"s": true, "samp": true, "small": true, "span": true, "strong": true, "sub": true, "sup": true, "tt": true, "u": true, "wbr": true,
}

// tag removes a tag of HTML that shows nothing, or a comment, and with a break the
// white space behind it.
func (f *folder) tag() {
	const longest = 200
	rest := f.text[f.at+1:]
	rest = rest[:min(len(rest), longest)]
	end, name := bytes.IndexByte(rest, '>'), 0
	if bytes.HasPrefix(rest, []byte("!--")) {
		if end = bytes.Index(rest, []byte("-->")); end < 0 {
			f.literally(1)
			return
		}
		f.mark(removed)
		f.at += 1 + end + len("-->")
		return
	}
	rest = bytes.TrimPrefix(rest, []byte("/"))
	for name < len(rest) && isAlnum(rest[name]) {
		name++
	}
	tag := string(bytes.ToLower(rest[:name]))
	if end < 0 || !inlineTags[tag] {
		f.literally(1)
		return
	}
	f.at += 1 + end + 1
	if tag != "br" {
		f.mark(removed)
		return
	}
	f.mark(broken)
	for f.at < len(f.text) && isSpace(f.text[f.at]) {
		f.at++
	}
}

func (f *folder) literally(n int) {
	f.copyFrom(f.at, f.at+n)
	f.at += n
}

// underscore removes a run of underscores that opens or closes emphasis. Inside of
// words they belong to names and tokens, and so does one without a counterpart.
func (f *folder) underscore() {
	n := f.underscores(f.at)
	opens := f.opens(f.at, n)
	closes := f.closes(f.at, n)
	switch {
	case opens && f.closed(f.at+n):
		f.emphasised = true
	case closes && f.emphasised:
	default:
		f.literally(n)
		return
	}
	f.mark(removed)
	f.at += n
}

func (f *folder) underscores(at int) int {
	n := 1
	for at+n < len(f.text) && f.text[at+n] == '_' {
		n++
	}
	return n
}

func (f *folder) opens(at, n int) bool {
	return n <= 3 && (at == 0 || !isAlnum(f.text[at-1]) && strings.IndexByte("=+/-.", f.text[at-1]) < 0) && at+n < len(f.text) && !isSpace(f.text[at+n])
}

func (f *folder) closes(at, n int) bool {
	return n <= 3 && at > 0 && !isSpace(f.text[at-1]) && (at+n == len(f.text) || !isAlnum(f.text[at+n]))
}

// closed reports whether a run that closes emphasis comes at or behind at.
func (f *folder) closed(at int) bool {
	for f.closing = max(f.closing, at); f.closing < len(f.text); {
		next := bytes.IndexByte(f.text[f.closing:], '_')
		if next < 0 {
			f.closing = len(f.text)
			break
		}
		f.closing += next
		n := f.underscores(f.closing)
		if f.closes(f.closing, n) {
			return true
		}
		f.closing += n
	}
	return false
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
