package scan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zricethezav/gitleaks/v8/config"
)

// rule is one thing to look for by expression.
type rule struct {
	id       string
	class    Class
	severity Severity
	reason   string
	pattern  string
	// group is the group of the expression that holds the value; 0 means the
	// first that is not empty, or else the whole match.
	group int
	// keywords: one of them must stand somewhere in the text.
	keywords []string
	entropy  float64
	values   valueRule
	// whole makes the value the whole match, for fingerprint and place.
	whole bool
	// loose means that the value has no form of its own, so that two lines are
	// joined to a value only when both look like a part of one.
	loose bool
	// long: the value may be many lines long.
	long   bool
	starts []*start
	index  int
}

// RuleInfo is a rule as it is shown to people.
type RuleInfo struct {
	Name     string
	Class    Class
	Severity Severity
	Reason   string
}

// Rules lists every rule in force, by name.
func (s *Scanner) Rules() []RuleInfo {
	infos := slices.Clone(hiddenRules)
	for _, r := range s.rules {
		infos = append(infos, RuleInfo{r.id, r.class, r.severity, r.reason})
	}
	slices.SortFunc(infos, func(a, b RuleInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos
}

// allRules gathers the tables and finds how a match of each begins: from the index
// where it was made of the library's text as it is, otherwise by reading that.
func allRules() ([]*rule, error) {
	if made, ok := indexed(config.DefaultConfig); ok {
		return made, nil
	}
	return readRules(config.DefaultConfig)
}

// readRules does without the index.
func readRules(text string) ([]*rule, error) {
	from, everywhere, err := readGitleaks(text)
	if err != nil {
		return nil, err
	}
	rules := withOwn(judged(from, everywhere))
	for _, r := range rules {
		if r.starts, err = startsOf(r.pattern, r.keywords); err != nil {
			return nil, fmt.Errorf("rule %s: %w", r.id, err)
		}
	}
	return numbered(rules), nil
}

// withOwn adds our own tables.
func withOwn(rules []*rule) []*rule {
	return slices.Concat(rules, ownRules(), instructionRules(), personalRules())
}

func numbered(rules []*rule) []*rule {
	for i, r := range rules {
		r.index = i
		for _, st := range r.starts {
			st.rule = r
		}
	}
	return rules
}
