package state

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/teammem/teammem/api"
)

const (
	pulseName = "pulse"
	// maxPulseBytes is far above what a few sentences need.
	maxPulseBytes = 64 << 10
)

// Trouble is a kind of fault that keeps a client from its work.
type Trouble string

// The troubles. The empty one is none.
const (
	Unreachable Trouble = "unreachable" // the server, or what answers for it
	SignIn      Trouble = "sign-in"     // the token is not accepted
	Barred      Trouble = "barred"      // the token may not push; pulls go on
	Halted      Trouble = "halted"      // a person is asked
	Faulty      Trouble = "failed"      // this machine's own fault: a full disk, a permission
)

// Watching is how a client that is at work notices what changes here.
type Watching struct {
	Mode    string `json:"mode"`          // what the system has for that, or "polling"
	Why     string `json:"why,omitempty"` // it is polling
	Folders int    `json:"folders"`       // watched by the system
}

// Pulse is how the last round of a client went, for other processes to see. The
// agreement on disk lags by up to a minute while nothing changes; this does not.
type Pulse struct {
	Good    time.Time `json:"good,omitzero"` // when a round last ended well
	Trouble Trouble   `json:"trouble,omitempty"`
	Since   time.Time `json:"since,omitzero"` // when the trouble began
	Text    string    `json:"text,omitempty"` // what it is, for people
	Hint    string    `json:"hint,omitempty"` // and what to do
	Watch   Watching  `json:"watch,omitzero"` // means nothing when none is at work
	// TokenEnds is when the token ends, in its last week, and Repo the name of now of
	// a repo that was given another one, as the server last said. What they are was
	// told a person once, by whichever process heard of it first.
	TokenEnds time.Time    `json:"tokenEnds,omitzero"`
	Repo      api.RepoSlug `json:"repo,omitempty"`
}

// Beat notes how a round went. It is written often and is worth little, so it is
// not synced to the disk.
func (s *Store) Beat(p Pulse) error {
	content, err := json.Marshal(p)
	if err == nil {
		err = replaceFile(s.dir, pulseName, content, false)
	}
	if err != nil {
		return fmt.Errorf("note how the round went: %w", err)
	}
	return nil
}

// LastPulse reads what [Store.Beat] noted last. One that is not there, or did not
// survive a power cut, says nothing.
func (s *Store) LastPulse() (p Pulse) {
	content, err := readBounded(filepath.Join(s.dir, pulseName), maxPulseBytes)
	if err != nil || json.Unmarshal(content, &p) != nil {
		return Pulse{}
	}
	return p
}
