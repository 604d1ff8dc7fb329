package api

// Memory is the answer to a GET: one repo's whole set of entries, or with
// Partial what changed after the version that was asked from.
//
// With view=hashes Content.Entries is absent and EntryChecksums stands at the
// top level as well as under content, because write-ups of the stock client
// disagree on where it reads them.
type Memory struct {
	OrganizationID string           `json:"organizationId"`
	Repo           RepoSlug         `json:"repo"`
	Version        Version          `json:"version"`
	Epoch          Epoch            `json:"epoch"`
	LastModified   Time             `json:"lastModified"`
	Checksum       Checksum         `json:"checksum"`
	Partial        bool             `json:"partial,omitempty"`
	Content        Content          `json:"content"`
	EntryChecksums map[Key]Checksum `json:"entryChecksums,omitempty"`
	// Deleted holds the tombstones: for each deleted key the checksum of what
	// was deleted. A tombstone is left out while a live twin of its key exists.
	Deleted map[Key]Checksum `json:"deleted"`
	// Redacted names contents that an administrator withdrew: a client removes
	// them wherever it holds them (protocol 2.4).
	Redacted []Checksum `json:"redacted,omitempty"`
}

// Content is the entries of a Memory, by key.
type Content struct {
	Entries        map[Key]string   `json:"entries,omitempty"`
	EntryChecksums map[Key]Checksum `json:"entryChecksums"`
	EntryModified  map[Key]Time     `json:"entryModified,omitempty"`
}

// Push is the body of a PUT: what to write, what to delete, and on which base.
type Push struct {
	Entries   map[Key]string `json:"entries"`
	Deletions []Key          `json:"deletions,omitempty"`
	// BaseChecksums names for a key the checksum it was edited from; nil means
	// "must not exist", and on a deleted key "restore it".
	BaseChecksums map[Key]*Checksum `json:"baseChecksums,omitempty"`
	// Modified are the files' own times; the server clamps them to now.
	Modified map[Key]Time `json:"modified,omitempty"`
}

// PushResult is the answer to a PUT that was applied or had nothing to do.
type PushResult struct {
	OrganizationID string   `json:"organizationId"`
	Repo           RepoSlug `json:"repo"`
	Version        Version  `json:"version"`
	Epoch          Epoch    `json:"epoch"`
	LastModified   Time     `json:"lastModified"`
	Checksum       Checksum `json:"checksum"`
	// Changed says that this change made the version. It is false where all that
	// was asked stood there already: then somebody else made it, and what else it
	// holds is not known.
	Changed bool `json:"changed"`
	// Held are the keys that were not written for everybody: what waits for
	// approval, and what was rejected before.
	Held []Held `json:"held,omitempty"`
}

// Change is one event of a live stream: a repo has reached a version. On the wire
// it is the data of a server-sent event named [ChangeEvent].
type Change struct {
	Repo    RepoSlug `json:"repo"`
	Version Version  `json:"version"`
	// Checksum is absent where anything is proposed to the repo: there not everybody
	// sees the same set.
	Checksum Checksum `json:"checksum,omitempty"`
}

// ChangeEvent is the name of the one kind of event on a live stream.
const ChangeEvent = "change"

// WellKnown is what a server says of itself to anyone who asks.
type WellKnown struct {
	Server     string   `json:"server"`  // "teammem"
	Version    string   `json:"version"` // of the server's build
	Limits     Limits   `json:"limits"`
	Extensions []string `json:"extensions"`
	// OIDC are the identity providers that a client may sign in with.
	OIDC []Provider `json:"oidc,omitempty"`
}

// Provider is an OpenID Connect provider as a client has to know it.
type Provider struct {
	Issuer   string   `json:"issuer"` // exactly
	Name     string   `json:"name"`
	ClientID string   `json:"clientId"`
	Scopes   []string `json:"scopes"`
	Device   bool     `json:"device"` // it has the device authorization grant
	Token    string   `json:"token"`  // which of the tokens the server takes: access or id
}

// SignOut is what came of signing out.
type SignOut struct {
	Ended bool `json:"ended"` // false: it was a token of ours, which stays
}

// The extensions a server announces (protocol.md, part 2).
const (
	ExtensionBaseChecksums = "base-checksums"
	ExtensionDeletions     = "deletions"
	ExtensionSince         = "since"
	ExtensionModified      = "modified"
	ExtensionEvents        = "events"
	ExtensionPolicy        = "policy"
	ExtensionProposals     = "proposals"
	ExtensionRedacted      = "redacted"
)

// WhoAmI is what the bearer of a token is told about it.
type WhoAmI struct {
	OrganizationID string `json:"organizationId"`
	Organization   string `json:"organization"` // its name
	User           string `json:"user"`
	Role           Role   `json:"role"`
	TokenID        string `json:"tokenId"`
	Expires        *Time  `json:"expires"` // null: never
}
