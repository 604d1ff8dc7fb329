package syncer

import (
	"github.com/teammem/teammem/api"
)

// EventKind says what an Event tells.
type EventKind string

// The events of a round, as a person is told of them.
const (
	EventPushed   EventKind = "pushed"
	EventPulled   EventKind = "pulled"
	EventMerged   EventKind = "merged"
	EventRemoved  EventKind = "removed"
	EventDeleted  EventKind = "deleted"  // at the server, by us
	EventRestored EventKind = "restored" // a file deleted by hand came back
	EventHeld     EventKind = "held"
	EventProposed EventKind = "proposed" // sent, and waits for somebody's approval
	EventRefused  EventKind = "refused"
	EventConflict EventKind = "conflict"
	EventSkipped  EventKind = "skipped"
	EventFailed   EventKind = "failed"
	EventHalted   EventKind = "halted"
	EventResumed  EventKind = "resumed"
	EventOffline  EventKind = "offline"
	EventOnline   EventKind = "online"
	EventSignIn   EventKind = "sign-in"
	EventWatching EventKind = "watching"
	EventRedacted EventKind = "redacted" // withdrawn by an administrator, and removed here
	EventRetired  EventKind = "retired"  // kept or trashed texts that grow old
	EventEnding   EventKind = "ending"   // the token, within the week
	EventRenamed  EventKind = "renamed"  // the repo
)

// Event is one thing that happened, to some keys. It never holds contents.
type Event struct {
	Kind EventKind
	Keys []api.Key
	Text string // what happened, for people; may be empty
	Hint string // what to do about it; may be empty
	Rule string // of a held file: the scanner's rule
	Line int    // of a held file
	Kept string // of a conflict: the id in the keep
}

// Report is what a round came to.
type Report struct {
	Version    api.Version
	Checksum   api.Checksum
	Entries    int // live at the server
	Uploaded   []api.Key
	Downloaded []api.Key
	Merged     []api.Key
	Removed    []api.Key
	Redacted   []api.Key // removed here, because their bytes were withdrawn
	Deleted    []api.Key // at the server
	Conflicts  []api.Key
	Failed     []api.Key // could not be written or removed here
	Waiting    []api.Key // edited on both sides, which a push leaves for a pull
	Plan       []Action  // of a dry run
	Changed    bool      // something on either side was changed
	Pending    bool      // files changed under the round; look again
}

// Add takes another round's report in.
func (r *Report) Add(next *Report) {
	r.Version, r.Checksum, r.Entries, r.Pending = next.Version, next.Checksum, next.Entries, next.Pending
	r.Uploaded = append(r.Uploaded, next.Uploaded...)
	r.Downloaded = append(r.Downloaded, next.Downloaded...)
	r.Merged = append(r.Merged, next.Merged...)
	r.Removed = append(r.Removed, next.Removed...)
	r.Redacted = append(r.Redacted, next.Redacted...)
	r.Deleted = append(r.Deleted, next.Deleted...)
	r.Conflicts = append(r.Conflicts, next.Conflicts...)
	r.Failed, r.Waiting = next.Failed, next.Waiting
	r.Changed = r.Changed || next.Changed
}
