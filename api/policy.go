package api

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Policy is what an organization does about what a scan finds, and which changes it
// wants looked at before they are everybody's. The zero value is a policy that
// says nothing: then [DefaultVerdict] holds, and no change is looked at.
type Policy struct {
	Verdicts map[Class]Verdict `json:"verdicts"`
	Accepted []Acceptance      `json:"accepted"`
	Review   []ReviewRule      `json:"review"`
}

// Acceptance lets one value through wherever it stands, by its fingerprint. It
// survives every edit around the value and none of the value itself.
type Acceptance struct {
	Fingerprint string `json:"fingerprint"`
	Rule        string `json:"rule"` // that found it, for people
	Reason      string `json:"reason"`
	User        string `json:"user"` // who accepted it
	At          Time   `json:"at"`
}

// ReviewRule makes proposals of the changes that a role makes to some keys.
type ReviewRule struct {
	Role      Role    `json:"role"`
	Pattern   Pattern `json:"pattern"`
	Approvals int     `json:"approvals"` // how many others must approve; at least 1
}

// OrgPolicy is the policy of an organization as its server tells it to members.
type OrgPolicy struct {
	OrganizationID string  `json:"organizationId"`
	Version        Version `json:"version"` // of the policy; 0: nobody has set one
	Changed        *Time   `json:"changed"` // null: never
	ChangedBy      string  `json:"changedBy"`
	// FingerprintKey keys the fingerprints of the organization, in hex, so that
	// client and server say the same of a value and nobody else can.
	FingerprintKey string `json:"fingerprintKey"`
	Policy
}

// EntryFinding is what a scan found in an entry: where, never what.
type EntryFinding struct {
	Key         Key     `json:"key"`
	Version     Version `json:"version,omitempty"` // that stored the entry; absent for one that was not
	Rule        string  `json:"rule"`
	Class       Class   `json:"class"`
	Line        int     `json:"line"` // from 1; 0: in the key
	Fingerprint string  `json:"fingerprint,omitempty"`
}

// FindingList is one page of what was flagged in the entries that stand, in key
// order. A page holds whole keys.
type FindingList struct {
	Findings   []EntryFinding `json:"findings"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

// What a policy may hold at most.
const (
	MaxAccepted     = 10_000
	MaxReviewRules  = 200
	MaxApprovals    = 20
	MaxReasonBytes  = 1_000
	fingerprintLen  = 16 // hex digits, see package scan
	maxRuleNameLen  = 100
	privateKeyRules = "private-key" // how their names begin
	privateKeyFile  = "private-key-file"
)

// Accepts reports whether findings of a rule may be accepted at all. Those of
// private keys may not: there is no reason to share one. The name of a file that
// holds one is not one.
func Accepts(rule string) bool {
	return !strings.HasPrefix(rule, privateKeyRules) || rule == privateKeyFile
}

// Verdict is what the policy says about a finding of a class, by a rule, of the
// value with the fingerprint. An accepted value is accepted, unless its rule is one
// of those that may not be.
func (p Policy) Verdict(class Class, rule, fingerprint string) Verdict {
	if fingerprint != "" && Accepts(rule) && p.accepted(fingerprint) >= 0 {
		return VerdictAccept
	}
	if v, ok := p.Verdicts[class]; ok {
		return v
	}
	return DefaultVerdict(class)
}

func (p Policy) accepted(fingerprint string) int {
	return slices.IndexFunc(p.Accepted, func(a Acceptance) bool { return a.Fingerprint == fingerprint })
}

// WithAccepted is the policy with one more accepted value; one that was accepted
// already gets the new reason.
func (p Policy) WithAccepted(a Acceptance) Policy {
	p.Accepted = slices.Clone(p.Accepted)
	if i := p.accepted(a.Fingerprint); i >= 0 {
		p.Accepted[i] = a
		return p
	}
	p.Accepted = append(p.Accepted, a)
	return p
}

// WithoutAccepted is the policy without an accepted value; found says whether it
// had it.
func (p Policy) WithoutAccepted(fingerprint string) (without Policy, found bool) {
	i := p.accepted(fingerprint)
	if i < 0 {
		return p, false
	}
	p.Accepted = slices.Delete(slices.Clone(p.Accepted), i, i+1)
	return p, true
}

// Approvals is how many others must approve a change that the role makes to the
// key, 0 for none. A rule binds the role it names and those below it, but nobody is
// given a right by a rule for somebody else: a role that may not write proposes
// only where a rule names it.
func (p Policy) Approvals(role Role, key Key) int {
	most := 0
	for _, rule := range p.Review {
		if rule.binds(role) && rule.Pattern.Match(key) {
			most = max(most, rule.Approvals, 1)
		}
	}
	return most
}

// MayPropose reports whether a rule names the role, which may not be allowed to
// write otherwise.
func (p Policy) MayPropose(role Role) bool {
	return slices.ContainsFunc(p.Review, func(r ReviewRule) bool { return r.Role == role })
}

func (r ReviewRule) binds(role Role) bool {
	return r.Role == role || role.May(Write) && role.rank() < r.Role.rank()
}

// Complete is the policy with every class and no list missing, as it is shown.
func (p Policy) Complete() Policy {
	all := make(map[Class]Verdict, len(Classes))
	for _, class := range Classes {
		all[class] = DefaultVerdict(class)
	}
	for class, verdict := range p.Verdicts {
		all[class] = verdict
	}
	p.Verdicts = all
	if p.Accepted == nil {
		p.Accepted = []Acceptance{}
	}
	if p.Review == nil {
		p.Review = []ReviewRule{}
	}
	return p
}

// Tag is the checksum that the policy's entity tag is made of.
func (p OrgPolicy) Tag() Checksum {
	document, _ := json.Marshal(struct { // strings and numbers only: it cannot fail
		Version Version
		Policy  Policy
	}{p.Version, p.Policy.Complete()})
	return ChecksumOf(document)
}

// Key is the fingerprint key, nil where it cannot be read.
func (p OrgPolicy) Key() []byte {
	key, err := hex.DecodeString(p.FingerprintKey)
	if err != nil {
		return nil
	}
	return key
}

// PolicyChange is the body of a PUT of a policy.
type PolicyChange struct {
	Policy
	// Version, when it is named, is that of the policy the change was made from.
	Version *Version
	// KeepsAccepted says that the body names no accepted values: those that stand
	// are kept.
	KeepsAccepted bool
}

// DecodePolicyChange reads the body of a PUT of a policy strictly: a class, a
// verdict, a role or a field that is not known is an error, since a rule that was
// misspelt would protect nobody. The fields that only the answer has are taken and
// ignored, so that what was got can be changed and put.
func DecodePolicyChange(data []byte) (PolicyChange, error) {
	change := PolicyChange{KeepsAccepted: true}
	r := jsonReader{data: data}
	err := r.text(func() error {
		return r.wantObject(func(name string) error {
			switch name {
			case "version":
				version, err := r.wantVersion()
				change.Version = &version
				return err
			case "accepted":
				change.KeepsAccepted = false
				return r.accepted(&change.Policy)
			case "organizationId", "changed", "changedBy", "fingerprintKey":
				return r.skip()
			}
			return r.policyField(name, &change.Policy, true)
		})
	})
	return change, err
}

// DecodeOrgPolicy reads what a server says of an organization's policy. What a
// newer server may have added is kept as it is or passed over: [Policy.Verdict]
// refuses where it does not know better.
func DecodeOrgPolicy(data []byte) (OrgPolicy, error) {
	var p OrgPolicy
	r := jsonReader{data: data}
	_, err := r.answer(func(name string) (err error) {
		switch name {
		case "organizationId":
			p.OrganizationID, err = r.wantString()
		case "version":
			p.Version, err = r.wantVersion()
		case "changed":
			err = r.optional(func() error {
				at, err := r.lenientTime()
				p.Changed = &at
				return err
			})
		case "changedBy":
			p.ChangedBy, err = r.wantString()
		case "fingerprintKey":
			p.FingerprintKey, err = r.wantString()
		case "accepted":
			err = r.accepted(&p.Policy)
		default:
			err = r.policyField(name, &p.Policy, false)
		}
		return err
	}, "organizationId", "version", "fingerprintKey", "verdicts")
	if err == nil && p.Key() == nil {
		err = badAnswer("fingerprintKey is not hexadecimal", nil)
	}
	if err != nil {
		return OrgPolicy{}, err
	}
	return p, nil
}

// DecodePolicy reads a policy as it is stored.
func DecodePolicy(data []byte) (p Policy, err error) {
	r := jsonReader{data: data}
	err = r.text(func() error {
		return r.wantObject(func(name string) error {
			if name == "accepted" {
				return r.accepted(&p)
			}
			return r.policyField(name, &p, false)
		})
	})
	return p, err
}

// policyField reads one of the fields that change and answer have in common.
func (r *jsonReader) policyField(name string, p *Policy, strict bool) error {
	switch name {
	case "verdicts":
		p.Verdicts = map[Class]Verdict{}
		return r.wantObject(func(class string) error {
			verdict, err := r.wantString()
			switch {
			case err != nil:
				return err
			case strict && !slices.Contains(Classes, Class(class)):
				return r.shape(fmt.Sprintf("there is no class %q: want one of %v", clip(class), Classes))
			case !slices.Contains(Verdicts, Verdict(verdict)):
				if strict {
					return r.shape(fmt.Sprintf("there is no verdict %q: want one of %v", clip(verdict), Verdicts))
				}
				verdict = string(VerdictRefuse)
			}
			p.Verdicts[Class(class)] = Verdict(verdict)
			return nil
		})
	case "review":
		return r.optional(func() error {
			return r.wantArray(func() error {
				if len(p.Review) == MaxReviewRules {
					return r.shape(fmt.Sprintf("there are more than %d review rules", MaxReviewRules))
				}
				rule, err := r.reviewRule(strict)
				p.Review = append(p.Review, rule)
				return err
			})
		})
	}
	if strict {
		return r.shape(fmt.Sprintf("a policy has no field %q: want verdicts, accepted, review, version", clip(name)))
	}
	return r.skip()
}

func (r *jsonReader) reviewRule(strict bool) (rule ReviewRule, err error) {
	rule.Approvals = 1
	err = r.wantObject(func(name string) error {
		switch name {
		case "role":
			role, err := r.wantString()
			if err == nil && strict {
				if _, bad := ParseRole(role); bad != nil {
					return r.shape(bad.Error())
				}
			}
			rule.Role = Role(role)
			return err
		case "pattern":
			pattern, err := r.wantString()
			if err != nil {
				return err
			}
			if rule.Pattern, err = ParsePattern(pattern); err != nil && strict {
				return r.shape(err.Error())
			}
			rule.Pattern = Pattern(pattern)
			return nil
		case "approvals":
			n, err := r.wantInt(1)
			if err == nil && n > MaxApprovals {
				return r.shape(fmt.Sprintf("more than %d approvals", MaxApprovals))
			}
			rule.Approvals = int(n)
			return err
		}
		if strict {
			return r.shape(fmt.Sprintf("a review rule has no field %q: want role, pattern, approvals", clip(name)))
		}
		return r.skip()
	})
	if err == nil && (rule.Role == "" || rule.Pattern == "") {
		err = r.shape("a review rule needs a role and a pattern")
	}
	return rule, err
}

func (r *jsonReader) accepted(p *Policy) error {
	return r.optional(func() error {
		var seen nameSet
		return r.wantArray(func() error {
			if len(p.Accepted) == MaxAccepted {
				return r.shape(fmt.Sprintf("there are more than %d accepted values", MaxAccepted))
			}
			a, err := r.acceptance()
			if err == nil && !seen.add(a.Fingerprint) {
				err = r.shape("this fingerprint stands twice")
			}
			p.Accepted = append(p.Accepted, a)
			return err
		})
	})
}

// DecodeAcceptance reads the body that accepts one value. Who and when are the
// server's to say.
func DecodeAcceptance(data []byte) (a Acceptance, err error) {
	r := jsonReader{data: data}
	err = r.text(func() error {
		a, err = r.acceptance()
		return err
	})
	return a, err
}

func (r *jsonReader) acceptance() (a Acceptance, err error) {
	err = r.wantObject(func(name string) (err error) {
		switch name {
		case "fingerprint":
			a.Fingerprint, err = r.wantString()
		case "rule":
			a.Rule, err = r.wantString()
		case "reason":
			a.Reason, err = r.wantString()
		case "user":
			a.User, err = r.wantString()
		case "at":
			a.At, err = r.lenientTime()
		default:
			err = r.skip()
		}
		return err
	})
	if err != nil {
		return a, err
	}
	if len(a.Fingerprint) != fingerprintLen || !isLowerHex(a.Fingerprint) {
		return a, r.shape(fmt.Sprintf("want a fingerprint of %d lower-case hex digits, as the scan shows it", fingerprintLen))
	}
	if a.Rule == "" || len(a.Rule) > maxRuleNameLen {
		return a, r.shape("want the name of the rule that found the value")
	}
	if err := CheckReason(a.Reason); err != nil {
		return a, r.shape(err.Error())
	}
	if !Accepts(a.Rule) {
		return a, r.shape(fmt.Sprintf("findings of %s are never accepted: take the private key out and replace it", a.Rule))
	}
	return a, nil
}

// CheckReason refuses a reason that says nothing, or too much.
func CheckReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return fmt.Errorf("want a reason")
	case len(reason) > MaxReasonBytes:
		return fmt.Errorf("the reason is longer than %d bytes", MaxReasonBytes)
	}
	return nil
}
