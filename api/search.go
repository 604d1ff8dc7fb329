package api

// The addresses of search and of the digest.
const (
	PathSearch = "/api/v1/search"
	PathDigest = "/api/v1/digest"
)

// Bounds of a page of what was found.
const (
	DefaultSearchPage = 20
	MaxSearchPage     = 50
)

// SearchResult is one page of what a question found, best first.
type SearchResult struct {
	Hits []SearchHit `json:"hits"`
	// Found counts the entries of all pages. More says that there are others, which
	// were not looked at: a narrower question finds them.
	Found int  `json:"found"`
	More  bool `json:"more"`
	// Complete is false while texts that were written are still being added to the
	// index, as after an upgrade.
	Complete   bool   `json:"complete"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// SearchHit is an entry that was found, at the newest version that fits the question.
type SearchHit struct {
	Repo        RepoSlug `json:"repo"`
	Key         Key      `json:"key"`
	Version     Version  `json:"version"`
	Checksum    Checksum `json:"checksum"`
	Type        string   `json:"type"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	At          Time     `json:"at"` // when the version was made
	User        string   `json:"user"`
	Client      string   `json:"client"`
	Current     bool     `json:"current"` // it stands; else it is a past version
	Snippet     Snippet  `json:"snippet"`
}

// Snippet is a part of a text as it was written, which may hold anything.
type Snippet struct {
	Text   string `json:"text"`
	Marks  []Mark `json:"marks"`  // in order, none in another
	Before bool   `json:"before"` // text was left out before it
	After  bool   `json:"after"`  // and behind it
}

// Mark is a place in a snippet, in bytes of UTF-8.
type Mark struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Digest is what was learned since a time, by repo and type, one page of it.
type Digest struct {
	Since  Time          `json:"since"`
	Groups []DigestGroup `json:"groups"`
	// Found counts the entries of all pages. More says that there are older ones since
	// then, which were not looked at.
	Found      int    `json:"found"`
	More       bool   `json:"more"`
	Complete   bool   `json:"complete"` // as in [SearchResult]
	NextCursor string `json:"next_cursor,omitempty"`
}

// DigestGroup is the entries of one type in one repo. A group that a page ends in goes
// on in the next.
type DigestGroup struct {
	Repo    RepoSlug      `json:"repo"`
	Type    string        `json:"type"` // empty for none
	Entries []DigestEntry `json:"entries"`
}

// DigestEntry is an entry that is new since then, or was changed and stood before.
type DigestEntry struct {
	Key         Key     `json:"key"`
	Version     Version `json:"version"`
	Name        string  `json:"name"`
	Description string  `json:"description"`
	New         bool    `json:"new"`
	At          Time    `json:"at"` // of the last change
	User        string  `json:"user"`
}
