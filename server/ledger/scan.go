package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/server/store"
)

// finding is what the scan found in an entry, and what the policy says about it.
type finding struct {
	store.Finding
	verdict api.Verdict
}

// mostFindings is how many findings of one entry are kept and told, the gravest
// ones: who has read those needs no more.
const mostFindings = 100

// unscannable is the rule of an entry that could not be scanned to its end. It is
// refused whatever the policy says: who cannot be looked at does not come in.
const unscannable = "not-scannable"

// examine scans the entries of a request, without any lock. Whether an entry is new
// is known under the lock only, so all are scanned, but what was scanned a while
// ago is remembered; only what would change anything is judged by it.
func (l *Ledger) examine(ctx context.Context, rules *inForce, ask *request, texts map[api.Key]string) error {
	if rules.scanner == nil || acceptsAll(rules.policy.Policy) {
		return nil
	}
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(ask.writes)) && ctx.Err() == nil; i = next.Add(1) - 1 {
			w := &ask.writes[i]
			found := l.scanned.scan(ask.caller.Org, rules.scanner, w.key, w.body.Checksum, texts[w.key])
			w.findings = judge(rules.policy.Policy, w.key, found)
		}
	}
	// Who pushes waits for this. Others help where there is so much that it pays to wake them.
	size := 0
	for i := range ask.writes {
		size += len(texts[ask.writes[i].key])
	}
	var helpers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0)-1, size/worthHelp) {
		helpers.Go(work)
	}
	work()
	helpers.Wait()
	return ctx.Err()
}

// worthHelp is how many bytes take so long to scan, about a millisecond, that another
// goroutine is begun for them.
const worthHelp = 128 << 10

// acceptsAll reports whether nothing that could be found would make a difference.
func acceptsAll(policy api.Policy) bool {
	return !slices.ContainsFunc(api.Classes, func(class api.Class) bool { return policy.Verdict(class, "", "") != api.VerdictAccept })
}

// judge is what the policy says about findings: those above accept, the gravest
// first and at most [mostFindings].
func judge(policy api.Policy, key api.Key, found []scan.Finding) []finding {
	var judged []finding
	for _, f := range found {
		verdict := policy.Verdict(f.Class, f.Rule, f.Fingerprint)
		if f.Rule == unscannable {
			verdict = api.VerdictRefuse
		}
		if verdict == api.VerdictAccept {
			continue
		}
		judged = append(judged, finding{
			store.Finding{Key: key, Rule: f.Rule, Class: f.Class, Line: f.Line, Fingerprint: f.Fingerprint}, verdict,
		})
	}
	slices.SortStableFunc(judged, func(a, b finding) int {
		return slices.Index(api.Verdicts, b.verdict) - slices.Index(api.Verdicts, a.verdict)
	})
	return judged[:min(len(judged), mostFindings)]
}

// findingsOf are those of a pending write.
func (r *request) findingsOf(w store.Write) []finding {
	if written := r.written(w.Key); written != nil && !w.Deleted {
		return written.findings
	}
	return nil
}

// checkFindings refuses a request that would store what the policy refuses. It
// names keys, rules and lines, and never any text.
func (r *request) checkFindings(pending []store.Write) error {
	var refused []api.EntryFinding
	for _, w := range pending {
		for _, f := range r.findingsOf(w) {
			if f.verdict == api.VerdictRefuse && len(refused) < mostFindings {
				refused = append(refused, wireFinding(f.Finding))
			}
		}
	}
	return refusal(refused)
}

func refusal(refused []api.EntryFinding) error {
	if len(refused) == 0 {
		return nil
	}
	first := refused[0]
	message := fmt.Sprintf("the policy refuses %q: %s in line %d", first.Key, first.Rule, first.Line)
	if first.Line == 0 && (first.Class == api.ClassSecret || first.Class == api.ClassSecretGeneric) {
		// Whoever gets a message logs and shows it. The details name the key.
		message = fmt.Sprintf("the policy refuses a key: %s in its name", first.Rule)
	}
	if more := len(refused) - 1; more > 0 {
		message += fmt.Sprintf(", and %d more", more)
	}
	message += "; take it out and push again, or have a maintainer accept the finding by its fingerprint"
	return &api.Error{Code: api.Refused, Message: message, Details: api.Details{
		ErrorCode: api.ErrorCodeRefused, Key: first.Key, Refused: refused,
	}}
}

func wireFinding(f store.Finding) api.EntryFinding {
	return api.EntryFinding{Key: f.Key, Version: f.Version, Rule: f.Rule, Class: f.Class, Line: f.Line, Fingerprint: f.Fingerprint}
}

// Findings lists what the policy flagged in the entries that stand, of keys after
// the one named, and at most limit keys.
func (l *Ledger) Findings(ctx context.Context, caller Caller, repo api.RepoSlug, after api.Key, limit int) ([]store.Finding, error) {
	if _, err := l.Head(ctx, caller, repo); err != nil {
		return nil, err
	}
	found, err := l.store.Findings(ctx, caller.ref(repo), after, limit)
	if err != nil {
		return nil, l.explain(ctx, caller, repo, "read the findings", err)
	}
	return found, nil
}

// scannedTexts remembers what was found in texts that were scanned lately, so that a
// push that is sent again is not scanned again. Texts in which much was found are
// not remembered. It is bounded like [soundViews].
type scannedTexts struct {
	mu         sync.Mutex
	young, old map[[sha256.Size]byte][]scan.Finding
}

const (
	scannedHalf    = 4096 // texts
	mostRemembered = 16   // findings
)

// scan gives what a text holds. One that cannot be scanned holds one finding that
// says so.
func (s *scannedTexts) scan(org store.OrgID, scanner *scan.Scanner, key api.Key, sum api.Checksum, text string) []scan.Finding {
	raw := sum.Sum()
	id := sha256.Sum256(slices.Concat(binary.BigEndian.AppendUint64(nil, uint64(org)), raw[:], []byte(key)))
	if found, ok := s.get(id); ok {
		return found
	}
	found, err := scanner.Scan(key, []byte(text))
	if err != nil {
		return []scan.Finding{{Rule: unscannable, Class: api.ClassHiddenText, Line: 1}}
	}
	if len(found) <= mostRemembered {
		s.put(id, found)
	}
	return found
}

func (s *scannedTexts) get(id [sha256.Size]byte) ([]scan.Finding, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.young[id]
	if !ok {
		found, ok = s.old[id]
	}
	return found, ok
}

func (s *scannedTexts) put(id [sha256.Size]byte, found []scan.Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.young == nil || len(s.young) >= scannedHalf {
		s.young, s.old = make(map[[sha256.Size]byte][]scan.Finding), s.young
	}
	s.young[id] = found
}
