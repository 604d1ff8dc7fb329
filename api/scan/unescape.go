package scan

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// unescape writes into v what its parent says once it is spelled out: backslash
// escapes, HTML entities and percent encoding undone, invisible characters gone. It
// reports whether anything changed; what comes out may be escaped once more.
func unescape(v *view) (changed bool) {
	f := folder{view: v, text: v.parent.text}
	if !hasEscape(f.text) {
		return false
	}
	f.walk(&escaping, func() {
		switch c := f.text[f.at]; c {
		case '\\':
			f.backslash()
		case '%':
			f.percent()
		case '&':
			f.entity()
		default:
			r, n := utf8.DecodeRune(f.text[f.at:])
			if n == 1 || !isInvisible(r) {
				f.literally(n)
				return
			}
			f.mark(removed)
			f.at += n
		}
	})
	return len(v.edits) > 0
}

// hasEscape reports whether there may be anything to undo; most notes have nothing, and
// need not be copied.
func hasEscape(text []byte) bool {
	for _, c := range []byte{'\\', '%', '&'} {
		if bytes.IndexByte(text, c) >= 0 {
			return true
		}
	}
	for i := 0; i < len(text); {
		switch {
		case i+8 <= len(text) && binary.LittleEndian.Uint64(text[i:])&0x8080808080808080 == 0:
			i += 8
		case text[i] < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(text[i:])
			if n > 1 && isInvisible(r) {
				return true
			}
			i += n
		}
	}
	return false
}

// escaping are the bytes at which an escape or an invisible character can begin.
var escaping = func() (set [256]bool) {
	set['\\'], set['%'], set['&'] = true, true, true
	for c := utf8.RuneSelf; c < 256; c++ {
		set[c] = true
	}
	return set
}()

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
	case c == 'n' || c == 'r':
		f.put('\n', from, at+1)
		f.at = at + 1
	case c == 't':
		f.put('\t', from, at+1)
		f.at = at + 1
	case c == 'u' || c == 'x' || c == 'U':
		f.codePoint(from, at)
	case isDigit(rune(c)):
		f.octal(from, at)
	case c < utf8.RuneSelf && !isAlnum(c) && c > ' ':
		f.put(c, from, at+1)
		f.at = at + 1
	default:
		f.literally(at - from)
	}
}

// codePoint undoes \uXXXX, \xXX, \UXXXXXXXX and \u{X}; at is the place of the letter.
func (f *folder) codePoint(from, at int) {
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[f.text[at]]
	if f.text[at] == 'u' && at+1 < len(f.text) && f.text[at+1] == '{' {
		f.bracedCodePoint(from, at+2)
		return
	}
	r, ok := hexRune(f.text[at+1:], digits)
	if !ok {
		f.literally(at + 1 - from)
		return
	}
	f.putRune(r, from, at+1+digits)
}

// octal undoes \141 and \0141; at is the place of the first digit. Fewer digits are
// numbers of groups, and what stands for nothing that is seen is a path.
func (f *folder) octal(from, at int) {
	n := 3
	if f.text[at] == '0' && at+3 < len(f.text) && isOctal(f.text[at+3]) {
		n++
	}
	r := rune(0)
	for i := at; i < at+n; i++ {
		if i == len(f.text) || !isOctal(f.text[i]) {
			f.literally(i - from)
			return
		}
		r = r<<3 | rune(f.text[i]-'0')
	}
	if r < ' ' && !isSpace(byte(r)) || r >= 0x7F {
		f.literally(at + n - from)
		return
	}
	f.put(byte(r), from, at+n)
	f.at = at + n
}

func isOctal(c byte) bool { return '0' <= c && c <= '7' }

// bracedCodePoint undoes \u{X}, of one to six digits; at is behind the brace.
func (f *folder) bracedCodePoint(from, at int) {
	n := bytes.IndexByte(f.text[at:min(len(f.text), at+7)], '}')
	r, ok := hexRune(f.text[at:], n)
	if !ok {
		f.literally(at - from)
		return
	}
	f.putRune(r, from, at+n+1)
}

// putRune appends what an escape stands for, or removes it where that is not
// seen or not ASCII; no rule looks for other characters.
func (f *folder) putRune(r rune, from, to int) {
	f.at = to
	switch {
	case r >= ' ' && r < 0x7F || r == '\n' || r == '\r' || r == '\t':
		f.put(byte(r), from, to)
	case r < utf8.RuneSelf || isInvisible(r):
		f.mark(removed)
	default:
		f.put(' ', from, to)
	}
}

// percent undoes %XX.
func (f *folder) percent() {
	r, ok := hexRune(f.text[f.at+1:], 2)
	if !ok || r < ' ' && r != '\n' && r != '\r' && r != '\t' {
		f.literally(1)
		return
	}
	f.putRune(r, f.at, f.at+3)
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
	if n < 1 || n > 8 || len(s) < n {
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
