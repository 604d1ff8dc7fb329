// Package audit is the append-only trail: who did what, when, from where, to
// which bytes. Records of a repo are chained by hash under the repo's lock, so
// that a row that was changed, taken out or put in later is found: each record's
// hash covers its own fields and the hash of the record before it.
//
// A record is made by whoever decides a change and is stored in the transaction
// of that change; this package only knows its form and its hash.
package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Record is one line of a trail.
type Record struct {
	Seq      int64 // 1 for a repo's first; equal to the version that it records
	At       time.Time
	Action   string // such as [ActionPush]
	User     string // name, as it was then
	TokenUID string
	Client   string
	// Subject says what was done in the action's own terms, as canonical JSON:
	// for a push the keys with their checksums before and after. No contents.
	Subject  []byte
	Previous [32]byte // hash of the record before, zero for the first
	Hash     [32]byte
}

// Chain completes a record: it sets Previous and Hash.
func (r Record) Chain(previous [32]byte) Record {
	r.At = r.At.UTC().Truncate(time.Millisecond)
	r.Previous = previous
	r.Hash = r.sum()
	return r
}

// Verify reports whether the record's hash fits its fields and follows previous.
func (r Record) Verify(previous [32]byte) bool {
	return r.Previous == previous && r.Hash == r.sum()
}

// sum hashes the fields, each behind its length, so that no two records have one
// encoding.
func (r Record) sum() [32]byte {
	h := sha256.New()
	number := func(n int64) {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(n))
		_, _ = h.Write(b[:])
	}
	text := func(b []byte) {
		number(int64(len(b)))
		_, _ = h.Write(b)
	}
	number(r.Seq)
	number(r.At.UnixMilli())
	for _, s := range []string{r.Action, r.User, r.TokenUID, r.Client} {
		text([]byte(s))
	}
	text(r.Subject)
	text(r.Previous[:])
	var sum [32]byte
	h.Sum(sum[:0])
	return sum
}
