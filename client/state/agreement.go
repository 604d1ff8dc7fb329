package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
)

// Agreement is what a client and a server last agreed on about one repo, and what
// the client has to remember until they agree on the rest.
type Agreement struct {
	Server, OrganizationID string
	Repo                   api.RepoSlug
	// Directory is where the memory directory was, RootID which one it was, and
	// MarkerID what its marker said; another one is not this agreement's.
	Directory, RootID, MarkerID string

	// Epoch, Version and Checksum are of the last remote state seen.
	Epoch    api.Epoch
	Version  api.Version
	Checksum api.Checksum
	Synced   time.Time // the last round that ended well; zero: none yet
	Halted   string    // why syncing stopped and asks; empty: it did not

	Entries map[api.Key]Entry
	// Tombstones are known at the server and applied here. A client remembers
	// them so that a file restored by hand is not removed again.
	Tombstones map[api.Key]api.Checksum
	// Refused is what was refused or held, until its cause changes.
	Refused map[api.Key]Refusal
}

// Entry is one key of an agreement.
type Entry struct {
	Base   api.Checksum // last agreed; "" when never
	Remote api.Checksum // last seen at the server; "" when not there
	File   memdir.File  // the local file as last hashed; zero: none
}

// Refusal is why an entry does not travel.
type Refusal struct {
	Checksum api.Checksum // of the content that was refused
	Kind     string       // "secret", "policy", "limit", "clash", "key" or "server"
	Rule     string       // name of the rule broken, for programs
	Line     int          // 0: not a matter of one line
	Message  string       // for people; never holds content
	Since    time.Time
	Limit    int64 // bytes or entries, when Kind is "limit"
}

// Held reports whether it was a scan that refused, here or at the server.
func (r Refusal) Held() bool { return r.Kind == "secret" || r.Kind == "policy" }

// NewAgreement is an agreement on nothing.
func NewAgreement() *Agreement {
	return &Agreement{
		Entries:    map[api.Key]Entry{},
		Tombstones: map[api.Key]api.Checksum{},
		Refused:    map[api.Key]Refusal{},
	}
}

const agreementName = "state"

// maxAgreementBytes is far above what the largest repo needs (a hundred thousand
// entries with long keys) and keeps a stray file from filling the memory.
const maxAgreementBytes = 256 << 20

// Load reads the agreement. When there is none yet it is empty. When it is damaged
// the file is put aside, and the answer is an empty agreement and an error that
// wraps [ErrDamaged]: the caller tells the person and goes on. On any other error
// (a permission, a failing disk) the agreement is nil, and nothing was moved.
func (s *Store) Load() (*Agreement, error) {
	path := filepath.Join(s.dir, agreementName)
	content, err := readBounded(path, maxAgreementBytes)
	switch {
	case gone(err):
		return NewAgreement(), nil
	case err == nil:
		var a *Agreement
		if a, err = decode(content); err == nil {
			return a, nil
		}
	}
	if !errors.Is(err, ErrDamaged) {
		return nil, fmt.Errorf("read state: %w", err)
	}
	aside, moveErr := s.putAside(path)
	if moveErr != nil {
		return nil, fmt.Errorf("put the damaged state aside: %w", errors.Join(moveErr, err))
	}
	return NewAgreement(), fmt.Errorf("the client's state was put aside as %s: %w", aside, err)
}

// Save replaces the agreement. It has reached the disk when Save returns.
func (s *Store) Save(a *Agreement) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	content, err := encode(a)
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	if err := replaceFile(s.dir, agreementName, content, true); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	if now, err := modTime(filepath.Join(s.dir, agreementName)); err == nil {
		sweepTemporaries(s.dir, now)
	}
	return nil
}

const damagedPrefix = agreementName + ".damaged-"

// mostDamaged bounds what is put aside. The files hold checksums and names, no
// content; they are for whoever looks into the fault.
const mostDamaged = 8

// putAside renames a damaged agreement after the time it was last written, and
// forgets the oldest beyond the bound.
func (s *Store) putAside(path string) (string, error) {
	written, err := modTime(path)
	if err != nil {
		return "", err
	}
	stem := filepath.Join(s.dir, damagedPrefix+written.UTC().Format("20060102T150405Z"))
	aside := stem
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); gone(err) {
			break
		}
		aside = fmt.Sprintf("%s-%d", stem, n)
	}
	if err := os.Rename(path, aside); err != nil {
		return "", err
	}
	s.forgetDamaged()
	return aside, syncDir(s.dir)
}

func (s *Store) forgetDamaged() {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	var all []string
	for _, name := range names {
		if strings.HasPrefix(name.Name(), damagedPrefix) {
			all = append(all, name.Name())
		}
	}
	slices.Sort(all)
	for _, name := range all[:max(0, len(all)-mostDamaged)] {
		_ = os.Remove(filepath.Join(s.dir, name)) // tried again the next time
	}
}
