package project

// Rule is one rule and what became of it, for `client where --explain`.
type Rule struct {
	What    string `json:"what"`  // what it decides
	Rule    string `json:"rule"`  // a variable, a setting with its file, or a default
	Value   string `json:"value"` // "" when it is not set
	Outcome string `json:"outcome"`
}

// Outcomes of a rule. One that is passed over says why.
const (
	outcomeDecides = "decides"
	outcomeNotSet  = "not set"
	outcomeEarlier = "an earlier rule decided"
	outcomePassed  = "passed over: "
)

// ladder asks the rules for one thing in their order. The first that holds decides;
// the others are noted all the same.
type ladder struct {
	p       *Project
	what    string
	decided bool
}

// ask notes a rule and reports whether it decides. A rule with a value may be passed
// over, with a reason.
func (l *ladder) ask(rule, value, passed string) bool {
	outcome := outcomeDecides
	switch {
	case value == "":
		outcome = outcomeNotSet
	case l.decided:
		outcome = outcomeEarlier
	case passed != "":
		outcome = outcomePassed + passed
	}
	l.p.Rules = append(l.p.Rules, Rule{l.what, rule, value, outcome})
	if outcome != outcomeDecides {
		return false
	}
	l.decided = true
	return true
}
