package scan

import (
	"bytes"
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// hiddenRules are for what a reader does not see and an agent does.
var hiddenRules = []RuleInfo{
	{"invisible-character", HiddenText, Medium, "A format character without width: text can be hidden in a run of them, or a word disguised by one."},
	{"tag-character", HiddenText, High, "Tag characters spell ASCII that no font shows."},
	{"variation-selectors", HiddenText, High, "A run of variation selectors carries bytes that no font shows."},
	{"bidi-control", HiddenText, High, "Bidirectional controls show text in another order than an agent reads it."},
	{"hangul-filler", HiddenText, Medium, "A letter that is blank."},
	{"control-character", HiddenText, Medium, "A control or escape sequence can blank or rewrite what a terminal shows."},
	{"mixed-scripts", HiddenText, Medium, "One word holds look-alike letters of two scripts, so it is not the word it seems."},
	{"invisible-style", HiddenText, Medium, "A style makes the text invisible when it is rendered."},
	{"html-comment", HiddenComment, Low, "A comment is not shown when rendered, and an agent reads it."},
}

func hiddenRule(name string) RuleInfo {
	for _, r := range hiddenRules {
		if r.Name == name {
			return r
		}
	}
	panic("scan: no rule " + name)
}

// hiddenIn finds hidden text in the original bytes. In a key a comment is no
// comment.
func hiddenIn(s *Scanner, text []byte, key bool) []Finding {
	h := &hidden{text: text}
	h.characters()
	if !key {
		h.markup()
	}
	// Only now, when the runs are whole: a run may be as long as the text.
	for i, f := range h.found {
		h.found[i].Fingerprint = s.fingerprint(text[f.Start:f.End])
	}
	return h.found
}

type hidden struct {
	text  []byte
	found []Finding
}

// mostHidden bounds how many places are reported.
const mostHidden = mostOfARule

func (h *hidden) add(name string, from, to int) {
	if n := len(h.found); n > 0 && h.found[n-1].Rule == name && h.found[n-1].End == from {
		h.found[n-1].End = to // a run is one finding
		return
	}
	if len(h.found) >= mostHidden {
		return
	}
	r := hiddenRule(name)
	h.found = append(h.found, Finding{
		Rule: r.Name, Class: r.Class, Severity: r.Severity, Start: from, End: to,
	})
}

// plain are the bytes that are seen and stand alone.
var plain = func() (set [256]bool) {
	for c := ' '; c < 0x7F; c++ {
		set[c] = true
	}
	set['\n'], set['\t'], set['\r'] = true, true, true
	return set
}()

// allSeen reports whether none of eight bytes is a control character or beyond ASCII,
// and errs on the side of no.
func allSeen(eight uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	// The high bit of a byte is set by what is below a space, by DEL, or by itself.
	return ((eight-' '*ones)|(eight+ones)|eight)&high == 0
}

// characters looks at every character beyond plain ASCII.
func (h *hidden) characters() {
	for i := 0; i < len(h.text); {
		if i+8 <= len(h.text) && allSeen(binary.LittleEndian.Uint64(h.text[i:])) {
			i += 8
			continue
		}
		if plain[h.text[i]] {
			i++
			continue
		}
		r, n := utf8.DecodeRune(h.text[i:])
		if name := h.character(r, i, n); name != "" {
			h.add(name, i, i+n)
		}
		if isLookAlike(r) {
			i = max(h.word(i), i+n)
			continue
		}
		i += n
	}
}

// character names the rule that the character at i breaks, if any.
func (h *hidden) character(r rune, i, n int) string {
	switch {
	case r < 0xA0 && r != utf8.RuneError:
		if r < ' ' || r >= 0x7F {
			return "control-character"
		}
	case r == 0xFEFF && i == 0:
	case r >= 0xE0000 && r <= 0xE007F:
		if !h.flag(i) {
			return "tag-character"
		}
	case isSelector(r):
		if h.selectorRun(r, i, n) {
			return "variation-selectors"
		}
	case r == 0x061C || r == 0x200E || r == 0x200F || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069:
		return "bidi-control"
	case r == 0x115F || r == 0x1160 || r == 0x3164 || r == 0xFFA0 || r == 0x2800:
		return "hangul-filler"
	case r == 0x2028 || r == 0x2029:
		return "control-character"
	case r == 0x200C || r == 0x200D:
		if !h.joins(i, n) {
			return "invisible-character"
		}
	case isInvisible(r):
		return "invisible-character"
	}
	return ""
}

// isInvisible reports whether a character has neither ink nor width.
func isInvisible(r rune) bool {
	switch {
	case r < 0xA0:
		return r >= 0x7F
	case isSelector(r), r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x17B4, r == 0x17B5, r == 0x034F:
		return true
	case r >= 0xFFF0 && r <= 0xFFFB, r >= 0xE0000 && r <= 0xE0FFF:
		return true
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

func isSelector(r rune) bool {
	return r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF || r >= 0x180B && r <= 0x180F
}

// selectorRun reports whether the selector at i is one too many: behind another,
// at the beginning, or behind a plain letter, which has no variants.
func (h *hidden) selectorRun(r rune, i, n int) bool {
	before, _ := utf8.DecodeLastRune(h.text[:i])
	behind, _ := utf8.DecodeRune(h.text[i+n:])
	if i == 0 || isSelector(before) || isSelector(behind) {
		return true
	}
	if r >= 0xE0100 {
		return !unicode.Is(unicode.Han, before)
	}
	// Digits, # and * have keycap emoji; other ASCII has no variants.
	return before < 0x80 && !isDigit(before) && before != '#' && before != '*'
}

// joins reports whether a joiner stands where scripts and emoji need one.
func (h *hidden) joins(i, n int) bool {
	before, _ := utf8.DecodeLastRune(h.text[:i])
	behind, _ := utf8.DecodeRune(h.text[i+n:])
	pictured := func(r rune) bool {
		return r >= 0x2000 && (unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r) || r == 0xFE0F || r >= 0x1F000 && r <= 0x1FAFF)
	}
	if pictured(before) && pictured(behind) {
		return true
	}
	return shapes(before) && shapes(behind)
}

// shapes reports whether r belongs to a script in which a joiner changes letters.
func shapes(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
		unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam,
		unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Mongolian, unicode.Tibetan, unicode.Nko)
}

// flag reports whether the tag character at i belongs to the flag of a region: a
// black flag, at most six tags, and the one that ends them.
func (h *hidden) flag(i int) bool {
	const tag = 4 // bytes
	from := i
	for steps := 0; from >= tag && steps < 7; steps++ {
		r, _ := utf8.DecodeLastRune(h.text[:from])
		if r == 0x1F3F4 {
			break
		}
		if r < 0xE0020 || r > 0xE007E {
			return false
		}
		from -= tag
	}
	if r, _ := utf8.DecodeLastRune(h.text[:from]); r != 0x1F3F4 {
		return false
	}
	for tags := 0; tags <= 6; tags++ {
		r, n := utf8.DecodeRune(h.text[from:])
		if r == 0xE007F {
			return true
		}
		if r < 0xE0020 || r > 0xE007E {
			return false
		}
		from += n
	}
	return false
}

// lookAlikes are letters of other scripts that look like Latin ones.
const lookAlikes = "аАВсСеЕНіІјЈКМоОрРѕЅТхХуУԁԛԝһ" + "ΑΒΕΖΗΙΚΜΝΟοΡΤΥΧν"

var lookAlike = func() map[rune]bool {
	m := map[rune]bool{}
	for _, r := range lookAlikes {
		m[r] = true
	}
	return m
}()

func isLookAlike(r rune) bool { return r >= 0x370 && r < 0x530 && lookAlike[r] }

// word judges the word about the look-alike at i and gives the end of it. A word
// that goes on in Latin letters behind its look-alikes is a disguise; a Latin word
// with a native ending is not.
func (h *hidden) word(i int) (end int) {
	from := i
	for from > 0 && isWord(h.text[from-1]) {
		from--
	}
	disguised, foreign, latinBehind := true, false, false
	for end = from; end < len(h.text); {
		r, n := utf8.DecodeRune(h.text[end:])
		switch {
		case r < 0x80 && isWord(byte(r)):
			latinBehind = latinBehind || foreign && (r|0x20 >= 'a' && r|0x20 <= 'z')
		case isLookAlike(r):
			foreign = true
		case unicode.IsLetter(r):
			disguised = false
		default:
			n = 0
		}
		if n == 0 {
			break
		}
		end += n
	}
	if disguised && latinBehind {
		h.add("mixed-scripts", from, end)
	}
	return end
}

// invisibleStyle matches an opening tag with a style that makes its text invisible.
var invisibleStyle = late(`(?i)\A<[a-z][a-z0-9]*\s[^<>]*?(?:` +
	`style\s*=\s*["'](?:[^"']*?[;\s])?(?:display\s*:\s*none|visibility\s*:\s*hidden` +
	`|font-size\s*:\s*0(?:\.0+)?(?:px|pt|r?em|%)?\s*[;"']|opacity\s*:\s*0?(?:\.0+|0)\s*[;"']` +
	`|color\s*:\s*(?:transparent|white|#fff(?:fff)?)\b)` +
	`|\bhidden(?:[\s>/=]))`)

// markup finds what HTML hides. Inside of code nothing is hidden: it is shown as
// it is written.
func (h *hidden) markup() {
	code := codeRuns{text: h.text}
	for at := 0; len(h.found) < mostHidden; at++ {
		next := bytes.IndexByte(h.text[at:], '<')
		if next < 0 {
			return
		}
		at += next
		if at+1 == len(h.text) || code.holds(at) {
			continue
		}
		switch c := h.text[at+1]; {
		case c == '!' && hasAnyPrefix(h.text[at:], "<!--"):
			end := bytes.Index(h.text[at+4:], []byte("-->"))
			if end < 0 {
				end = len(h.text) - at - 7
			}
			h.add("html-comment", at, at+4+end+3)
			at += 4 + end
		case isAlnum(c):
			tag := h.tag(at)
			if loc := invisibleStyle().FindIndex(tag); loc != nil {
				h.add("invisible-style", at, at+loc[1])
			}
		}
	}
}

// tag is the opening tag at, without its end, or nil where it has none.
func (h *hidden) tag(at int) []byte {
	const longest = 800
	rest := h.text[at+1 : min(len(h.text), at+longest)]
	end := bytes.IndexAny(rest, "<>")
	if end < 0 || rest[end] == '<' {
		return nil
	}
	return h.text[at : at+1+end+1]
}
