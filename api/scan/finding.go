package scan

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/teammem/teammem/api"
)

// Class says what kind of thing was found. Policy is set per class, so the word is
// the contract's.
type Class = api.Class

// The classes, see [api.Class].
const (
	Secret        = api.ClassSecret
	SecretGeneric = api.ClassSecretGeneric
	HiddenText    = api.ClassHiddenText
	HiddenComment = api.ClassHiddenComment
	Instruction   = api.ClassInstruction
	Personal      = api.ClassPersonal
)

// Classes lists them, the gravest first.
var Classes = api.Classes

// Verdict is what is done about a finding.
type Verdict = api.Verdict

// The verdicts, from least to most, see [api.Verdict].
const (
	Accept = api.VerdictAccept
	Flag   = api.VerdictFlag
	Hold   = api.VerdictHold
	Refuse = api.VerdictRefuse
)

// Verdicts lists them in order.
var Verdicts = api.Verdicts

// DefaultVerdict is the verdict on a class where no policy says otherwise.
func DefaultVerdict(class Class) Verdict { return api.DefaultVerdict(class) }

// Worst is the gravest verdict over the findings, [Accept] when there are none.
// verdict is the policy; nil means [DefaultVerdict].
func Worst(findings []Finding, verdict func(Class) Verdict) Verdict {
	if verdict == nil {
		verdict = DefaultVerdict
	}
	worst := Accept
	for _, f := range findings {
		if v := verdict(f.Class); slices.Index(Verdicts, v) > slices.Index(Verdicts, worst) {
			worst = v
		}
	}
	return worst
}

// Severity says how much harm a finding can do if it is what it looks like.
type Severity string

// The severities.
const (
	Low    Severity = "low"
	Medium Severity = "medium"
	High   Severity = "high"
)

// Finding is one thing found. It holds no text.
type Finding struct {
	Rule     string   `json:"rule"`
	Class    Class    `json:"class"`
	Severity Severity `json:"severity"`
	// Line and Column are where it begins, EndLine the line it ends on. All
	// count from 1; columns count characters. Line 0 means the key.
	Line    int `json:"line"`
	Column  int `json:"column"`
	EndLine int `json:"endLine"`
	// Fingerprint is the same for the same value under the same key, wherever
	// it stands and however it is wrapped: sixteen hex digits, or empty when the
	// scanner has no key.
	Fingerprint string `json:"fingerprint,omitempty"`

	// Start and End bound it in the content (or the key, when Line is 0), in
	// bytes, for whoever holds the text anyway.
	Start int `json:"-"`
	End   int `json:"-"`
}

// fingerprintBytes is how much of the keyed hash is kept: enough that two values
// of one organization do not meet by chance.
const fingerprintBytes = 8

func (s *Scanner) fingerprint(value []byte) string {
	if len(s.key) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, s.key)
	_, _ = mac.Write(value)
	return hex.EncodeToString(mac.Sum(nil)[:fingerprintBytes])
}

// Redact gives the content with the text of each finding of the given classes
// replaced by its rule's name in brackets.
func Redact(content []byte, findings []Finding, classes ...Class) []byte {
	var out []byte
	done := 0
	for _, f := range byStart(findings) {
		if f.Line == 0 || !slices.Contains(classes, f.Class) || f.End <= done {
			continue
		}
		if f.Start >= done {
			out = append(out, content[done:f.Start]...)
			out = append(out, "["+f.Rule+"]"...)
		}
		done = f.End
	}
	return append(out, content[done:]...)
}

func byStart(findings []Finding) []Finding {
	sorted := slices.Clone(findings)
	slices.SortStableFunc(sorted, compareFindings)
	return sorted
}

// compareFindings orders by place: the key first, then by where it begins, the
// longer first, then by rule.
func compareFindings(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(min(a.Line, 1), min(b.Line, 1)),
		cmp.Compare(a.Start, b.Start),
		cmp.Compare(b.End, a.End),
		cmp.Compare(a.Rule, b.Rule),
	)
}
