package scan

import "unicode/utf8"

// Bounds of what is decoded.
const (
	// shortestEncoded is the shortest run of base64 that is looked at.
	shortestEncoded = 16
	// shortestDecoded is the shortest text that counts: below it, words happen to
	// decode to printable characters.
	shortestDecoded = 12
	// deepest is how many levels of base64 are undone.
	deepest = 2
)

// sextets gives the value of a character of either alphabet, 64 for padding and
// 255 for any other.
var sextets = func() (t [256]uint8) {
	for i := range t {
		t[i] = 255
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = uint8(i)
	}
	t['-'], t['_'] = 62, 63
	t['='] = 64
	return t
}()

// decodeText decodes base64 from the beginning of s as long as it yields text, and
// says how many bytes of s that took. Digests, names and compressed data stop it
// within a few bytes.
func decodeText(dst, s []byte) (text []byte, used int) {
	for used+1 < len(s) {
		var group [3]byte
		n := 0 // characters of this group
		var bits uint32
		for n < 4 && used+n < len(s) && sextets[s[used+n]] < 64 {
			bits = bits<<6 | uint32(sextets[s[used+n]])
			n++
		}
		if n < 2 {
			return dst, used
		}
		bits <<= 6 * (4 - n)
		group = [3]byte{byte(bits >> 16), byte(bits >> 8), byte(bits)}
		for _, c := range group[:n-1] {
			if !isTextByte(c) {
				return dst, used
			}
			dst = append(dst, c)
		}
		used += n
		if n < 4 {
			return dst, used
		}
	}
	return dst, used
}

// isTextByte: bytes beyond ASCII pass only as far as the check of the whole.
func isTextByte(c byte) bool {
	return c >= ' ' && c < 0x7F || c == '\n' || c == '\r' || c == '\t' || c >= utf8.RuneSelf
}

// mostlyText turns away bytes that merely look like UTF-8.
func mostlyText(s []byte) bool {
	high := 0
	for _, c := range s {
		if c >= utf8.RuneSelf {
			high++
		}
	}
	return high == 0 || high*2 < len(s) && utf8.Valid(trimRune(s))
}

// trimRune drops the beginning of a character that is cut off at the end.
func trimRune(s []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(s); i++ {
		if utf8.RuneStart(s[len(s)-i]) {
			if !utf8.FullRune(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// eachEncoded calls fn with every stretch of the view that may be base64: each run
// of its alphabet, and in a folded view what begins or ends at an edit.
func eachEncoded(v *view, fn func(from, to int) bool) {
	if v.copies() {
		eachBetweenEdits(v, fn)
		return
	}
	text := v.text
	for i := 0; i+shortestEncoded <= len(text); {
		// From its end on, so that most bytes of prose are never looked at.
		from := i + shortestEncoded
		for from > i && sextets[text[from-1]] < 64 {
			from--
		}
		if from > i {
			i = from
			continue
		}
		for i += shortestEncoded; i < len(text) && sextets[text[i]] < 64; {
			i++
		}
		if !eachInRun(text, from, i, fn) {
			return
		}
	}
}

// eachInRun tries a run from its beginning and, because slashes, dashes and
// underscores are both of the alphabet and between words, from behind each of its
// first ones.
func eachInRun(text []byte, from, to int, fn func(from, to int) bool) bool {
	if !fn(from, to) {
		return false
	}
	tries := 0
	for i := from; i < to-shortestEncoded && tries < mostTries; i++ {
		if c := text[i]; c == '/' || c == '-' || c == '_' {
			if tries++; !fn(i+1, to) {
				return false
			}
		}
	}
	return true
}

// mostTries bounds how many beginnings of one run are tried.
const mostTries = 8

// eachBetweenEdits tries the runs that touch an edit, from their beginning and from
// each edit in them. The others stand in the parent.
func eachBetweenEdits(v *view, fn func(from, to int) bool) {
	for i := 0; i < len(v.edits); {
		from, to := int(v.edits[i].at), int(v.edits[i].at)
		for from > 0 && sextets[v.text[from-1]] < 64 {
			from--
		}
		for to < len(v.text) && sextets[v.text[to]] < 64 {
			to++
		}
		first := i
		for i < len(v.edits) && int(v.edits[i].at) <= to {
			i++
		}
		if to-from < shortestEncoded {
			continue
		}
		if !fn(from, to) {
			return
		}
		for _, e := range v.edits[first:min(i, first+mostTries)] {
			if at := int(e.at); at > from && to-at >= shortestEncoded && !fn(at, to) {
				return
			}
		}
	}
}
