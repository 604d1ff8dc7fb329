package api

import "time"

// Limits are what a server takes. It announces them under [PathWellKnown];
// sizes are bytes. Every number is from protocol.md, section 1.8.
type Limits struct {
	EntryBytes   int           `json:"entryBytes"`   // one entry's decoded UTF-8
	BatchBytes   int           `json:"batchBytes"`   // soft cap a client keeps for one PUT body
	BodyBytes    int64         `json:"bodyBytes"`    // one PUT body after decompression
	RepoEntries  int           `json:"repoEntries"`  // live entries in a repo
	KeyBytes     int           `json:"keyBytes"`     // a key
	SegmentBytes int           `json:"segmentBytes"` // a segment of a key
	Request      time.Duration `json:"-"`            // a client gives up after this
}

// DefaultLimits are the limits of a server that was not told otherwise, and what
// a client assumes of a server that does not announce any.
var DefaultLimits = Limits{
	EntryBytes:   250_000,
	BatchBytes:   200_000,
	BodyBytes:    4 << 20,
	RepoEntries:  5_000,
	KeyBytes:     MaxKeyBytes,
	SegmentBytes: MaxSegmentBytes,
	Request:      30 * time.Second,
}
