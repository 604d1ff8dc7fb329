package store

import (
	"time"

	"github.com/teammem/teammem/api"
)

// Counts is what happened somewhere in some time.
type Counts struct {
	Versions  int64
	Created   int64 // entries
	Changed   int64
	Deleted   int64
	Conflicts int64 // pushes refused because somebody was quicker
	Refused   int64 // pushes refused by policy
	Held      int64 // entries that were held as proposals
	Bytes     int64 // of the texts that were written
}

// Add adds what happened elsewhere, or later.
func (c *Counts) Add(more Counts) {
	c.Versions += more.Versions
	c.Created += more.Created
	c.Changed += more.Changed
	c.Deleted += more.Deleted
	c.Conflicts += more.Conflicts
	c.Refused += more.Refused
	c.Held += more.Held
	c.Bytes += more.Bytes
}

// Figure is what happened in an hour in one repo.
type Figure struct {
	Org  OrgID
	Slug api.RepoSlug // empty: of no repo, or of one that has no memory
	Hour time.Time    // its beginning
	Counts
}

// Client is what a client last said of itself.
type Client struct {
	Org      OrgID
	User     UserID
	UID      string // the client's own name for the directory that it syncs
	Seen     time.Time
	Document []byte // JSON of whoever notes it
	UserName string // filled by reads
}

// MostDirectories is how many clients of one user are kept; of more the ones that were
// heard of last are.
const MostDirectories = 100
