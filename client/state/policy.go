package state

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/teammem/teammem/api"
)

const (
	policyName = "policy"
	adviceName = "accepted"
	// maxPolicyBytes is far above a policy of the greatest length a server takes.
	maxPolicyBytes = 64 << 20
)

// SavePolicy keeps the organization's policy as the server told it.
func (s *Store) SavePolicy(p api.OrgPolicy) error {
	p.Policy = p.Complete()
	content, err := json.Marshal(p)
	if err == nil {
		err = replaceFile(s.dir, policyName, content, true)
	}
	if err != nil {
		return fmt.Errorf("keep the policy: %w", err)
	}
	return nil
}

// Policy is the policy that was last heard; the zero value when none was yet. One that
// cannot be read back wraps [ErrDamaged]: what it said was perhaps stricter than the
// defaults, so nothing takes its place by itself.
func (s *Store) Policy() (api.OrgPolicy, error) {
	content, err := readBounded(filepath.Join(s.dir, policyName), maxPolicyBytes)
	if gone(err) {
		return api.OrgPolicy{}, nil
	}
	if err != nil {
		return api.OrgPolicy{}, fmt.Errorf("read the policy: %w", err)
	}
	p, err := api.DecodeOrgPolicy(content)
	if err != nil {
		return api.OrgPolicy{}, fmt.Errorf("read the policy: %w", ErrDamaged)
	}
	return p, nil
}

// Advice is what a person accepted on this machine alone. It lets a text out here;
// the server judges for itself.
type Advice struct {
	// Key keys the fingerprints of this directory until the organization's key is
	// known.
	Key      []byte           `json:"key"`
	Accepted []LocallyAllowed `json:"accepted"`
	// Seen are the findings that were last shown, so that a fingerprint can be
	// accepted by itself.
	Seen []SeenFinding `json:"seen,omitempty"`
}

// LocallyAllowed is one value that was accepted here.
type LocallyAllowed struct {
	api.Acceptance
	// OwnKey: the fingerprint was made with this machine's own key.
	OwnKey bool `json:"ownKey,omitempty"`
}

// SeenFinding is what has to be known of a finding to accept it.
type SeenFinding struct {
	Fingerprint string    `json:"fingerprint"`
	Rule        string    `json:"rule"`
	Class       api.Class `json:"class"`
}

// Accepts reports whether the value with this fingerprint was accepted here. Values
// of rules that are never accepted were not, whatever the file says.
func (a Advice) Accepts(rule, fingerprint string) bool {
	return fingerprint != "" && api.Accepts(rule) && slices.ContainsFunc(a.Accepted, func(l LocallyAllowed) bool { return l.Fingerprint == fingerprint })
}

// OwnKey reports whether something was accepted under this machine's own key.
func (a Advice) OwnKey() bool {
	return slices.ContainsFunc(a.Accepted, func(l LocallyAllowed) bool { return l.OwnKey })
}

// Advice reads what was accepted here. It always has a key: the first call makes it.
// With [ErrDamaged] nothing is accepted, and the key is a new one.
//
// It is asked for before each text that is scanned, and the file is read again only
// where another one stands there.
func (s *Store) Advice() (a Advice, err error) {
	path := filepath.Join(s.dir, adviceName)
	info, err := os.Lstat(path)
	if err == nil && s.advice.is(info) {
		return s.advice.known(), nil
	}
	content, err := readBounded(path, maxPolicyBytes)
	switch {
	case err == nil:
		if json.Unmarshal(content, &a) == nil && len(a.Key) == adviceKeyBytes {
			s.advice.learn(info, a)
			return s.advice.known(), nil
		}
		err = fmt.Errorf("read what was accepted: %w", ErrDamaged)
	case gone(err):
		err = nil
	default:
		return Advice{}, fmt.Errorf("read what was accepted: %w", err)
	}
	a = Advice{Key: make([]byte, adviceKeyBytes)}
	_, _ = rand.Read(a.Key) // never fails
	return a, errors.Join(err, s.SaveAdvice(a))
}

const adviceKeyBytes = 32

// lastAdvice is what was read last, and what the file looked like just before. It is
// replaced, never written into, so that another one is another file.
type lastAdvice struct {
	mu     sync.Mutex
	info   fs.FileInfo
	advice Advice
}

func (l *lastAdvice) is(info fs.FileInfo) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.info != nil && os.SameFile(l.info, info) && l.info.ModTime().Equal(info.ModTime()) && l.info.Size() == info.Size()
}

func (l *lastAdvice) learn(info fs.FileInfo, a Advice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.info, l.advice = info, a
}

// known is the caller's to change.
func (l *lastAdvice) known() Advice {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Advice{Key: l.advice.Key, Accepted: slices.Clone(l.advice.Accepted), Seen: slices.Clip(l.advice.Seen)}
}

// SaveAdvice replaces what was accepted here.
func (s *Store) SaveAdvice(a Advice) error {
	content, err := json.Marshal(a)
	if err == nil {
		err = replaceFile(s.dir, adviceName, content, true)
	}
	if err != nil {
		return fmt.Errorf("keep what was accepted: %w", err)
	}
	return nil
}
