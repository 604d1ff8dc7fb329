package store

import (
	"time"

	"github.com/teammem/teammem/api"
)

// Identity is whom an identity provider vouches for: the subject of an issuer, and
// which user that is.
type Identity struct {
	Issuer  string
	Subject string
	User    UserID
	Created time.Time
}

// SessionKind says what a [Session] is of.
type SessionKind string

// The kinds.
const (
	BrowserSession SessionKind = "browser" // a browser that is signed in
	LinkSession    SessionKind = "link"    // a link that signs in once
	BearerSession  SessionKind = "bearer"  // a provider's token, kept when it was signed out
)

// SessionKept is how long a session is kept after its time.
const SessionKept = 24 * time.Hour

// Session is what a person is known by for a while. The secret is never stored.
type Session struct {
	Hash    [32]byte // SHA-256 of the secret
	Kind    SessionKind
	User    UserID
	Created time.Time
	Seen    time.Time // when it was last used, about
	Until   time.Time
	Ended   time.Time // zero: not
	// Issuer is the provider that vouched, and Renewal what it takes for a fresh word
	// on the person, sealed for whoever holds the secret; both may be empty.
	Issuer  string
	Renewal string
	Asks
}

// Asks is when a session's provider was asked whether the person is still there, and
// in which groups.
type Asks struct {
	Asked  time.Time // when the last question that was answered began
	Asking time.Time // when the one began that has no answer yet; zero: there is none
}

// Invitation lets whoever signs in first with a verified address join an
// organization.
type Invitation struct {
	Org     OrgID
	Email   string   // in small letters
	Name    string   // what the member is called, be it one that is there already
	Role    api.Role // may be empty: then only groups give one
	Created time.Time
	Until   time.Time
}
