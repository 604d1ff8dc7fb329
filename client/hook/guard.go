package hook

import (
	"fmt"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
)

// Scanner finds what must not leave, as scan.Scanner is one. Its findings must carry
// fingerprints: the guard tells by them what was there before.
type Scanner interface {
	Scan(key api.Key, content []byte) ([]scan.Finding, error)
}

// Shared gives the key of a path in the directory that a team shares; false for every
// other path.
type Shared func(path string) (api.Key, bool)

// Refusal is a write that is not to happen. It names the rule and never the text.
type Refusal struct {
	Key  api.Key
	Rule string
	Line int
	// Cause is set when the text could not be looked at.
	Cause error
}

// Reason is what the agent is told.
func (r Refusal) Reason() string {
	if r.Cause != nil {
		return fmt.Sprintf("teammem: %s is shared with the team and cannot be scanned for secrets (%v), so it is not written. "+
			"Write a shorter, plainer text.", r.Key, r.Cause)
	}
	where := ""
	if r.Line > 0 {
		where = fmt.Sprintf(", line %d", r.Line)
	}
	return fmt.Sprintf("teammem: %s is shared with the team and would hold a secret (%s%s), so it is not written. "+
		"Leave the value out and write where it is kept instead, such as the name of a variable or of a vault's entry.", r.Key, r.Rule, where)
}

// Guard looks at what a tool is about to write. read gives the text that stands at a
// path, empty where there is none. Nil: nothing speaks against it.
func Guard(writes []Write, shared Shared, read func(path string) string, scanner func() (Scanner, error)) *Refusal {
	var s Scanner
	for _, w := range writes {
		key, ok := shared(w.Path)
		if !ok {
			continue
		}
		if s == nil {
			var err error
			if s, err = scanner(); err != nil {
				return &Refusal{Key: key, Cause: err}
			}
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

// look refuses a secret in the text after that was not in the text before.
func look(s Scanner, key api.Key, before, after string) *Refusal {
	findings, err := s.Scan(key, []byte(after))
	if err != nil {
		return &Refusal{Key: key, Cause: err}
	}
	var secrets []scan.Finding
	for _, f := range findings {
		if scan.DefaultVerdict(f.Class) == scan.Refuse {
			secrets = append(secrets, f)
		}
	}
	if len(secrets) == 0 {
		return nil
	}
	known := map[string]bool{}
	if strings.TrimSpace(before) != "" {
		old, err := s.Scan(key, []byte(before))
		if err != nil {
			old = nil
		}
		for _, f := range old {
			if f.Fingerprint != "" {
				known[f.Rule+"\x00"+f.Fingerprint] = true
			}
		}
	}
	for _, f := range secrets {
		if !known[f.Rule+"\x00"+f.Fingerprint] {
			return &Refusal{Key: key, Rule: f.Rule, Line: f.Line}
		}
	}
	return nil
}
