package scan

import (
	"bytes"
	"unicode/utf8"
)

// fold writes into v what its parent says once its wrapping is undone: line breaks
// with the indentation, quote and comment marks about them, Markdown's emphasis,
// invisible characters, backslash escapes, HTML entities and percent encoding, the
// last as often as it was applied. What it removes leaves an [edit], because both
// can be meant: that a value goes on behind it, and that it ends there.
func fold(v *view) {
	text := v.parent.text
	f := folder{view: v, text: text}
	for f.at < len(text) {
		next := f.at
		for next < len(text) && !foldable[text[next]] {
			next++
		}
		v.copyFrom(f.at, next)
		if f.at = next; f.at < len(text) {
			f.wrapping()
		}
	}
}

// foldable are the bytes at which a wrapping can begin.
var foldable = func() (set [256]bool) {
	for _, c := range []byte("\n\r*`~_\\%&") {
		set[c] = true
	}
	for c := utf8.RuneSelf; c < 256; c++ {
		set[c] = true
	}
	return set
}()

type folder struct {
	*view
	text []byte
	at   int
	// emphasised is whether an underscore before this one, on this line, opens
	// emphasis that is not closed yet.
	emphasised bool
}

// wrapping undoes what begins at f.at, or copies the byte.
func (f *folder) wrapping() {
	text, at := f.text, f.at
	switch c := text[at]; {
	case c == '\n' || c == '\r':
		f.lineBreak(at)
	case c == '*' || c == '`':
		f.mark(removed)
		f.at++
	case c == '~':
		f.strikethrough()
	case c == '_':
		f.underscore()
	case c == '\\':
		f.backslash()
	case c == '%':
		f.percent()
	case c == '&':
		f.entity()
	default:
		r, n := utf8.DecodeRune(text[at:])
		if n > 1 && isInvisible(r) {
			f.mark(removed)
		} else {
			f.copyFrom(at, at+n)
		}
		f.at = at + n
	}
}

// lineBreak removes a break whose first byte is at: the white space and signs of
// continuation before it, which are in the view already, and the indentation and
// marks of quotes and comments behind it.
func (f *folder) lineBreak(at int) {
	f.emphasised = false
	keep := len(bytes.TrimRight(f.view.text, " \t"))
	if keep > 0 && (f.view.text[keep-1] == '\\' || f.view.text[keep-1] == '+') {
		keep = len(bytes.TrimRight(f.view.text[:keep-1], " \t"))
	}
	if keep > 1 && isQuote(f.view.text[keep-1]) && isAlnum(f.view.text[keep-2]) {
		keep--
	}
	f.truncate(keep)
	f.mark(broken)
	f.at = behindBreak(f.text, at)
}

func isQuote(c byte) bool { return c == '"' || c == '\'' }

// behindBreak is where the text goes on after a break at.
func behindBreak(text []byte, at int) int {
	for at < len(text) {
		switch c := text[at]; {
		case c == '\n', c == '\r', c == ' ', c == '\t', c == '>', c == '|':
			at++
		case hasAnyPrefix(text[at:], "# ", "// ", "* ", "-- ", "; "):
			at = at + bytes.IndexByte(text[at:], ' ') + 1
		case isQuote(c) && at+1 < len(text) && isAlnum(text[at+1]):
			return at + 1
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

func (f *folder) strikethrough() {
	if f.at+1 < len(f.text) && f.text[f.at+1] == '~' {
		f.mark(removed)
		f.at += 2
		return
	}
	f.literally(1)
}

func (f *folder) literally(n int) {
	f.copyFrom(f.at, f.at+n)
	f.at += n
}

// underscore removes a run of underscores that opens or closes emphasis. Inside of
// words they belong to names and tokens; a closing run needs an opening one, since
// a token may end a line with an underscore.
func (f *folder) underscore() {
	n := 1
	for f.at+n < len(f.text) && f.text[f.at+n] == '_' {
		n++
	}
	before := f.at > 0 && isAlnum(f.text[f.at-1])
	behind := f.at+n < len(f.text) && isAlnum(f.text[f.at+n])
	switch {
	case n <= 3 && !before && behind:
		f.emphasised = true
	case n <= 3 && before && !behind && f.emphasised:
		f.emphasised = false
	default:
		f.literally(n)
		return
	}
	f.mark(removed)
	f.at += n
}

// backslash undoes an escape, however often the backslash itself was escaped.
func (f *folder) backslash() {
	from, at := f.at, f.at
	for at < len(f.text) && f.text[at] == '\\' {
		at++
	}
	if at == len(f.text) {
		f.literally(at - from)
		return
	}
	switch c := f.text[at]; {
	case c == 'n' || c == 'r' || c == 't':
		f.mark(broken)
		f.at = behindBreak(f.text, at+1)
	case c == '\n' || c == '\r':
		f.lineBreak(at)
	case c == 'u' || c == 'x':
		f.codePoint(from, at)
	case c < utf8.RuneSelf && !isAlnum(c) && c > ' ':
		f.put(c, from, at+1)
		f.at = at + 1
	default:
		f.literally(at - from)
	}
}

// codePoint undoes \uXXXX and \xXX; at is the place of the letter.
func (f *folder) codePoint(from, at int) {
	digits := 4
	if f.text[at] == 'x' {
		digits = 2
	}
	r, ok := hexRune(f.text[at+1:], digits)
	if !ok {
		f.literally(at + 1 - from)
		return
	}
	f.putRune(r, from, at+1+digits)
}

// putRune appends what an escape stands for, or removes it where that is not
// seen or not ASCII; no rule looks for other characters.
func (f *folder) putRune(r rune, from, to int) {
	f.at = to
	switch {
	case r == '\n' || r == '\r':
		f.mark(broken)
		f.at = behindBreak(f.text, to)
	case r >= ' ' && r < 0x7F:
		f.put(byte(r), from, to)
	case r < utf8.RuneSelf || isInvisible(r):
		f.mark(removed)
	default:
		f.put(' ', from, to)
	}
}

// percent undoes %XX, and %25XX as often as it was applied.
func (f *folder) percent() {
	from, at := f.at, f.at+1
	for hasAnyPrefix(f.text[at:], "25") && at+4 <= len(f.text) && isHex(f.text[at+2]) && isHex(f.text[at+3]) {
		at += 2
	}
	r, ok := hexRune(f.text[at:], 2)
	if !ok {
		f.literally(1)
		return
	}
	f.putRune(r, from, at+2)
}

// entities are the named ones that can stand in or about a value.
var entities = map[string]rune{
	"amp": '&', "quot": '"', "apos": '\'', "lt": '<', "gt": '>', "nbsp": ' ', "lowbar": '_', "UnderBar": '_',
	"hyphen": '-', "dash": '-', "equals": '=', "plus": '+', "sol": '/', "period": '.', "colon": ':',
	"ZeroWidthSpace": 0x200B, "shy": 0xAD, "zwj": 0x200D, "zwnj": 0x200C, "NoBreak": 0x2060,
	"NewLine": '\n', "Tab": '\t', "commat": '@', "num": '#', "percnt": '%', "ast": '*', "grave": '`',
}

func (f *folder) entity() {
	const longest = 16
	rest := f.text[f.at+1:]
	end := bytes.IndexByte(rest[:min(len(rest), longest)], ';')
	if end < 1 {
		f.literally(1)
		return
	}
	name := rest[:end]
	r, ok := entities[string(name)]
	if !ok {
		r, ok = numericEntity(name)
	}
	if !ok {
		f.literally(1)
		return
	}
	f.putRune(r, f.at, f.at+1+end+1)
}

func numericEntity(name []byte) (rune, bool) {
	if len(name) < 2 || name[0] != '#' {
		return 0, false
	}
	if name[1] == 'x' || name[1] == 'X' {
		return hexRune(name[2:], len(name)-2)
	}
	r := rune(0)
	for _, c := range name[1:] {
		if c < '0' || c > '9' || r > 0xFFFF {
			return 0, false
		}
		r = r*10 + rune(c-'0')
	}
	return r, true
}

// hexRune reads n hex digits.
func hexRune(s []byte, n int) (rune, bool) {
	if n < 1 || n > 6 || len(s) < n {
		return 0, false
	}
	r := rune(0)
	for _, c := range s[:n] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
