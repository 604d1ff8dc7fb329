// Package api is the contract of teammem: everything that the server and the
// client have to agree on before they can speak to each other, and nothing else.
//
// It holds the nouns on the wire ([Key], [Checksum], [Version], [RepoSlug],
// [Memory], [Push]), the rules a key must keep ([ParseKey]), the entity tags and
// preconditions of a PUT ([ParseTags], [Precondition]), the limits, the error
// type that crosses the wire unchanged ([Error]), the route table ([Routes]), a
// strict JSON reader ([ParseJSON]), and the OpenAPI description of all of it
// ([OpenAPI]).
//
// The package is pure: no I/O, no clock, no logging. It depends on the standard
// library and golang.org/x/text only, so that either wing, a test or a stranger's
// tool may import it. Both wings do; neither imports the other.
package api

import "time"

// Paths of the routes that both wings name in code. The full list is [Routes].
const (
	PathTeamMemory   = "/api/claude_code/team_memory"
	PathWellKnown    = "/.well-known/teammem"
	PathWhoAmI       = "/api/v1/whoami"
	PathSession      = "/api/v1/session"
	PathEvents       = "/api/v1/events"
	PathEntries      = "/api/v1/entries"
	PathEntry        = "/api/v1/entry"
	PathHistory      = "/api/v1/history"
	PathVersions     = "/api/v1/versions"
	PathDiff         = "/api/v1/diff"
	PathRestore      = "/api/v1/restore"
	PathMove         = "/api/v1/move"
	PathCatalogue    = "/api/v1/catalogue"
	PathLinks        = "/api/v1/links"
	PathIndexes      = "/api/v1/indexes"
	PathBlame        = "/api/v1/blame"
	PathExport       = "/api/v1/export"
	PathActivity     = "/api/v1/activity"
	PathActivityLive = "/api/v1/activity/live"
	PathPolicy       = "/api/v1/policy"
	PathAccepted     = "/api/v1/policy/accepted"
	PathFindings     = "/api/v1/findings"
	PathProposals    = "/api/v1/proposals"
	PathProposal     = "/api/v1/proposals/{id}"
	PathApprove      = "/api/v1/proposals/{id}/approve"
	PathReject       = "/api/v1/proposals/{id}/reject"
	PathReopen       = "/api/v1/proposals/{id}/reopen"
	PathRedactions   = "/api/v1/redactions"
	PathScans        = "/api/v1/scans"
	PathScan         = "/api/v1/scans/{id}"
	PathStats        = "/api/v1/stats"
	PathClients      = "/api/v1/clients"
	PathOpenAPI      = "/api/openapi.yaml"
	PathHealth       = "/healthz"
	PathReady        = "/readyz"
)

// Headers of ours. Stock clients neither send nor read them.
const (
	// HeaderClient names the machine a change comes from, for history and
	// audit: printable text of at most 200 bytes, chosen by the client.
	HeaderClient = "Teammem-Client"
	// HeaderOrganization names the organization that a request is about, by name
	// or id, for people who are in several.
	HeaderOrganization = "Teammem-Organization"
	// HeaderTokenExpires carries the time at which the request's token ends, during
	// its last week.
	HeaderTokenExpires = "Teammem-Token-Expires"
	// HeaderRepo carries a repo's name of now where it was asked for by an old one.
	HeaderRepo = "Teammem-Repo"
	// HeaderRequestID carries the server's id of a request on every answer.
	HeaderRequestID = "Teammem-Request-Id"
	// HeaderVersion carries the repo's version beside the ETag, for the case
	// that a proxy eats the ETag.
	HeaderVersion = "Teammem-Version"
)

// Version counts the changes of one repo. It starts at 0 (no memory yet), rises
// by one with every change, never falls and is never used twice.
type Version int64

// Epoch names one life of a server's database. It is opaque; it changes when a
// server is restored from a backup, so that clients can tell an old state from a
// lost one.
type Epoch string

// TimeFormat is the form of every time on the wire: ISO 8601 in UTC with
// milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// Time is an instant on the wire, kept to the millisecond in UTC.
type Time struct{ time.Time }

// NewTime cuts t to what the wire carries.
func NewTime(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// ParseTime reads an RFC 3339 time of any precision and zone.
func ParseTime(s string) (Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return Time{}, err
	}
	return NewTime(t), nil
}

// String writes t as the wire does.
func (t Time) String() string { return t.UTC().Format(TimeFormat) }

// MarshalText writes t as the wire does.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalJSON writes t as the wire does. Without it the embedded time.Time would
// choose another precision.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// UnmarshalText reads any RFC 3339 time.
func (t *Time) UnmarshalText(b []byte) (err error) {
	*t, err = ParseTime(string(b))
	return err
}

// UnmarshalJSON reads a JSON string that holds any RFC 3339 time.
func (t *Time) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return &time.ParseError{Layout: time.RFC3339, Value: string(b), Message: ": not a JSON string"}
	}
	return t.UnmarshalText(b[1 : len(b)-1])
}
