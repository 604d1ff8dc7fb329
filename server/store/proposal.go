package store

import (
	"time"

	"github.com/teammem/teammem/api"
)

// Proposal is a change of one key that waits, or waited, for approval.
type Proposal struct {
	ID     int64 // of the row; filled by reads, in the order in which they were made
	UID    string
	Slug   api.RepoSlug // filled by reads
	Key    api.Key
	Author UserID
	User   string // the author's name; filled by reads
	Client string
	State  api.ProposalState
	// Standing: the author's view of the key is made of this one. At most one of a
	// key and an author is.
	Standing bool
	Deleted  bool
	Checksum api.Checksum // of the content; of a deletion: of what shall be deleted
	Base     api.Checksum // what was live when it was made; empty for nothing
	Size     int
	Modified time.Time
	Version  api.Version // in which its author saw it change last
	At       time.Time
	Closed   api.Version // that approved, rejected or withdrew it; 0: open
	ClosedAt time.Time
	ClosedBy string
	Reason   string // of a rejection or withdrawal
	Detail   []byte // JSON of the ledger's
}

// ProposalWrite is a proposal as a Change leaves it: a new one, or one of that UID
// in another state.
type ProposalWrite struct {
	Proposal
	Body *Body // nil for a deletion, and where the content is stored already
}

// Shadow is what one author's view has in place of what everybody sees of a key.
type Shadow struct {
	Proposal
	Public Row // of the key; zero where it has none
}

// ProposalQuery says which proposals of an organization are listed, newest first.
type ProposalQuery struct {
	Repo   api.RepoSlug      // empty: of all
	State  api.ProposalState // empty: any
	Author UserID            // zero: anybody's
	Before int64             // ID; zero: from the newest
	Limit  int
}
