// Package search takes texts and questions apart: into words, terms, filters, ranks
// and snippets. It is pure; what is found is the store's business, and which repos
// are looked through the ledger's.
//
// Words are made here once, for every database: runs of letters, digits and marks,
// in compatibility form and folded, at most 64 bytes each. Scripts that put no spaces
// between words (Han, kana, Hangul, Thai and their neighbours) are cut into pairs of
// neighbouring characters, the last character of a run once more alone, so that a
// question of one character is the beginning of some pair. There is no stemming and
// no list of stop words: what is typed is what is found. The databases are given
// words between spaces, so that they have nothing to interpret, and words in a row
// are found as a part of a text.
//
// A question is read by [Parse]: words, beginnings (rel*), phrases in quotes, and
// type: author: repo: before: after:. All terms must be there. What is found is
// ranked by [Rank] (BM25, a word in the head counting several times), from numbers
// that do not depend on the database; equal ranks are newest first.
//
// The ledger calls it, for every text that is indexed and every question.
package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/server/store"
)

// Bounds of what is kept of a text. Words beyond them are not found.
const (
	maxWord  = 64      // bytes of a word; the rest of a longer one is cut
	maxWords = 500_000 // bytes of all words of a text
	maxLine  = 1_000   // bytes of a name, a type or a description
)

// Document takes a version of an entry apart.
func Document(key api.Key, version api.Version, sum api.Checksum, content []byte) store.SearchDoc {
	head := memory.Parse(content)
	kind := string(head.Type)
	if head.Type == memory.None {
		kind = strings.ToLower(head.TypeText)
	}
	d := store.SearchDoc{Key: key, Version: version, Checksum: sum, Type: line(kind), Name: line(head.Name), Description: line(head.Description)}
	d.Head = spaced(string(key), d.Name, d.Description)
	d.Words = spaced(string(content))
	return d
}

// line is a value of a header as one short line.
func line(s string) string {
	if len(s) > maxLine {
		s = s[:maxLine]
	}
	s = strings.ToValidUTF8(s, "")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))
}

// spaced is the words of texts with a space before and behind each.
func spaced(texts ...string) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, text := range texts {
		split(text, func(w word) bool {
			b.WriteString(w.text)
			b.WriteByte(' ')
			return b.Len() < maxWords
		})
	}
	return b.String()
}

// cutWord bounds a word, at a character.
func cutWord(s string) string {
	if len(s) <= maxWord {
		return s
	}
	n := maxWord
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
