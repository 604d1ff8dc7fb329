package store

import (
	"time"

	"github.com/teammem/teammem/api"
)

// Policy is one version of an organization's policy. The store keeps the document
// as it is and knows nothing of what it says.
type Policy struct {
	Version        api.Version // 0: none was ever set
	Document       []byte      // JSON; nil with version 0
	At             time.Time
	User           string // who set it, as named then; empty for the operator
	TokenUID       string
	FingerprintKey [32]byte // the organization's; filled by reads
	Redacted       bool     // any content of the organization was withdrawn; filled by reads
}

// Finding is what the scan found in an entry that was stored all the same. It
// holds no text.
type Finding struct {
	Key         api.Key
	Version     api.Version // that stored the entry; filled by reads
	Rule        string
	Class       api.Class
	Line        int // 0: in the key
	Fingerprint string
}
