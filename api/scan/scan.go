// Package scan says what must not cross the wire unseen: bytes and a key in,
// findings out.
//
// A memory is read by other people's agents and obeyed. A secret in it is
// published; an instruction hidden in it runs on everyone's machine. Both wings
// scan with this package, the client before anything leaves, the server because
// clients lie. It looks for secrets, for hidden text, for injected instructions
// and for what belongs to one machine or person; each is a [Class], and what is
// done about a class is the caller's policy, beginning with [DefaultVerdict].
//
// # Where the rules come from
//
// The rules for secrets are gitleaks' own, read from the configuration that its
// config package embeds, together with a table of ours for what it misses and a
// table of what we judge otherwise ([Rules] shows the outcome). Its engine is not
// used: it reads 2 MB a second. Allow lists and stop words count only when they
// cover the whole value, never for the name before it or for a part of it, and
// gitleaks:allow comments mean nothing here.
//
// # How a text is read
//
// One pass finds the literals that a match of each rule must begin with. Where the
// bytes behind one do not rule a match out, the rule runs as a lazily built deterministic
// automaton that errs on the side of matching, and dies within a few bytes where
// there is nothing. Only what survives it meets the real regular expression. So a
// rule costs memory only after its literal was seen.
//
// What the rules' matches begin with is worked out ahead and kept as an index of the
// library's text (go generate), so that a program need not read that to begin. The rules
// themselves stay the library's; an index of another text counts for nothing.
//
// The text is read more than once: as it stands; folded, with line breaks, Markdown
// emphasis, escapes, percent encoding, strings put together and invisible characters
// undone; as a mail's text in quoted-printable; and what is base64 in any of these,
// decoded, two levels deep. Each reading keeps a map back to the
// original, so that a finding names the line and column of the original text. In a
// reading that was made from another only what an edit can have changed is looked at.
//
// # Promises
//
// A scan is pure and deterministic, without I/O, clock or random source. Its work
// and memory are bounded by the length of the content; a text built to exceed the
// bound yields [ErrTooDense], never a silent pass: whoever gets an error sends
// nothing. A [Finding] never holds any of the text, only its place and a keyed
// fingerprint. A [Scanner] is safe for concurrent use and cheap to hold.
//
// Pattern scanning is a tripwire, not a wall: it catches accidents and lazy
// attacks, and says so to whoever reads the documentation.
package scan

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/teammem/teammem/api"
)

// ErrTooDense says that the content would cost more work than its length allows.
// The content was not scanned to its end and must not be sent.
var ErrTooDense = errors.New("scan: the text is too dense to be scanned")

// ErrTooLong says that the content is longer than [MaxBytes].
var ErrTooLong = errors.New("scan: the text is too long to be scanned")

// MaxBytes is the longest content that is scanned. It is far above the limit of
// an entry, so that a server with raised limits and a scan of whole files work.
const MaxBytes = 64 << 20

// Options are what a scanner is made from. The zero value is valid.
type Options struct {
	// FingerprintKey keys the fingerprints. Without it findings carry none: an
	// unkeyed hash of a short password would give the password away.
	FingerprintKey []byte
}

// Scanner holds the rules. It never changes after [New].
type Scanner struct {
	key      []byte
	rules    []*rule
	starts   []*start
	leads    []*lead // what literals reports, by number
	literals *literals
	desks    *sync.Pool // of *desk
}

// lead is one literal of a start.
type lead struct {
	start, width int // of a match up to the end of the literal
	word         string
	ahead        atomic.Pointer[ahead]
	met          atomic.Uint32 // how often, until ahead is there
}

// New makes the rules ready. It takes about a millisecond; hold on to the result.
func New(opts Options) (*Scanner, error) {
	rules, err := allRules()
	if err != nil {
		return nil, fmt.Errorf("scan rules: %w", err)
	}
	s := &Scanner{key: append([]byte(nil), opts.FingerprintKey...), rules: rules, desks: &sync.Pool{}}
	var words []literal
	for _, r := range rules {
		for _, st := range r.starts {
			st.index = len(s.starts)
			s.starts = append(s.starts, st)
			for _, word := range st.leads {
				words = append(words, literal{word, len(words)})
			}
		}
	}
	leads := make([]lead, 0, len(words))
	for _, st := range s.starts {
		for _, word := range st.leads {
			leads = append(leads, lead{start: st.index, width: len(word) + st.back, word: word})
			s.leads = append(s.leads, &leads[len(leads)-1])
		}
	}
	s.literals = newLiterals(words)
	s.desks.New = func() any { return newDesk(s) }
	return s, nil
}

// Keyed is the same scanner with another key for its fingerprints. It costs
// nothing: the rules and what was built of them are shared.
func (s *Scanner) Keyed(key []byte) *Scanner {
	keyed := *s
	keyed.key = append([]byte(nil), key...)
	return &keyed
}

// Scan reads one entry, its key included, and returns what it found, ordered by
// place. A finding in the key itself has line 0. An error means that the entry
// could not be scanned: callers fail closed.
func (s *Scanner) Scan(key api.Key, content []byte) ([]Finding, error) {
	if len(content) > MaxBytes {
		return nil, ErrTooLong
	}
	d := s.desks.Get().(*desk)
	defer s.desks.Put(d)
	d.Scanner = s // whose key the fingerprints are taken with
	return d.scan(string(key), content)
}
