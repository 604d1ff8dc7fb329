package scan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
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

// gitleaksRules reads the rules that gitleaks maintains and applies our judgement.
func gitleaksRules() ([]*rule, error) {
	var conf gitleaksConfig
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &conf); err != nil {
		return nil, fmt.Errorf("gitleaks configuration: %w", err)
	}
	everywhere := append(conf.Allowlists, conf.Allowlist)
	var rules []*rule
	for _, g := range conf.Rules {
		if g.Regex == "" {
			// A rule on the path alone; the key is text to us, see ownRules.
			continue
		}
		r := &rule{
			id: g.ID, class: Secret, severity: High, reason: g.Description,
			pattern: g.Regex, group: g.SecretGroup, entropy: g.Entropy,
			keywords: lowered(g.Keywords),
		}
		lists := slices.Concat(everywhere, g.Allowlists)
		if g.Allowlist != nil {
			lists = append(lists, *g.Allowlist)
		}
		r.values.allow, r.values.words = allowances(lists)
		if strings.Contains(g.Regex, contextual) {
			r.values.needsDigit = true
		}
		adjust(r)
		rules = append(rules, r)
	}
	if len(rules) < leastRules {
		return nil, fmt.Errorf("gitleaks configuration: %d rules, want at least %d", len(rules), leastRules)
	}
	return rules, nil
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

func allowances(lists []gitleaksAllowlist) (*allowed, wordSet) {
	a := &allowed{patterns: slices.Clone(sampleValues.patterns)}
	var words []string
	for _, list := range lists {
		if list.RegexTarget == "" || list.RegexTarget == "secret" {
			a.patterns = append(a.patterns, list.Regexes...)
		}
		words = append(words, list.StopWords...)
	}
	return a, newWordSet(words...)
}

// judgement is what we see otherwise than gitleaks.
type judgement struct {
	rule   *regexp.Regexp
	reason string
	change func(*rule)
}

func adjust(r *rule) {
	for _, j := range judgements {
		if j.rule.MatchString(r.id) {
			j.change(r)
			r.reason += " " + j.reason
		}
	}
}

var judgements = []judgement{
	{
		regexp.MustCompile(`^(generic-api-key|curl-auth-header|curl-auth-user|kubernetes-secret-yaml|hashicorp-tf-password|nuget-config-password|freemius-secret-key)$`),
		"Only the words around such a value make it a secret.",
		func(r *rule) { r.class, r.severity, r.loose = SecretGeneric, Medium, true },
	},
	{
		regexp.MustCompile(`-(client|access)-id$|-access-key-id$|-public-key$|-pub-key$|-pub-api-key$|^mapbox-api-token$`),
		"An identifier of this kind is public by design.",
		func(r *rule) { r.class, r.severity = SecretGeneric, Low },
	},
	{
		regexp.MustCompile(`^(sourcegraph-access-token|facebook-access-token)$`),
		"Its form is that of a commit id or a number, and its keyword may stand anywhere near.",
		func(r *rule) { r.class, r.severity = SecretGeneric, Medium },
	},
	{
		regexp.MustCompile(`^generic-api-key$`),
		"Identifiers and digests are not reported.",
		func(r *rule) { r.values.unlessIdentifier = true },
	},
	{
		regexp.MustCompile(`^(jwt-base64|private-key)$`),
		"The value is the whole match.",
		func(r *rule) { r.whole, r.long = true, true },
	},
	{
		// The expression ends before what differs from key to key.
		regexp.MustCompile(`^aws-amazon-bedrock-api-key-short-lived$`),
		"The value goes on to the end of the token.",
		func(r *rule) { r.pattern += `[A-Za-z0-9+/=_-]*`; r.whole = true },
	},
}
