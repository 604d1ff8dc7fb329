// Package guard decides whether a text may leave this machine.
//
// It puts three things together: what package scan finds in a text, the policy of the
// organization as its server last told it, and what a person accepted on this machine.
// The policy is asked for before something is pushed, when what is known of it is older
// than [Fresh], by its entity tag; the last one that was heard is kept in the client's
// state and holds while the server is away, and before the first the defaults hold.
//
// It fails closed: a text that cannot be scanned, a policy that is damaged on disk and
// cannot be had anew, and an answer that is no policy are errors, and whoever gets one
// sends nothing. What was accepted on this machine alone is advice: the server judges by
// the organization's policy. Findings of private keys are never accepted.
//
// The syncer asks it about every text that it would push, and the commands that show
// findings ask it too. A Guard belongs to one goroutine.
package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/client/state"
)

// Fresh is how old the known policy may be when something is pushed.
const Fresh = time.Minute

// Scanner finds what a policy may have something against, as scan.Scanner does.
type Scanner interface {
	Scan(key api.Key, content []byte) ([]scan.Finding, error)
}

// Rules makes a scanner whose fingerprints are keyed by fingerprintKey. It is called
// when the first text is to be scanned, or by [Guard.Warm]: reading the rules takes
// longer than asking a server at hand. A scan.Scanner is given another key without it.
type Rules func(fingerprintKey []byte) (Scanner, error)

// ScanRules are the rules of package scan.
func ScanRules(fingerprintKey []byte) (Scanner, error) {
	return scan.New(scan.Options{FingerprintKey: fingerprintKey})
}

// Memory is where policy and advice are kept, as state.Store is one.
type Memory interface {
	Policy() (api.OrgPolicy, error)
	SavePolicy(api.OrgPolicy) error
	Advice() (state.Advice, error)
}

// Server is asked for the policy, as remote.Client is one. known is the tag of the
// policy that is known, or empty; an answer without news is not new.
type Server interface {
	Policy(ctx context.Context, known api.Checksum) (p api.OrgPolicy, news bool, err error)
}

// IsSecret reports whether what was found is a secret, rather than a text that is
// hidden or that speaks to agents.
func (j Judged) IsSecret() bool {
	return j.Class == api.ClassSecret || j.Class == api.ClassSecretGeneric
}

// Guard is the judge of one memory directory.
type Guard struct {
	rules  Rules
	memory Memory
	server Server // nil: nobody is asked
	now    func() time.Time

	policy  api.OrgPolicy
	loaded  bool
	broken  error // the policy on disk cannot be believed
	asked   time.Time
	scanner keyed
	local   keyed // for what was accepted under this machine's own key
}

// keyed is a scanner and the key it was made with.
type keyed struct {
	Scanner
	key string
}

// New builds a guard. Nothing is read or asked before it is needed.
func New(rules Rules, memory Memory, server Server, now func() time.Time) *Guard {
	return &Guard{rules: rules, memory: memory, server: server, now: now}
}

// load reads the policy that was last heard.
func (g *Guard) load() {
	if g.loaded {
		return
	}
	g.loaded = true
	g.policy, g.broken = g.memory.Policy()
}

// Policy is the policy in force here.
func (g *Guard) Policy() (api.OrgPolicy, error) {
	g.load()
	return g.policy, g.broken
}

// Refresh asks the server for the policy when what is known of it is old, and reports
// whether another one holds from now on. A server that has no policies is a stock one,
// and the last one heard, or the defaults, hold. After any other error nothing may be
// sent.
func (g *Guard) Refresh(ctx context.Context) (changed bool, err error) {
	if g.server == nil || !g.asked.IsZero() && g.now().Sub(g.asked).Abs() < Fresh {
		return false, nil
	}
	g.load()
	known := api.Checksum("")
	if g.broken == nil && g.policy.FingerprintKey != "" {
		known = g.policy.Tag()
	}
	policy, news, err := g.server.Policy(ctx, known)
	switch {
	case api.CodeOf(err) == api.NotFound:
		g.asked = g.now()
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask for the organization's policy: %w", err)
	case !news:
		g.asked = g.now()
		return false, nil
	}
	return true, g.Learn(policy)
}

// Learn takes a policy over that the server has told.
func (g *Guard) Learn(policy api.OrgPolicy) error {
	if err := g.memory.SavePolicy(policy); err != nil {
		return err
	}
	g.policy, g.loaded, g.broken, g.asked = policy, true, nil, g.now()
	return nil
}

// Forget makes the next [Guard.Refresh] ask, whatever is known: the server has just
// judged by another policy.
func (g *Guard) Forget() { g.asked = time.Time{} }

// Reviews reports whether what is held becomes a proposal: a server that has policies
// keeps it apart, a stock one would publish it.
func (g *Guard) Reviews() bool {
	g.load()
	return g.policy.FingerprintKey != ""
}

// Places where a finding was accepted.
const (
	ByOrganization = "organization"
	Here           = "here" // on this machine alone
)

// Judged is a finding and what is to be done about it.
type Judged struct {
	scan.Finding
	Verdict  api.Verdict
	Accepted string // where; empty: nowhere
}

// Judge scans a text and gives every finding with its verdict, in order of place. On
// an error the text may not leave.
func (g *Guard) Judge(key api.Key, content []byte) ([]Judged, error) {
	g.load()
	if g.broken != nil {
		return nil, fmt.Errorf("the policy kept on this machine is damaged, and a new one has not been heard: %w", g.broken)
	}
	advice, err := g.memory.Advice()
	if err != nil && !errors.Is(err, state.ErrDamaged) {
		return nil, err // damaged advice advises nothing
	}
	if err := g.ready(&g.scanner, g.key(advice)); err != nil {
		return nil, err
	}
	found, err := g.scanner.Scan(key, content)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	judged := make([]Judged, len(found))
	for i, f := range found {
		judged[i] = g.judge(f, advice.Accepts(f.Rule, f.Fingerprint))
	}
	return judged, g.underOwnKey(key, content, judged, advice)
}

// Warm reads the rules now, so that the first text need not wait for them.
func (g *Guard) Warm() error {
	g.load()
	advice, err := g.memory.Advice()
	if err != nil && !errors.Is(err, state.ErrDamaged) {
		return err
	}
	return g.ready(&g.scanner, g.key(advice))
}

func (g *Guard) judge(f scan.Finding, here bool) Judged {
	j := Judged{Finding: f, Verdict: g.policy.Verdict(f.Class, f.Rule, f.Fingerprint)}
	unaccepted := g.policy.Verdict(f.Class, f.Rule, "")
	switch {
	case j.Verdict != unaccepted:
		j.Accepted = ByOrganization
	case here && unaccepted != api.VerdictAccept:
		j.Verdict, j.Accepted = api.VerdictAccept, Here
	}
	return j
}

// key is what fingerprints are keyed with: the organization's secret, or this
// machine's own before that was heard.
func (g *Guard) key(advice state.Advice) string {
	if key := g.policy.Key(); g.policy.FingerprintKey != "" && key != nil {
		return string(key)
	}
	return string(advice.Key)
}

// underOwnKey looks for values that were accepted on this machine before the
// organization's key was known. Two scans of one text find the same in one order.
func (g *Guard) underOwnKey(key api.Key, content []byte, judged []Judged, advice state.Advice) error {
	if !advice.OwnKey() || g.scanner.key == string(advice.Key) {
		return nil
	}
	if err := g.ready(&g.local, string(advice.Key)); err != nil {
		return err
	}
	again, err := g.local.Scan(key, content)
	if err != nil || len(again) != len(judged) {
		return err
	}
	for i, f := range again {
		if judged[i].Accepted == "" {
			judged[i] = g.judge(judged[i].Finding, advice.Accepts(f.Rule, f.Fingerprint))
		}
	}
	return nil
}

func (g *Guard) ready(k *keyed, key string) error {
	if k.Scanner != nil && k.key == key {
		return nil
	}
	if read, ok := g.scanner.Scanner.(*scan.Scanner); ok {
		*k = keyed{read.Keyed([]byte(key)), key}
		return nil
	}
	scanner, err := g.rules([]byte(key))
	if err != nil {
		return fmt.Errorf("read the scanner's rules: %w", err)
	}
	*k = keyed{scanner, key}
	return nil
}

// Worst is the gravest of the judged findings, nil when there are none.
func Worst(judged []Judged) *Judged {
	var worst *Judged
	for i := range judged {
		if worst == nil || graver(judged[i].Verdict, worst.Verdict) {
			worst = &judged[i]
		}
	}
	return worst
}

func graver(a, b api.Verdict) bool {
	return slices.Index(api.Verdicts, a) > slices.Index(api.Verdicts, b)
}
