package hook

import (
	"errors"
	"fmt"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/client/guard"
)

// Judge says what a text holds and what the policy makes of it, as guard.Guard does. Its
// findings must carry fingerprints: the guard tells by them what was there before.
type Judge interface {
	Judge(key api.Key, content []byte) ([]guard.Judged, error)
}

// Shared gives the directory that a team shares and the key in it, of a path; false for
// every other path.
type Shared func(path string) (dir string, key api.Key, ok bool)

// Refusal is a write that is not to happen. It names the rule and never the text.
type Refusal struct {
	Key   api.Key
	Rule  string
	Class api.Class
	Line  int
	// Cause is set when the text could not be looked at.
	Cause error
}

// Reason is what the agent is told.
func (r Refusal) Reason() string {
	if r.Cause != nil {
		cure := "Tell the person: client secrets shows why."
		if errors.Is(r.Cause, scan.ErrTooDense) || errors.Is(r.Cause, scan.ErrTooLong) {
			cure = "Write a shorter, plainer text."
		}
		return fmt.Sprintf("teammem: %s is shared with the team and cannot be scanned for secrets (%v), so it is not written. %s", r.Key, r.Cause, cure)
	}
	where := fmt.Sprintf(", line %d", r.Line)
	if r.Line == 0 {
		// What the name holds is not said again.
		where, r.Key = ", in its name", "this file"
	}
	if r.Class != api.ClassSecret && r.Class != api.ClassSecretGeneric {
		return fmt.Sprintf("teammem: %s is shared with the team and would hold what the organization lets nobody share (%s: %s%s), so it is not written. "+
			"Leave it out.", r.Key, r.Class, r.Rule, where)
	}
	return fmt.Sprintf("teammem: %s is shared with the team and would hold a secret (%s%s), so it is not written. "+
		"Leave the value out and write where it is kept instead, such as the name of a variable or of a vault's entry.", r.Key, r.Rule, where)
}

// Guard looks at what a tool is about to write. read gives the text that stands at a
// path, empty where there is none, and judge who judges what is written to a directory.
// Nil: nothing speaks against it.
func Guard(writes []Write, shared Shared, read func(path string) string, judge func(dir string) (Judge, error)) *Refusal {
	judges := map[string]Judge{}
	for _, w := range writes {
		dir, key, ok := shared(w.Path)
		if !ok {
			continue
		}
		s := judges[dir]
		if s == nil {
			var err error
			if s, err = judge(dir); err != nil {
				return &Refusal{Key: key, Cause: err}
			}
			judges[dir] = s
		}
		before := read(w.Path)
		after := w.After(before)
		if w.From != "" {
			after = w.After(read(w.From))
		}
		if refusal := look(s, key, before, after); refusal != nil {
			return refusal
		}
	}
	return nil
}

// look refuses what the policy refuses in the text after, unless it was in the text
// before.
func look(s Judge, key api.Key, before, after string) *Refusal {
	findings, err := s.Judge(key, []byte(after))
	if err != nil {
		return &Refusal{Key: key, Cause: err}
	}
	var refused []guard.Judged
	for _, f := range findings {
		if f.Verdict == api.VerdictRefuse {
			refused = append(refused, f)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	known := map[string]bool{}
	if strings.TrimSpace(before) != "" {
		old, err := s.Judge(key, []byte(before))
		if err != nil {
			old = nil
		}
		for _, f := range old {
			if f.Fingerprint != "" {
				known[f.Rule+"\x00"+f.Fingerprint] = true
			}
		}
	}
	for _, f := range refused {
		if !known[f.Rule+"\x00"+f.Fingerprint] {
			return &Refusal{Key: key, Rule: f.Rule, Class: f.Class, Line: f.Line}
		}
	}
	return nil
}
