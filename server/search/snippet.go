package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/server/store"
)

// Bounds of a snippet, in bytes.
const (
	snippetBytes = 240
	leadBytes    = 60 // before the first mark
)

// Snippet cuts the part out of a text in which most of the terms stand, with a mark on
// each. The text is as it was written: whoever shows it escapes it. Without any of the
// terms it is the beginning of the text behind its header.
func Snippet(terms []store.SearchTerm, content string) api.Snippet {
	marks := marksIn(terms, content)
	start := memory.Parse([]byte(content)).Body
	for start < len(content) && unicode.IsSpace(rune(content[start])) {
		start++
	}
	if len(marks) > 0 {
		start = bestStart(content, marks)
	}
	end := cutAt(content, min(len(content), start+snippetBytes))
	s := api.Snippet{Marks: []api.Mark{}, Before: start > 0, After: end < len(content)}
	s.Text = content[start:end]
	for _, m := range marks {
		if m.start < start || m.end > end {
			continue
		}
		if n := len(s.Marks); n > 0 && m.start-start <= s.Marks[n-1].End {
			s.Marks[n-1].End = max(s.Marks[n-1].End, m.end-start)
			continue
		}
		s.Marks = append(s.Marks, api.Mark{Start: m.start - start, End: m.end - start})
	}
	return s
}

// mark is a place at which a term stands.
type mark struct{ start, end, term int }

// marksIn finds the places of all terms, in the order of the text.
func marksIn(terms []store.SearchTerm, content string) (marks []mark) {
	most := 1
	for _, term := range terms {
		most = max(most, len(term.Words))
	}
	var window []word // the last words, as many as the longest term has
	split(content, func(w word) bool {
		if window = append(window, w); len(window) > most {
			window = window[1:]
		}
		for n, term := range terms {
			if len(term.Words) <= len(window) && endsWith(window, term) {
				marks = append(marks, mark{window[len(window)-len(term.Words)].start, w.end, n})
			}
		}
		return true
	})
	return marks
}

// endsWith reports whether a term ends with the last word of a window.
func endsWith(window []word, term store.SearchTerm) bool {
	window = window[len(window)-len(term.Words):]
	for i, text := range term.Words {
		if window[i].text != text && !(term.Prefix && strings.HasPrefix(window[i].text, text)) {
			return false
		}
	}
	return true
}

// bestStart finds where to begin: a little before the mark from which on most
// different terms follow within a snippet.
func bestStart(content string, marks []mark) int {
	best, most := 0, 0
	for i, m := range marks {
		seen := map[int]bool{}
		for _, other := range marks[i:] {
			if other.end > m.start+snippetBytes-leadBytes {
				break
			}
			seen[other.term] = true
		}
		if len(seen) > most {
			best, most = i, len(seen)
		}
	}
	at := marks[best].start
	start := max(0, at-leadBytes)
	// From the beginning of a line if there is one, else of a word.
	if n := strings.LastIndexByte(content[start:at], '\n'); n >= 0 {
		return start + n + 1
	}
	if n := strings.IndexFunc(content[start:at], unicode.IsSpace); start > 0 && n >= 0 {
		_, size := utf8.DecodeRuneInString(content[start+n:])
		return start + n + size
	}
	return cutAt(content, start)
}

// cutAt is the offset, or the one before it at which a character begins.
func cutAt(content string, at int) int {
	for at > 0 && at < len(content) && !utf8.RuneStart(content[at]) {
		at--
	}
	return at
}
