package scan

import (
	"fmt"
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"
)

const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// seeded gives a source that is the same in every run.
func seeded(name string) *rand.Rand {
	var seed [32]byte
	copy(seed[:], name)
	return rand.New(rand.NewChaCha8(seed))
}

// generate makes a text that the expression matches, by a walk over its syntax.
// Secrets are never literals in this repository; this is where they come from.
func generate(rng *rand.Rand, re *syntax.Regexp) string {
	var b strings.Builder
	grow(rng, re, &b)
	return b.String()
}

func grow(rng *rand.Rand, re *syntax.Regexp, b *strings.Builder) {
	times := func(lo, hi int) {
		for range lo + rng.IntN(hi-lo+1) {
			grow(rng, re.Sub[0], b)
		}
	}
	if isBoundary(re) {
		return // what stands about a token is the wrapping's affair
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteByte(oneOf(rng, re))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte(alphabet[rng.IntN(len(alphabet))])
	case syntax.OpCapture:
		grow(rng, re.Sub[0], b)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if sub.Op == syntax.OpAnyCharNotNL {
				b.WriteByte('.') // what was meant
				continue
			}
			grow(rng, sub, b)
		}
	case syntax.OpAlternate:
		grow(rng, re.Sub[rng.IntN(len(re.Sub))], b)
	case syntax.OpStar:
		times(0, 2)
	case syntax.OpPlus:
		times(1, 3)
	case syntax.OpQuest:
		times(0, 1)
	case syntax.OpRepeat:
		// Values as long as keys are, not as short as the expression allows.
		switch {
		case re.Max < 0 && re.Min >= 8:
			times(re.Min+16, re.Min+40)
		case re.Max < 0:
			times(re.Min, re.Min+3)
		case re.Min >= 8:
			times(min(re.Min+20, re.Max), min(re.Max, re.Min+40))
		case re.Min > 0:
			times(re.Min, re.Max)
		default:
			times(0, min(re.Max, 3))
		}
	}
}

// oneOf picks a character of a class: letters and digits where it has them, else
// what can be printed, else white space.
func oneOf(rng *rand.Rand, class *syntax.Regexp) byte {
	var alnum, printed, other []byte
	for i := 0; i < len(class.Rune); i += 2 {
		for r := class.Rune[i]; r <= class.Rune[i+1] && r < 0x7F; r++ {
			switch c := byte(r); {
			case isAlnum(c):
				alnum = append(alnum, c)
			case c > ' ':
				printed = append(printed, c)
			case c == ' ' || c == '\n' && len(other) == 0:
				other = []byte{c}
			}
		}
	}
	for _, set := range [][]byte{alnum, other, printed} {
		if len(set) > 0 {
			return set[rng.IntN(len(set))]
		}
	}
	return 'x'
}

// reference is gitleaks' own engine, told to ignore its allow comments.
func reference(t testing.TB) *detect.Detector {
	t.Helper()
	d, err := newReference()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newReference() (*detect.Detector, error) {
	logging.Logger = logging.Logger.Level(zerolog.Disabled)
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, err
	}
	d.IgnoreGitleaksAllow = true
	return d, nil
}

// sample is one generated secret.
type sample struct {
	rule string
	text string // what is written: the value, with its name where the rule needs one
}

// samples gives one generated text for each of gitleaks' rules.
func samples(t testing.TB) []sample {
	t.Helper()
	all, err := generated()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// generated is made once. The reference decides which texts are secrets: random
// text now and then falls below a rule's entropy.
var generated = sync.OnceValues(func() ([]sample, error) {
	ref, err := newReference()
	if err != nil {
		return nil, err
	}
	var all []sample
	for _, id := range ref.Config.OrderedRules {
		r := ref.Config.Rules[id]
		if r.Regex == nil {
			continue
		}
		text, err := secretOf(r, ref.Config.Allowlists)
		if err != nil {
			return nil, err
		}
		all = append(all, sample{id, text})
	}
	return all, nil
})

func secretOf(r config.Rule, everywhere []*config.Allowlist) (string, error) {
	tree, err := syntax.Parse(r.Regex.String(), syntax.Perl)
	if err != nil {
		return "", err
	}
	rng, alone := seeded(r.RuleID), only(r, everywhere)
	for range 1000 {
		text := named(r, strings.TrimSpace(generate(rng, tree)))
		if counts(r.RuleID, text) && len(alone.DetectString(text)) > 0 {
			return text, nil
		}
	}
	return "", fmt.Errorf("rule %s: no sample in a thousand tries", r.RuleID)
}

// counts leaves out what we judge otherwise on purpose: values without a digit
// where only a vendor's name makes them one.
func counts(id, text string) bool {
	text = strings.TrimRight(text, "'\"`;= \n/>")
	value := text[strings.LastIndexAny(text, ":=>,| '\"`")+1:]
	return strings.ContainsAny(value, "0123456789") || strings.HasPrefix(id, "huggingface")
}

// named puts a keyword before a text that a rule's expression makes without one.
func named(r config.Rule, text string) string {
	for _, k := range r.Keywords {
		if strings.Contains(strings.ToLower(text), k) {
			return text
		}
	}
	return r.Keywords[len(r.Keywords)-1] + " " + text
}

// only is the reference with one rule.
func only(r config.Rule, everywhere []*config.Allowlist) *detect.Detector {
	r.Path = nil // a restriction on file names, which we do not keep
	one := config.Config{Rules: map[string]config.Rule{r.RuleID: r}, OrderedRules: []string{r.RuleID}, Keywords: map[string]struct{}{}, Allowlists: everywhere}
	for _, k := range r.Keywords {
		one.Keywords[k] = struct{}{}
	}
	d := detect.NewDetector(one)
	d.IgnoreGitleaksAllow = true
	return d
}
