package scan

import (
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

// Limits of the literals taken from an expression.
const (
	shortestLead = 2
	longEnough   = 6
	mostLeads    = 128
	// longestLead is how much of a literal is looked for: it makes the windows small in
	// which those are looked for that an edit made.
	longestLead = 12
	widestClass = 16
)

// cut shortens literals.
func cut(words []string) []string {
	short := make([]string, len(words))
	for i, w := range words {
		short[i] = w[:min(len(w), longestLead)]
	}
	return unique(short)
}

// leadsOf finds the literals at the beginning, or behind elements of fixed width.
func leadsOf(flat []*syntax.Regexp) (leads []string, back int, ok bool) {
	for i := range flat {
		words, _ := wordsOf(&syntax.Regexp{Op: syntax.OpConcat, Sub: flat[i:]})
		if !slices.ContainsFunc(words, func(w string) bool { return len(w) < shortestLead && w != "@" }) {
			return words, back, true
		}
		width, fixed := widthOf(flat[i])
		if !fixed {
			break
		}
		back += width
	}
	return nil, 0, false
}

func widthOf(re *syntax.Regexp) (width int, fixed bool) {
	switch re.Op {
	case syntax.OpCharClass:
		return 1, true
	case syntax.OpLiteral:
		return len(re.Rune), true
	case syntax.OpRepeat:
		if re.Min == re.Max {
			w, ok := widthOf(re.Sub[0])
			return w * re.Min, ok
		}
	}
	return 0, false
}

// wordsOf gives the words that every text matching re begins with one of. They
// are exact when they are all of what it matches.
func wordsOf(re *syntax.Regexp) (words []string, exact bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return literalWord(re.Rune)
	case syntax.OpCharClass:
		return classWords(re.Rune)
	case syntax.OpCapture:
		return wordsOf(re.Sub[0])
	case syntax.OpPlus:
		words, _ = wordsOf(re.Sub[0])
		return words, false
	case syntax.OpRepeat:
		if re.Min > 0 {
			words, exact = wordsOf(re.Sub[0])
			return words, exact && re.Min == 1 && re.Max == 1
		}
	case syntax.OpQuest:
		words, exact = wordsOf(re.Sub[0])
		return unique(append(slices.Clone(words), "")), exact
	case syntax.OpConcat:
		return concatWords(re.Sub)
	case syntax.OpAlternate:
		exact = true
		for _, sub := range re.Sub {
			more, e := wordsOf(sub)
			words, exact = append(words, more...), exact && e
		}
		return unique(words), exact
	}
	return []string{""}, isAssertion(re)
}

func literalWord(runes []rune) ([]string, bool) {
	for i, r := range runes {
		if r >= 0x80 {
			return []string{strings.ToLower(string(runes[:i]))}, false
		}
	}
	return []string{strings.ToLower(string(runes))}, true
}

func classWords(ranges []rune) ([]string, bool) {
	var words []string
	for i := 0; i < len(ranges); i += 2 {
		// The long s and the sign for kelvin fold to ASCII letters, and the
		// parser adds them to a class that ignores case.
		if r := ranges[i]; r == ranges[i+1] && (r == 0x17F || r == 0x212A) {
			continue
		}
		if ranges[i+1] >= 0x80 || int(ranges[i+1]-ranges[i]) > 2*widestClass {
			return []string{""}, false
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			words = append(words, strings.ToLower(string(r)))
		}
	}
	if words = unique(words); len(words) > widestClass {
		return []string{""}, false
	}
	return words, true
}

func concatWords(elements []*syntax.Regexp) ([]string, bool) {
	words := []string{""}
	for _, e := range elements {
		if !slices.ContainsFunc(words, func(w string) bool { return len(w) < longEnough }) {
			return words, false
		}
		more, exact := wordsOf(e)
		if len(words)*len(more) > mostLeads {
			return words, false
		}
		var longer []string
		for _, w := range words {
			for _, m := range more {
				longer = append(longer, w+m)
			}
		}
		if words = unique(longer); !exact {
			return words, false
		}
	}
	return words, true
}

// needsOf finds words of which one stands in every match behind an element that
// wanders, the longest there are.
func needsOf(flat []*syntax.Regexp) *needs {
	var longest *needs
	for i, e := range flat {
		if !wanders(e) {
			continue
		}
		words, _ := concatWords(flat[i+1:])
		if slices.ContainsFunc(words, isCommon) {
			continue
		}
		if n := (&needs{words: words}); longest == nil || n.shortest() > longest.shortest() {
			longest = n
		}
	}
	return longest
}

// needs are words of which one must be met; what looks for them is made when they are
// first looked for.
type needs struct {
	words []string
	once  sync.Once
	made  *literals
}

func (n *needs) literals() *literals {
	n.once.Do(func() {
		var list []literal
		for _, w := range n.words {
			list = append(list, literal{w, 0})
		}
		n.made = newLiterals(list)
	})
	return n.made
}

func (n *needs) shortest() int {
	shortest := len(n.words[0])
	for _, w := range n.words {
		shortest = min(shortest, len(w))
	}
	return shortest
}

// isCommon reports whether a word is in every text.
func isCommon(word string) bool {
	return word == "" || len(word) < shortestLead && (isAlnum(word[0]) || word[0] <= ' ')
}

// wanders reports whether an element goes on over any number of words.
func wanders(re *syntax.Regexp) bool {
	endless := re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat && re.Max < 0
	return endless && slices.ContainsFunc(re.Sub, takesBlank) || slices.ContainsFunc(re.Sub, wanders)
}

func takesBlank(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] <= ' ' && ' ' <= re.Rune[i+1] {
				return true
			}
		}
	}
	return slices.ContainsFunc(re.Sub, takesBlank)
}

func unique(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
