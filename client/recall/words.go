package recall

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// class is what a rune is to the splitter.
type class uint8

const (
	none   class = iota // ends a word
	letter              // letters, marks and digits of scripts that put spaces between words
	kana                // Han, Hiragana, Katakana, Bopomofo: no spaces, so pairs stand for words
	hangul              // spaces between words, but endings stuck to them
)

// splitter takes a text apart into terms. It keeps buffers and is not shared.
type splitter struct {
	folder cases.Caser
	buf    []byte
}

func newSplitter() *splitter { return &splitter{folder: cases.Fold()} }

// term is what the splitter found. A compound such as MCP_INIT_TIMEOUT or
// getUserName comes whole first and then, with part set, piece by piece.
type term struct {
	text       []byte // valid until the next one
	part       bool
	pair       bool // two characters of a script without spaces, or of Hangul
	start, end int  // of the word in the text as it was split
}

// prepare is the text that split works on: compatibility forms are made one, so
// that full-width letters and half-width kana meet the usual ones.
func prepare(text string) string {
	if isASCII(text) || norm.NFKC.IsNormalString(text) {
		return text
	}
	return norm.NFKC.String(text)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// split gives the terms of a prepared text in order, stop words left out.
func (s *splitter) split(text string, emit func(term)) {
	for i := 0; i < len(text); {
		kind, size := classAt(text, i)
		end, plain := i+size, text[i] < utf8.RuneSelf
		for end < len(text) {
			next, width := classAt(text, end)
			if next != kind {
				break
			}
			plain = plain && text[end] < utf8.RuneSelf
			end += width
		}
		switch kind {
		case letter:
			s.word(text[i:end], i, plain, emit)
		case kana:
			s.pairs(text[i:end], i, emit)
		case hangul:
			s.pairs(cutEnding(text[i:end]), i, emit)
		}
		i = end
	}
}

func classAt(text string, i int) (class, int) {
	c := text[i]
	if c < utf8.RuneSelf {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' {
			return letter, 1
		}
		return none, 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	return classOf(r), size
}

func classOf(r rune) class {
	const longVowel, middleDot = 'ー', '・'
	switch {
	case r < 0x1100:
		// Nothing below is written without spaces.
	case r == longVowel, r == '々':
		return kana
	case r == middleDot:
		return none
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo):
		return kana
	case unicode.Is(unicode.Hangul, r):
		return hangul
	}
	if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) {
		return letter
	}
	return none
}

// word gives a word of a script with spaces, folded and stemmed; a compound also
// in its pieces.
func (s *splitter) word(word string, at int, plain bool, emit func(term)) {
	t := term{start: at, end: at + len(word)}
	if !plain {
		t.text = s.fold(word)
		emit(t)
		return
	}
	pieces := 0
	for from, to := piece(word, 0); from < to; from, to = piece(word, to) {
		pieces++
	}
	if pieces == 0 {
		return
	}
	s.lower(word)
	if pieces == 1 {
		if t.text = usual(trimUnderscores(s.buf)); t.text != nil {
			emit(t)
		}
		return
	}
	t.text = s.buf
	emit(t)
	t.part = true
	for from, to := piece(word, 0); from < to; from, to = piece(word, to) {
		s.lower(word[from:to])
		if t.text = usual(s.buf); t.text != nil {
			emit(t)
		}
	}
}

// usual is the form that a plain word is kept in; nil for what says nothing.
func usual(word []byte) []byte {
	if len(word) == 1 && (word[0] < '0' || word[0] > '9') || isStop(word) {
		return nil
	}
	return stem(word)
}

func trimUnderscores(word []byte) []byte {
	for len(word) > 0 && word[0] == '_' {
		word = word[1:]
	}
	for len(word) > 0 && word[len(word)-1] == '_' {
		word = word[:len(word)-1]
	}
	return word
}

func (s *splitter) lower(word string) {
	s.buf = append(s.buf[:0], word...)
	for i, c := range s.buf {
		if c >= 'A' && c <= 'Z' {
			s.buf[i] = c + 'a' - 'A'
		}
	}
}

// fold is for words with other letters than ASCII's.
func (s *splitter) fold(word string) []byte {
	s.buf = append(s.buf[:0], norm.NFKC.String(s.folder.String(word))...)
	return s.buf
}

// piece finds the next piece of a compound from a place on: underscores part, and
// so does a capital after a small letter or before one at the end of an acronym.
func piece(word string, from int) (start, end int) {
	for from < len(word) && word[from] == '_' {
		from++
	}
	end = from
	for end < len(word) && word[end] != '_' {
		if end > from && isUpper(word[end]) {
			afterSmall := isLower(word[end-1])
			endsAcronym := end-from >= 2 && isUpper(word[end-1]) && end+2 < len(word) && isLower(word[end+1]) && isLower(word[end+2])
			if afterSmall || endsAcronym {
				break
			}
		}
		end++
	}
	return from, end
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

// pairs gives a run without spaces as its overlapping pairs, and a single character
// as itself.
func (s *splitter) pairs(run string, at int, emit func(term)) {
	_, first := utf8.DecodeRuneInString(run)
	if first == len(run) {
		s.buf = append(s.buf[:0], run...)
		emit(term{text: s.buf, pair: true, start: at, end: at + first})
		return
	}
	for i := 0; ; {
		_, one := utf8.DecodeRuneInString(run[i:])
		_, two := utf8.DecodeRuneInString(run[i+one:])
		if two == 0 {
			return
		}
		s.buf = append(s.buf[:0], run[i:i+one+two]...)
		emit(term{text: s.buf, pair: true, start: at + i, end: at + i + one + two})
		i += one
	}
}
