package scan

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// The library's rules are a text of 100 KB. To read it, to parse 250 expressions and to
// find out what their matches begin with takes longer than to scan a hundred files. So
// what reading comes to is worked out ahead and kept as an index of that text: where in
// it the names and expressions stand, and which literals lead to them. The rules stay
// the library's own. The index counts for one text only, byte for byte; with another
// one, of a library that was updated, the scanner reads that, a test says that the
// index is old, and go generate makes it anew.

//go:generate go test -run ^TestIndex$ -update .

// stretch is a part of the library's text.
type stretch struct{ at, n int }

func (s stretch) of(text string) string { return text[s.at : s.at+s.n] }

// indexedRule is where in the text a [gitleaksRule] stands.
type indexedRule struct {
	id, reason, pattern stretch
	group               int
	entropy             float64
	keywords, allow     []stretch
	words               stretch // the whole list of words
}

// indexedStart is a [start] of a rule, by the rule's place in all. Its expression is a
// part of the rule's, as [cutting] makes one.
type indexedStart struct {
	rule   int
	leads  []string
	back   int
	left   boundary
	branch int
	near   bool
	needs  []string
	cut    cutting
	uncut  bool // nothing that is cut out of the rule's says the same
}

// cutting is a part of an expression: with the flag that began the whole, and with what
// may stand behind a token at its end, where that is asked for.
type cutting struct {
	from, to int
	folds    bool
	token    bool
}

func (c cutting) of(pattern string) string {
	text := pattern[c.from:c.to]
	if c.folds {
		text = "(?i)" + text
	}
	if c.token {
		text += "(?-i:" + behindToken + ")"
	}
	return text
}

// indexed is what [readRules] gives of the text, if the index was made of it.
func indexed(text string) (rules []*rule, ok bool) {
	sum := sha256.Sum256([]byte(text))
	if hex.EncodeToString(sum[:]) != indexOf {
		return nil, false
	}
	from := make([]gitleaksRule, len(ruleIndex))
	for i := range ruleIndex {
		from[i] = ruleIndex[i].of(text)
	}
	rules = withOwn(judged(from, commonIndex.of(text)))
	for _, x := range startIndex {
		r := rules[x.rule]
		st := &start{leads: x.leads, back: x.back, left: x.left, branch: x.branch, near: x.near}
		if x.needs != nil {
			st.needs = &needs{words: x.needs}
		}
		if !x.uncut {
			st.expression = x.cut.of(r.pattern)
		}
		r.starts = append(r.starts, st)
	}
	return numbered(rules), true
}

func (x *indexedRule) of(text string) gitleaksRule {
	g := gitleaksRule{
		id: x.id.of(text), reason: x.reason.of(text), pattern: x.pattern.of(text), group: x.group, entropy: x.entropy,
		keywords: allOf(x.keywords, text), allow: allOf(x.allow, text),
	}
	if x.words.n > 0 {
		g.words = func() []string { return quotedIn(x.words.of(text)) }
	}
	return g
}

func allOf(stretches []stretch, text string) []string {
	if stretches == nil {
		return nil
	}
	all := make([]string, len(stretches))
	for i, s := range stretches {
		all[i] = s.of(text)
	}
	return all
}

// quotedIn gives the words of a list, each in double quotes.
func quotedIn(list string) (words []string) {
	for i, word := range strings.Split(list, `"`) {
		if i%2 == 1 {
			words = append(words, word)
		}
	}
	return words
}
