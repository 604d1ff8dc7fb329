package api

import (
	"slices"
	"strings"
)

// ClientReport is what a client says of itself: at its start, at its end, and while it
// runs when something changed, but once a minute at most, else every five. It names no
// file and holds no content.
type ClientReport struct {
	ID      string      `json:"id"` // of the directory that is synced: a hash of its marker
	State   ClientState `json:"state"`
	Started Time        `json:"started"` // when this run began
	Version string      `json:"version"` // of the client's build
	Watch   string      `json:"watch"`   // how changes are noticed: events, polling, or empty
	Files   int         `json:"files"`   // in step with the server
	At      Version     `json:"at"`      // the repo's version that it has
	Pending int         `json:"pending"` // edits that wait to be sent
	Kept    int         `json:"kept"`    // texts in the keep: what could not be merged
	Held    int         `json:"held"`    // files that are held back
	Trouble string      `json:"trouble"` // a word for what is wrong, or empty
}

// ClientState says whether a client runs.
type ClientState string

// The states.
const (
	ClientRunning ClientState = "running"
	ClientStopped ClientState = "stopped"
)

// Check holds a report against its bounds.
func (r ClientReport) Check() error {
	bad := func(what string) error {
		return &Error{Code: InvalidRequest, Message: "the report's " + what, Details: Details{ErrorCode: ErrorCodeBadBody}}
	}
	if r.State != ClientRunning && r.State != ClientStopped {
		return bad("state is neither running nor stopped")
	}
	if r.ID == "" {
		return bad("id is missing")
	}
	for _, text := range []string{r.ID, r.Version, r.Watch, r.Trouble} {
		if len(text) > 100 || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) {
			return bad("texts are of printable ASCII and at most 100 bytes")
		}
	}
	if slices.Min([]int64{int64(r.Files), int64(r.At), int64(r.Pending), int64(r.Kept), int64(r.Held)}) < 0 {
		return bad("numbers are not negative")
	}
	return nil
}

// ClientInfo is a client as lists show it.
type ClientInfo struct {
	ClientReport
	User    string   `json:"user"`
	Machine string   `json:"machine"` // the client's name for itself
	Repo    RepoSlug `json:"repo"`
	Seen    Time     `json:"seen"`   // when it last said so
	Online  bool     `json:"online"` // it runs, and was heard of lately
	Lag     Version  `json:"lag"`    // versions that it is behind
}

// ClientList is a page of clients, the one that was heard of last first.
type ClientList struct {
	Clients    []ClientInfo `json:"clients"`
	NextCursor string       `json:"next_cursor,omitempty"`
}
