package guard_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/state"
)

// wordScanner finds words, each of another class, keyed as the real one.
type wordScanner struct{ key string }

func wordRules(key []byte) (guard.Scanner, error) { return wordScanner{string(key)}, nil }

func (s wordScanner) Scan(_ api.Key, content []byte) (found []scan.Finding, err error) {
	for i, line := range strings.Split(string(content), "\n") {
		word, value, _ := strings.Cut(line, " ")
		sum := api.ChecksumOfString(s.key + value)
		f := scan.Finding{Line: i + 1, Fingerprint: string(sum[len(api.ChecksumPrefix):][:16])}
		switch word {
		case "SECRET":
			f.Rule, f.Class = "word", api.ClassSecret
		case "KEY":
			f.Rule, f.Class = "private-key", api.ClassSecret
		case "HIDDEN":
			f.Rule, f.Class = "hidden", api.ClassHiddenText
		case "ORDER":
			f.Rule, f.Class = "order", api.ClassInstruction
		case "NEW":
			f.Rule, f.Class = "new", "from-a-newer-build"
		case "DENSE":
			return nil, scan.ErrTooDense
		default:
			continue
		}
		found = append(found, f)
	}
	return found, nil
}

// policyServer serves one policy by its tag, as a real one does.
type policyServer struct {
	policy api.OrgPolicy
	err    error
	asked  []api.Checksum
}

func (s *policyServer) Policy(_ context.Context, known api.Checksum) (api.OrgPolicy, bool, error) {
	s.asked = append(s.asked, known)
	if s.err != nil || known == s.policy.Tag() {
		return api.OrgPolicy{}, false, s.err
	}
	return s.policy, true, nil
}

type bench struct {
	*guard.Guard
	t      *testing.T
	store  *state.Store
	server *policyServer
	clock  time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	store, err := state.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, store: store, clock: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	b.server = &policyServer{policy: api.OrgPolicy{OrganizationID: "o", Version: 1, FingerprintKey: hex.EncodeToString([]byte("the organization's secret"))}}
	b.restart()
	return b
}

// restart is another process on the same state.
func (b *bench) restart() {
	b.Guard = guard.New(wordRules, b.store, b.server, func() time.Time { return b.clock })
}

func (b *bench) refresh() bool {
	b.t.Helper()
	changed, err := b.Refresh(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	return changed
}

func (b *bench) verdicts(text string) string {
	b.t.Helper()
	judged, err := b.Judge("a.md", []byte(text))
	if err != nil {
		return "error"
	}
	var list []string
	for _, j := range judged {
		list = append(list, strings.TrimSpace(string(j.Verdict)+" "+j.Accepted))
	}
	return strings.Join(list, ", ")
}

func (b *bench) fingerprint(text string) string {
	b.t.Helper()
	judged, err := b.Judge("a.md", []byte(text))
	if err != nil || len(judged) != 1 {
		b.t.Fatalf("%v, %v", judged, err)
	}
	return judged[0].Fingerprint
}

func TestPolicyHolds(t *testing.T) {
	b := newBench(t)
	const text = "SECRET a\nHIDDEN b\nORDER c\nNEW d\nnothing"
	if got := b.verdicts(text); got != "refuse, hold, flag, refuse" {
		t.Errorf("before the first policy: %s", got)
	}
	b.server.policy.Verdicts = map[api.Class]api.Verdict{api.ClassInstruction: api.VerdictRefuse, api.ClassHiddenText: api.VerdictAccept}
	if !b.refresh() || b.verdicts(text) != "refuse, accept, refuse, refuse" {
		t.Errorf("under the policy: %s", b.verdicts(text))
	}
	b.server.err = errors.New("away")
	b.restart()
	if got := b.verdicts(text); got != "refuse, accept, refuse, refuse" {
		t.Errorf("offline, in another process: %s", got)
	}
}

// The policy is asked for by its tag, and no more often than it has to be.
func TestPolicyIsAskedForSeldom(t *testing.T) {
	b := newBench(t)
	b.refresh()
	b.refresh()
	b.clock = b.clock.Add(guard.Fresh)
	if b.refresh() {
		t.Error("the same policy is called another one")
	}
	if got := fmt.Sprint(b.server.asked); got != fmt.Sprint([]api.Checksum{"", b.server.policy.Tag()}) {
		t.Errorf("asked %s", got)
	}
	b.server.policy.Version++
	b.Forget()
	if !b.refresh() {
		t.Error("another policy is not noticed")
	}
}

// A stock server has none; every other fault stops what would be sent.
func TestWithoutAPolicy(t *testing.T) {
	b := newBench(t)
	b.server.err = api.Errorf(api.NotFound, "no route")
	if b.refresh() || b.verdicts("SECRET a") != "refuse" {
		t.Error("the defaults do not hold")
	}
	b.restart()
	b.server.err = api.Errorf(api.Overloaded, "later")
	if _, err := b.Refresh(context.Background()); err == nil {
		t.Error("a fault is no error")
	}
}

func TestFailsClosed(t *testing.T) {
	b := newBench(t)
	b.refresh()
	if got := b.verdicts("DENSE"); got != "error" {
		t.Errorf("what cannot be scanned: %s", got)
	}
	if err := os.WriteFile(filepath.Join(b.store.Dir(), "policy"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.restart()
	if got := b.verdicts("nothing"); got != "error" {
		t.Errorf("with a damaged policy: %s", got)
	}
	if b.refresh(); b.verdicts("nothing") != "" {
		t.Errorf("with the policy had anew: %s", b.verdicts("nothing"))
	}
	if err := os.WriteFile(filepath.Join(b.store.Dir(), "accepted"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := b.verdicts("SECRET a"); got != "refuse" {
		t.Errorf("with damaged advice: %s", got)
	}
}

// An accepted value is let through wherever it stands and whatever stands beside it;
// another value is not, and a private key never.
func TestAccepted(t *testing.T) {
	b := newBench(t)
	own := b.fingerprint("SECRET early")
	b.accept(state.LocallyAllowed{Acceptance: api.Acceptance{Fingerprint: own, Rule: "word"}, OwnKey: true})
	if got := b.verdicts("SECRET early\nSECRET other"); got != "accept here, refuse" {
		t.Errorf("accepted before the policy was heard: %s", got)
	}
	b.refresh()
	if b.fingerprint("SECRET early") == own {
		t.Fatal("the organization's key changes nothing")
	}
	if got := b.verdicts("x\nSECRET early\nSECRET other"); got != "accept here, refuse" {
		t.Errorf("and after: %s", got)
	}
	b.accept(
		state.LocallyAllowed{Acceptance: api.Acceptance{Fingerprint: b.fingerprint("SECRET late"), Rule: "word"}},
		state.LocallyAllowed{Acceptance: api.Acceptance{Fingerprint: b.fingerprint("KEY k"), Rule: "word"}},
	)
	if got := b.verdicts("SECRET late\nSECRET early\nKEY k"); got != "accept here, refuse, refuse" {
		t.Errorf("accepted under the organization's key: %s", got)
	}
	b.server.policy.Accepted = []api.Acceptance{{Fingerprint: b.fingerprint("SECRET ours"), Rule: "word", Reason: "r"}}
	b.server.policy.Version++
	b.Forget()
	b.refresh()
	if got := b.verdicts("SECRET ours\nSECRET late\nSECRET other"); got != "accept organization, accept here, refuse" {
		t.Errorf("accepted by the organization: %s", got)
	}
}

func (b *bench) accept(list ...state.LocallyAllowed) {
	b.t.Helper()
	advice, err := b.store.Advice()
	if err != nil {
		b.t.Fatal(err)
	}
	advice.Accepted = list
	if err := b.store.SaveAdvice(advice); err != nil {
		b.t.Fatal(err)
	}
}

func TestWorst(t *testing.T) {
	judged := []guard.Judged{{Verdict: api.VerdictFlag}, {Verdict: api.VerdictRefuse}, {Verdict: api.VerdictHold}}
	if got := guard.Worst(judged); got == nil || got.Verdict != api.VerdictRefuse {
		t.Errorf("worst is %v", got)
	}
	if guard.Worst(nil) != nil {
		t.Error("nothing has a worst")
	}
}
