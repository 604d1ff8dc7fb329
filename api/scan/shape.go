package scan

import (
	"errors"
	"regexp/syntax"
	"slices"
)

// start is one way in which a match of a rule can begin: the literals it begins
// with, and the expression from there. A rule whose expression is an alternation
// has several.
type start struct {
	rule  *rule
	index int // in Scanner.starts
	// leads are the literals, lower case, and back the number of characters that
	// stand before them in a match.
	leads []string
	back  int
	left  boundary
	// branch is which alternative of the rule's expression it is.
	branch int
	// near means that no literal leads a match: leads are the rule's keywords,
	// and the expression is tried in the surroundings of each.
	near bool
	// needs are what one of stands in every match, behind an element that goes on over
	// words and lines without an end of its own; nil: there is no such element.
	needs *needs
	// expression is what the start's [start.tree] says, as a text; empty: it is worked
	// out of the rule's pattern.
	expression string

	compiled compiled
}

// boundary is what may not stand right before a match.
type boundary uint8

const (
	noBoundary    boundary = iota
	wordBoundary           // no word character, as \b
	tokenBoundary          // nor a dot, dash or tilde
)

// behindToken replaces the list of characters that gitleaks wants behind a token
// (quotes, white space, semicolon, an escaped line break). Whatever cannot belong
// to a token ends it: a match must not depend on what it is wrapped in (BR-31).
const behindToken = `(?:[^0-9A-Za-z_+/=.-]|\.(?:[^0-9A-Za-z_]|$)|$)`

func mustParse(pattern string) *syntax.Regexp {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err)
	}
	return tree
}

var errNoLead = errors.New("no literal leads a match")

// startsOf finds the ways in which a match of the expression begins. Keywords are
// what it falls back on where no literal leads.
func startsOf(pattern string, keywords []string) ([]*start, error) {
	branches, err := branchesOf(pattern)
	if err != nil {
		return nil, err
	}
	var starts []*start
	for i, branch := range branches {
		core, left := coreOf(branch)
		leads, back, ok := leadsOf(flatten(core))
		switch {
		case ok:
			starts = append(starts, &start{leads: cut(leads), back: back, left: left, branch: i, needs: needsOf(flatten(core))})
		case len(keywords) > 0:
			return []*start{{leads: cut(keywords), near: true}}, nil
		default:
			return nil, errNoLead
		}
	}
	return starts, nil
}

// branchesOf gives the alternatives of an expression, each a list of elements.
func branchesOf(pattern string) ([][]*syntax.Regexp, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	alternatives := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpAlternate {
		alternatives = tree.Sub
	}
	branches := make([][]*syntax.Regexp, len(alternatives))
	for i, alternative := range alternatives {
		branches[i] = []*syntax.Regexp{alternative}
		if alternative.Op == syntax.OpConcat {
			branches[i] = alternative.Sub
		}
	}
	return branches, nil
}

// coreOf is the expression from its start on: what may be absent in front is gone,
// because it cannot decide whether there is a match, and so is the boundary before
// it, which is asked for by other means.
func coreOf(elements []*syntax.Regexp) (core []*syntax.Regexp, left boundary) {
	core = slices.Clone(elements)
	for len(core) > 0 {
		switch first := core[0]; {
		case first.Op == syntax.OpWordBoundary:
			left = wordBoundary
		case isBoundary(first):
			left = tokenBoundary
		case !canBeEmpty(first):
			relax(core)
			return core, left
		}
		core = core[1:]
	}
	return nil, left
}

// tree is the expression of a start, for compilation.
func (st *start) tree() *syntax.Regexp {
	if st.expression != "" {
		return mustParse(st.expression)
	}
	branches, err := branchesOf(st.rule.pattern)
	if err != nil {
		panic("scan: an expression that parsed once does not parse again")
	}
	core := branches[st.branch]
	if st.near {
		core = slices.Clone(core)
		relax(core)
	} else {
		core, _ = coreOf(core)
	}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: core}
}

// relax replaces gitleaks' list of what ends a token at the end of an expression.
func relax(elements []*syntax.Regexp) {
	if last := len(elements) - 1; isBoundary(elements[last]) && takesSpace(elements[last]) {
		elements[last] = mustParse(behindToken)
	}
}

// takesSpace tells a list of what may stand behind a token, white space among it,
// from the complement of what may stand in one.
func takesSpace(boundary *syntax.Regexp) bool {
	takes := func(c rune) bool {
		return slices.ContainsFunc(boundary.Sub, func(sub *syntax.Regexp) bool {
			for i := 0; sub.Op == syntax.OpCharClass && i < len(sub.Rune); i += 2 {
				if sub.Rune[i] <= c && c <= sub.Rune[i+1] {
					return true
				}
			}
			return false
		})
	}
	return takes(' ') && !takes('@')
}

// isBoundary reports whether re is an alternation of an assertion and of single
// characters or short escapes: what gitleaks writes around a token.
func isBoundary(re *syntax.Regexp) bool {
	if re.Op != syntax.OpAlternate {
		return false
	}
	asserts := false
	for _, sub := range re.Sub {
		switch {
		case isAssertion(sub):
			asserts = true
		case sub.Op == syntax.OpCharClass, sub.Op == syntax.OpLiteral && len(sub.Rune) == 1:
		case sub.Op == syntax.OpConcat && len(sub.Sub) == 2 && sub.Sub[0].Op == syntax.OpLiteral && sub.Sub[1].Op == syntax.OpCharClass:
		default:
			return false
		}
	}
	return asserts
}

func isAssertion(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpEmptyMatch:
		return true
	}
	return false
}

func canBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpRepeat:
		return re.Min == 0 || canBeEmpty(re.Sub[0])
	case syntax.OpCapture, syntax.OpPlus:
		return canBeEmpty(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !canBeEmpty(sub) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, canBeEmpty)
	}
	return isAssertion(re)
}

// flatten writes out groups and drops assertions, for a look at the literals.
func flatten(elements []*syntax.Regexp) []*syntax.Regexp {
	var flat []*syntax.Regexp
	for _, e := range elements {
		switch {
		case e.Op == syntax.OpCapture, e.Op == syntax.OpConcat:
			flat = append(flat, flatten(e.Sub)...)
		case !isAssertion(e):
			flat = append(flat, e)
		}
	}
	return flat
}
