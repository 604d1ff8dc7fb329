package audit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/teammem/teammem/api"
)

// The actions of the records of a repo. A push is a PUT, a restore the push of an
// earlier text or of an earlier deletion, a move the push of an entry's text under another
// key together with its deletion under the old one, a redaction withdraws contents; the others are
// what became of a proposal.
const (
	ActionPush    = "push"
	ActionRestore = "restore"
	ActionMove    = "move"
	ActionApprove = "approve"
	ActionReject  = "reject"
	ActionReopen  = "reopen" // a rejection was taken back
	ActionRedact  = "redact"
)

// Redact is the subject of a record of a redaction.
type Redact struct {
	How       string         `json:"how,omitempty"` // as in a [Push]
	From      string         `json:"from,omitempty"`
	Checksums []api.Checksum `json:"checksums"` // of what is withdrawn
	Keys      []api.Key      `json:"keys"`      // that held it, and are tombstones now
	By        string         `json:"by"`        // who withdrew it; a restored database has it done again
	Reason    string         `json:"reason"`
}

// Subject writes the redaction as a record keeps it, see [Push.Subject].
func (r Redact) Subject() []byte { return subject(r) }

// Review is the subject of a record of an approval, of a rejection, and of one that was taken back.
type Review struct {
	How      string       `json:"how,omitempty"` // as in a [Push]
	From     string       `json:"from,omitempty"`
	Proposal string       `json:"proposal"`
	Key      api.Key      `json:"key"`
	Author   string       `json:"author"`
	Checksum api.Checksum `json:"checksum"`         // of what was reviewed
	Edited   api.Checksum `json:"edited,omitempty"` // of what the reviewer made of it
	Applied  bool         `json:"applied"`          // everybody sees it from now on
	Reason   string       `json:"reason,omitempty"`
}

// Subject writes the review as a record keeps it, see [Push.Subject].
func (r Review) Subject() []byte { return subject(r) }

// Push is the subject of a record of a push, of a restore and of a move: by what whoever made
// it was known and from where, as in a [Deed], and what it changed.
type Push struct {
	How      string       `json:"how,omitempty"`      // token, provider, session
	From     string       `json:"from,omitempty"`     // address
	Restored api.Version  `json:"restored,omitempty"` // the version that was restored
	Checksum api.Checksum `json:"checksum"`           // of the repo's set afterwards
	Keys     []KeyChange  `json:"keys"`               // in byte order
	// What the push proposed to change, and which of their proposals its author took
	// back: nobody else has seen any of it.
	Proposed  []KeyChange `json:"proposed,omitempty"`
	Withdrawn []api.Key   `json:"withdrawn,omitempty"`
	Reason    string      `json:"reason,omitempty"` // as whoever made it gave one
}

// KeyChange is what a push did to one key. A side on which nothing was live is
// absent.
type KeyChange struct {
	Key    api.Key      `json:"key"`
	Before api.Checksum `json:"before,omitempty"`
	After  api.Checksum `json:"after,omitempty"`
}

// Subject writes the push as a record keeps it: one line of JSON with the fields
// in the order above and without any space. The bytes are what is hashed, so they
// are stored as they are and never written anew from what was read.
func (p Push) Subject() []byte { return subject(p) }

func subject(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// Strings in slices of structs: there is nothing here that JSON cannot hold.
	_ = e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// ParsePush reads the subject of a record of a push.
func ParsePush(subject []byte) (Push, error) {
	var p Push
	if err := json.Unmarshal(subject, &p); err != nil {
		return Push{}, fmt.Errorf("subject of a push: %w", err)
	}
	return p, nil
}
