package scan

import "bytes"

// quotedPrintable writes into v what its parent says where that is a mail's text:
// =XX spelled out, and lines that end in an equals sign joined to the next. It reports
// whether anything changed. It is a reading of its own, because everywhere else an
// equals sign stands between a name and a value that may begin with two digits.
func quotedPrintable(v *view) (changed bool) {
	f := folder{view: v, text: v.parent.text}
	if !hasQuoted(f.text) {
		return false
	}
	f.walk(&equals, func() {
		if next := behindSoftBreak(f.text, f.at); next > 0 {
			f.mark(removed) // who writes it so says that nothing ends here
			f.at = next
			return
		}
		r, ok := hexRune(f.text[f.at+1:], 2)
		if !ok || r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			f.literally(1)
			return
		}
		f.putRune(r, f.at, f.at+3)
	})
	return len(v.edits) > 0
}

var equals = [256]bool{'=': true}

// hasQuoted reports whether the text can be a mail's: it has a soft break, an escaped
// sign, or two escapes side by side. page=42 and limit=2000 alone are none.
func hasQuoted(text []byte) bool {
	for at := 0; ; at++ {
		next := bytes.IndexByte(text[at:], '=')
		if next < 0 {
			return false
		}
		at += next
		if behindSoftBreak(text, at) > 0 {
			return true
		}
		r, ok := hexRune(text[at+1:], 2)
		if !ok {
			continue
		}
		behind := byte(0)
		if at+3 < len(text) {
			behind = text[at+3]
		}
		letter := text[at+2] >= 'A' || behind >= 'A' && isAlnum(behind)
		if behind == '=' || letter && r > ' ' && r < 0x7F && !isAlnum(byte(r)) {
			return true
		}
	}
}

// behindSoftBreak is where the text goes on when the equals sign at is the last of its
// line, behind the marks of a quote, or 0.
func behindSoftBreak(text []byte, at int) int {
	at++
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	if at < len(text) && text[at] == '\r' {
		at++
	}
	if at == len(text) || text[at] != '\n' {
		return 0
	}
	for at++; at < len(text) && (text[at] == ' ' || text[at] == '\t' || hasAnyPrefix(text[at:], "> ")); {
		at++
	}
	return at
}
