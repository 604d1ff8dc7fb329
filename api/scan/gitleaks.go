package scan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// gitleaksConfig is as much of gitleaks' configuration as we use. Reading it
// through the library's own Config would compile all expressions at once, which
// costs more memory than a client at rest may have in all.
type gitleaksConfig struct {
	Allowlist  gitleaksAllowlist
	Allowlists []gitleaksAllowlist
	Rules      []struct {
		ID          string
		Description string
		Regex       string
		Path        string
		SecretGroup int
		Entropy     float64
		Keywords    []string
		Allowlist   *gitleaksAllowlist
		Allowlists  []gitleaksAllowlist
	}
}

// gitleaksAllowlist: paths, commits and conditions are left out on purpose, and
// so is every list that looks at more than the value (BR-30).
type gitleaksAllowlist struct {
	RegexTarget string
	Regexes     []string
	StopWords   []string
}

// contextual is what nearly every expression for a value without a form of its own
// has in the middle: what may stand between a name and its value.
const contextual = `(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|`

// gitleaksRule is what we use of one of the library's rules.
type gitleaksRule struct {
	id, reason, pattern string
	group               int
	entropy             float64
	keywords            []string
	// allow are the expressions of its lists for values, words what reads their stop
	// words; nil: it has none of its own.
	allow []string
	words func() []string
}

// readGitleaks reads the rules from the library's text, and what holds for all of them.
func readGitleaks(text string) (rules []gitleaksRule, everywhere gitleaksRule, err error) {
	var conf gitleaksConfig
	if err := toml.Unmarshal([]byte(text), &conf); err != nil {
		return nil, everywhere, fmt.Errorf("gitleaks configuration: %w", err)
	}
	everywhere.addLists(append(conf.Allowlists, conf.Allowlist))
	for _, g := range conf.Rules {
		if g.Regex == "" {
			// A rule on the path alone; the key is text to us, see ownRules.
			continue
		}
		r := gitleaksRule{
			id: g.ID, reason: g.Description, pattern: g.Regex, group: g.SecretGroup, entropy: g.Entropy, keywords: g.Keywords,
		}
		lists := g.Allowlists
		if g.Allowlist != nil {
			lists = append(lists, *g.Allowlist)
		}
		r.addLists(lists)
		rules = append(rules, r)
	}
	if len(rules) < leastRules {
		return nil, everywhere, fmt.Errorf("gitleaks configuration: %d rules, want at least %d", len(rules), leastRules)
	}
	return rules, everywhere, nil
}

func (g *gitleaksRule) addLists(lists []gitleaksAllowlist) {
	var words []string
	for _, list := range lists {
		if list.RegexTarget == "" || list.RegexTarget == "secret" {
			g.allow = append(g.allow, list.Regexes...)
		}
		words = append(words, list.StopWords...)
	}
	if words != nil {
		g.words = func() []string { return words }
	}
}

// judged applies our judgement to the library's rules.
func judged(from []gitleaksRule, everywhere gitleaksRule) []*rule {
	rules := make([]*rule, len(from))
	common := &wordSet{list: everywhere.words}
	for i, g := range from {
		r := &rule{
			id: g.id, class: Secret, severity: High, reason: g.reason,
			pattern: g.pattern, group: g.group, entropy: g.entropy,
			keywords: lowered(g.keywords),
		}
		r.values.allow = &allowed{patterns: slices.Concat(sampleValues.patterns, everywhere.allow, g.allow)}
		r.values.words = common
		if g.words != nil {
			r.values.words = &wordSet{list: func() []string { return slices.Concat(everywhere.words(), g.words()) }}
		}
		if strings.Contains(g.pattern, contextual) {
			r.values.needsDigit = true
		}
		adjust(r)
		rules[i] = r
	}
	return rules
}

// leastRules guards against a library whose configuration changed its shape: a
// scanner without rules would pass everything.
const leastRules = 200

func lowered(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ToLower(w)
	}
	return out
}

// judgement is what we see otherwise than gitleaks, of rules by their names or what
// these end in.
type judgement struct {
	names, endings []string
	reason         string
	change         func(*rule)
}

func (j *judgement) concerns(r *rule) bool {
	return slices.Contains(j.names, r.id) || slices.ContainsFunc(j.endings, func(ending string) bool { return strings.HasSuffix(r.id, ending) })
}

func adjust(r *rule) {
	for _, j := range judgements {
		if j.concerns(r) {
			j.change(r)
			r.reason += " " + j.reason
		}
	}
}

var judgements = []judgement{
	{
		names: []string{
			"generic-api-key", "curl-auth-header", "curl-auth-user", "kubernetes-secret-yaml", "hashicorp-tf-password", "nuget-config-password", "freemius-secret-key",
		},
		reason: "Only the words around such a value make it a secret.",
		change: func(r *rule) { r.class, r.severity, r.loose = SecretGeneric, Medium, true },
	},
	{
		names:   []string{"mapbox-api-token"},
		endings: []string{"-client-id", "-access-id", "-access-key-id", "-public-key", "-pub-key", "-pub-api-key"},
		reason:  "An identifier of this kind is public by design.",
		change:  func(r *rule) { r.class, r.severity = SecretGeneric, Low },
	},
	{
		names:  []string{"sourcegraph-access-token", "facebook-access-token"},
		reason: "Its form is that of a commit id or a number, and its keyword may stand anywhere near.",
		change: func(r *rule) { r.class, r.severity = SecretGeneric, Medium },
	},
	{
		names:  []string{"generic-api-key"},
		reason: "Identifiers and digests are not reported.",
		change: func(r *rule) { r.values.unlessIdentifier = true },
	},
	{
		names:  []string{"jwt-base64", "private-key"},
		reason: "The value is the whole match.",
		change: func(r *rule) { r.whole, r.long = true, true },
	},
	{
		// The expression ends before what differs from key to key.
		names:  []string{"aws-amazon-bedrock-api-key-short-lived"},
		reason: "The value goes on to the end of the token.",
		change: func(r *rule) { r.pattern += `[A-Za-z0-9+/=_-]*`; r.whole = true },
	},
}
