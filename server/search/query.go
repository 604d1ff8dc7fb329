package search

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Bounds of a question.
const (
	MaxQuery = 1_000 // bytes
	maxTerms = 32    // words, those of phrases counted one by one
)

// Query is a question taken apart. Filters of one kind are alternatives.
type Query struct {
	Terms   []store.SearchTerm
	Types   []string
	Authors []string // names
	Repos   []string // patterns
	After   time.Time
	Before  time.Time
	History bool // look through what no longer stands as well; no part of the text
}

// Parse reads a question. The error is an *[api.Error] that says what cannot be read.
func Parse(text string) (Query, error) {
	var q Query
	if len(text) > MaxQuery {
		return q, refuse("it is longer than %d bytes", MaxQuery)
	}
	if !utf8.ValidString(text) {
		return q, refuse("it is not UTF-8")
	}
	for len(text) > 0 {
		var t token
		t, text = next(text)
		if err := q.take(t); err != nil {
			return q, err
		}
	}
	words := 0
	for _, term := range q.Terms {
		words += len(term.Words)
	}
	if words > maxTerms {
		return q, refuse("it has more than %d words", maxTerms)
	}
	return q, nil
}

func refuse(format string, args ...any) error {
	return &api.Error{
		Code:    api.InvalidRequest,
		Message: "the question cannot be read: " + fmt.Sprintf(format, args...),
		Details: api.Details{ErrorCode: api.ErrorCodeBadQuery},
	}
}

// Empty reports whether a question asks for nothing.
func (q Query) Empty() bool {
	return len(q.Terms) == 0 && q.Types == nil && q.Authors == nil && q.Repos == nil && q.After.IsZero() && q.Before.IsZero()
}

// token is a word of a question, or what stands in quotes, with the filter before it.
type token struct {
	filter, text string
	quoted       bool
}

// The filters.
var filters = []string{"type", "author", "repo", "before", "after"}

// next cuts the first token off. A quote that is not closed reaches to the end.
func next(text string) (t token, rest string) {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	if name, value, ok := strings.Cut(text, ":"); ok && slices.Contains(filters, strings.ToLower(name)) {
		t.filter, text = strings.ToLower(name), value
	}
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		t.quoted = true
		t.text, rest, _ = strings.Cut(quoted, `"`)
		return t, rest
	}
	end := strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
	if end < 0 {
		end = len(text)
	}
	t.text = text[:end]
	return t, text[end:]
}

// take adds a token.
func (q *Query) take(t token) (err error) {
	if t.filter != "" && strings.TrimSpace(t.text) == "" {
		return refuse("nothing stands behind %s:", t.filter)
	}
	switch t.filter {
	case "type":
		q.Types = append(q.Types, strings.ToLower(t.text))
	case "author":
		q.Authors = append(q.Authors, t.text)
	case "repo":
		pattern := strings.ToLower(t.text)
		if _, err := path.Match(pattern, ""); err != nil {
			return refuse("repo:%s has a bracket that is not closed", t.text)
		}
		q.Repos = append(q.Repos, pattern)
	case "before":
		q.Before, err = timeOf(t)
	case "after":
		q.After, err = timeOf(t)
	default:
		q.takeTerm(t)
	}
	return err
}

func timeOf(t token) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, t.text); err == nil && at.Year() > 0 {
			return at.UTC(), nil
		}
	}
	return time.Time{}, refuse("%s:%s is no day such as 2026-11-30 and no time such as 2026-11-30T18:00:00Z", t.filter, t.text)
}

// takeTerm adds words to look for. Several in one token must stand in a row. Of a run
// of a script without spaces the pairs are enough.
func (q *Query) takeTerm(t token) {
	text, star := strings.CutSuffix(t.text, "*")
	var words []word
	split(text, func(w word) bool {
		words = append(words, w)
		return true
	})
	if len(words) == 0 {
		return
	}
	last := words[len(words)-1]
	if last.last && !last.alone {
		words = words[:len(words)-1]
	}
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	beginning := last.alone || star && !t.quoted && !last.last
	if n := len(texts) - 1; beginning && n > 0 {
		// Only whole words stand in a row, so this one is a term of its own.
		q.Terms = append(q.Terms, store.SearchTerm{Words: texts[:n]})
		texts = texts[n:]
	}
	q.Terms = append(q.Terms, store.SearchTerm{Words: texts, Prefix: beginning})
}

// Admits reports whether the question asks for a repo. A pattern without a slash is
// about the last part of the name.
func (q Query) Admits(repo api.RepoSlug) bool {
	if q.Repos == nil {
		return true
	}
	return slices.ContainsFunc(q.Repos, func(pattern string) bool {
		name := string(repo)
		if !strings.Contains(pattern, "/") {
			name = path.Base(name)
		}
		if before, ok := strings.CutSuffix(pattern, "/**"); ok && strings.HasPrefix(name, before+"/") {
			return true
		}
		ok, _ := path.Match(pattern, name)
		return ok || pattern == "**"
	})
}
