package store

import (
	"fmt"
	"time"

	"github.com/teammem/teammem/api"
)

// Redaction is a content that an administrator withdrew from an organization.
type Redaction struct {
	Checksum api.Checksum
	At       time.Time
	User     string // who, as named then
	TokenUID string
	Reason   string
	Done     bool // the bytes are gone; filled by reads
}

// RedactedError: a change would store a content that was withdrawn.
type RedactedError struct{ Redaction }

func (e *RedactedError) Error() string {
	return fmt.Sprintf("content %s was redacted", e.Checksum.Short())
}

// Withdrawn are the contents that a change may not bring if they were withdrawn.
func (c *Change) Withdrawn() (sums []api.Checksum) {
	for i := range c.Writes {
		if w := &c.Writes[i]; !w.Deleted {
			sums = append(sums, w.Checksum)
		}
	}
	for i := range c.Proposals {
		if p := &c.Proposals[i]; !p.Deleted && p.State == api.ProposalOpen {
			sums = append(sums, p.Checksum)
		}
	}
	return sums
}

// Holder is a version of an entry that holds a content.
type Holder struct {
	Past
	Until api.Version // that changed the key next; 0: it stands
}

// HolderQuery says which versions of a repo are listed, in the order in which they
// were made and within one in key order. Deletions are not.
type HolderQuery struct {
	Version api.Version    // from after this place on
	Key     api.Key        //
	Sums    []api.Checksum // of these contents only; nil: all that are not gone
	Limit   int
}

// Pull says that a repo was served to somebody.
type Pull struct {
	Repo     RepoID
	User     UserID
	Token    TokenID // zero: no token of ours
	Client   string
	Oldest   api.Version // that was served
	Newest   api.Version
	At       time.Time // of the newest
	UserName string    // filled by reads
	TokenUID string    // filled by reads
}

// MostClients is how many clients of one user and token a repo keeps apart. Those
// beyond are kept together under [OtherClients]: a client's name is whatever it says.
const (
	MostClients  = 100
	OtherClients = "(others)"
)

// Scan is one look through what an organization holds and held.
type Scan struct {
	ID      int64 // filled by reads
	UID     string
	Org     OrgID
	Slug    api.RepoSlug // the one repo looked at; empty: all
	Origin  string       // who carries it on
	User    string       // who asked for it
	State   api.ScanState
	Step    int64 // rises by one with each SaveScan
	At      time.Time
	Updated time.Time
	Found   int    // findings so far
	Place   []byte // JSON of its runner's: where it goes on
}

// Scrubbed says what scrubbing came to, in the words that an operator is told.
type Scrubbed struct {
	Rewritten bool     // the file or the table was written anew without what was deleted
	Remains   []string // where deleted bytes may still lie
}
