package api

import "fmt"

// Action is what a change did to an entry.
type Action string

// The actions.
const (
	ActionCreated Action = "created" // nothing was there before
	ActionChanged Action = "changed"
	ActionDeleted Action = "deleted"
)

// ParseAction reads an action's name; empty is any.
func ParseAction(s string) (Action, error) {
	switch a := Action(s); a {
	case "", ActionCreated, ActionChanged, ActionDeleted:
		return a, nil
	}
	return "", fmt.Errorf("no action %q: want created, changed or deleted", clip(s))
}

// ActivityChange is one change of an entry within an event.
type ActivityChange struct {
	Key      Key      `json:"key"`
	Action   Action   `json:"action"`
	Checksum Checksum `json:"checksum"`
	Previous Checksum `json:"previous,omitempty"`
	Bytes    int      `json:"bytes"`
}

// ActivityEvent is a version of a repo, with those of its changes that were asked for.
type ActivityEvent struct {
	Repo    RepoSlug         `json:"repo"`
	Version Version          `json:"version"`
	At      Time             `json:"at"`
	User    string           `json:"user"`
	Client  string           `json:"client"`
	Changes []ActivityChange `json:"changes"` // the first 100
	Total   int              `json:"total"`
}

// Activity is a page of events, newest first. A page may be short, or empty, and still
// have a next one.
type Activity struct {
	Events     []ActivityEvent `json:"events"`
	NextCursor string          `json:"next_cursor,omitempty"`
}
