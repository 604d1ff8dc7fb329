package audit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/teammem/teammem/api"
)

// ActionPush is the action of a record that a PUT made.
const ActionPush = "push"

// Push is the subject of a record of a push.
type Push struct {
	Checksum api.Checksum `json:"checksum"` // of the repo's set afterwards
	Keys     []KeyChange  `json:"keys"`     // in byte order
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
func (p Push) Subject() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// Strings in slices of structs: there is nothing here that JSON cannot hold.
	_ = e.Encode(p)
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
