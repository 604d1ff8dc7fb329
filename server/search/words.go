package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// word is one word of a text, folded, and where it stands there. last is the last
// character of a run of a script without spaces, and alone says that it is all of it.
type word struct {
	text        string
	start, end  int
	last, alone bool
}

// isWord reports whether a character is part of a word.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// unspaced are the scripts without spaces between words, and Hangul, which has them,
// but endings stuck to its words.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// isUnspaced reports whether a character is of a script without spaces. The mark of a
// long vowel belongs to several scripts.
func isUnspaced(r rune) bool {
	return r >= 0xe00 && (r == 'ー' || unicode.In(r, unspaced...))
}

// split gives the words of a text in order, until emit says that it is enough.
func split(text string, emit func(word) bool) {
	for i := 0; i < len(text); {
		end, plain := runAt(text, i)
		switch {
		case end == i:
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
			continue
		case plain:
			if !emit(word{text: cutWord(strings.ToLower(text[i:end])), start: i, end: end}) {
				return
			}
		case !splitRun(pieces(text[i:end], i), emit):
			return
		}
		i = end
	}
}

// runAt finds the end of the run of word characters that begins at an offset, and
// says whether all of them are ASCII.
func runAt(text string, at int) (end int, plain bool) {
	plain = true
	for end = at; end < len(text); {
		r, size := rune(text[end]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[end:])
		}
		if !isWord(r) {
			break
		}
		plain = plain && size == 1
		end += size
	}
	return end, plain
}

// piece is a character as it is compared, and the characters of the text that it
// stands for.
type piece struct {
	r          rune
	start, end int
}

// pieces brings a run into compatibility form and folds it. The parts of what
// decomposes stand for the same characters.
func pieces(run string, at int) []piece {
	all := make([]piece, 0, len(run))
	folder := cases.Fold()
	for len(run) > 0 {
		n := norm.NFKC.NextBoundaryInString(run, true)
		for _, r := range folder.String(norm.NFKC.String(run[:n])) {
			all = append(all, piece{r, at, at + n})
		}
		run, at = run[n:], at+n
	}
	return all
}

// splitRun gives the words of a run, which may be of several scripts and may have
// fallen apart in compatibility form.
func splitRun(run []piece, emit func(word) bool) bool {
	for i := 0; i < len(run); {
		if !isWord(run[i].r) {
			i++
			continue
		}
		pairs, end := isUnspaced(run[i].r), i+1
		for end < len(run) && isWord(run[end].r) && (unicode.IsMark(run[end].r) || isUnspaced(run[end].r) == pairs) {
			end++
		}
		give := whole
		if pairs {
			give = inPairs
		}
		if !give(run[i:end], emit) {
			return false
		}
		i = end
	}
	return true
}

// whole gives a run as one word, unless it is of marks alone.
func whole(run []piece, emit func(word) bool) bool {
	var b strings.Builder
	letters := false
	for _, p := range run {
		b.WriteRune(p.r)
		letters = letters || !unicode.IsMark(p.r)
	}
	if !letters {
		return true
	}
	return emit(word{text: cutWord(b.String()), start: run[0].start, end: run[len(run)-1].end})
}

// inPairs gives a run in pairs of neighbours, and its last character alone.
func inPairs(run []piece, emit func(word) bool) bool {
	last := len(run) - 1
	for i := range last {
		if !emit(word{text: string([]rune{run[i].r, run[i+1].r}), start: run[i].start, end: run[i+1].end}) {
			return false
		}
	}
	return emit(word{text: string(run[last].r), start: run[last].start, end: run[last].end, last: true, alone: last == 0})
}
