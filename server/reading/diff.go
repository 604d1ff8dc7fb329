package reading

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// Hunk is a stretch of lines that changed, with some around them.
type Hunk struct {
	Old, New int // the lines at which it begins, from 1
	Lines    []DiffLine
}

// DiffLine is one line of a hunk: of both texts, or of one.
type DiffLine struct {
	Old, New int // its number in each; 0: it is not there
	Spans    []Span
	NoEnd    bool // the text ends here without an end of the line
}

// Span is a part of a line. Of a line that was replaced by another, what they do not
// have in common is Changed.
type Span struct {
	Text    string
	Changed bool
}

// Deleted reports whether the line is of the old text only.
func (l DiffLine) Deleted() bool { return l.New == 0 }

// Inserted reports whether the line is of the new text only.
func (l DiffLine) Inserted() bool { return l.Old == 0 }

// Text is the line without marks.
func (l DiffLine) Text() string {
	var b strings.Builder
	for _, s := range l.Spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

const (
	// mostWords bounds the words of a line that are compared; longer lines are marked
	// as a whole.
	mostWords = 400
	// leastAlike is how many of a hundred bytes two lines have in common at least for
	// their difference to be shown within them.
	leastAlike = 30
)

// Diff says what changed from one text to another, by words within lines, with so many
// unchanged lines around each change.
func Diff(before, after string, around int) []Hunk {
	unified, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), around)
	if err != nil {
		return nil // edits that udiff made are edits that it can apply
	}
	var hunks []Hunk
	shift := 0 // by how much the new text is ahead, in lines
	for _, h := range unified.Hunks {
		hunk := Hunk{Old: h.FromLine, New: h.FromLine + shift}
		old, new := hunk.Old, hunk.New
		for _, l := range h.Lines {
			text, ended := strings.CutSuffix(l.Content, "\n")
			line := DiffLine{Spans: []Span{{Text: text}}, NoEnd: !ended}
			if l.Kind != udiff.Insert {
				line.Old, old = old, old+1
			}
			if l.Kind != udiff.Delete {
				line.New, new = new, new+1
			}
			hunk.Lines = append(hunk.Lines, line)
		}
		shift = new - old
		markWords(hunk.Lines)
		hunks = append(hunks, hunk)
	}
	return hunks
}

// markWords sets each line that was deleted beside the one that was inserted in its
// place.
func markWords(lines []DiffLine) {
	for at := 0; at < len(lines); {
		if !lines[at].Deleted() {
			at++
			continue
		}
		old := at
		for at < len(lines) && lines[at].Deleted() {
			at++
		}
		new := at
		for at < len(lines) && lines[at].Inserted() {
			at++
		}
		for i := range min(new-old, at-new) {
			a, b := &lines[old+i], &lines[new+i]
			a.Spans, b.Spans = words(a.Text(), b.Text())
		}
	}
}

// words tells two lines apart by their words: a longest common subsequence, where both
// are short enough and alike enough for that to be read.
func words(before, after string) (old, new []Span) {
	a, b := split(before), split(after)
	whole := func() ([]Span, []Span) { return []Span{{Text: before}}, []Span{{Text: after}} }
	if len(a) > mostWords || len(b) > mostWords {
		return whole()
	}
	length := make([][]int, len(a)+1) // bytes in common from here on
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			length[i][j] = max(length[i+1][j], length[i][j+1])
			if a[i] == b[j] {
				length[i][j] = max(length[i][j], length[i+1][j+1]+len(a[i]))
			}
		}
	}
	if 100*length[0][0] < leastAlike*max(len(before), len(after)) {
		return whole()
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j] && length[i][j] == length[i+1][j+1]+len(a[i]):
			old, new = join(old, a[i], false), join(new, b[j], false)
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			old, i = join(old, a[i], true), i+1
		default:
			new, j = join(new, b[j], true), j+1
		}
	}
	return join(old, strings.Join(a[i:], ""), true), join(new, strings.Join(b[j:], ""), true)
}

// join adds a text to the last span where it is of the same kind.
func join(spans []Span, text string, changed bool) []Span {
	if n := len(spans); n > 0 && spans[n-1].Changed == changed {
		spans[n-1].Text += text
		return spans
	}
	if text == "" {
		return spans
	}
	return append(spans, Span{text, changed})
}

// split takes a line apart into words, spaces and single other characters. A character
// of a writing without spaces is a word.
func split(line string) (all []string) {
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRuneInString(line[at:])
		end := at + size
		if kind := kindOf(r); kind != single {
			for end < len(line) {
				next, size := utf8.DecodeRuneInString(line[end:])
				if kindOf(next) != kind {
					break
				}
				end += size
			}
		}
		all, at = append(all, line[at:end]), end
	}
	return all
}

type kind int

const (
	single kind = iota
	word
	space
)

func kindOf(r rune) kind {
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai):
		return single
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == '_':
		return word
	case unicode.IsSpace(r):
		return space
	}
	return single
}
