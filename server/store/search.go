package store

import (
	"strings"
	"time"
	"unicode"

	"github.com/teammem/teammem/api"
)

// SearchDoc is one version of an entry as search knows it: what its header says,
// and its words in their order, with a space before and behind each.
type SearchDoc struct {
	Key         api.Key
	Version     api.Version
	Checksum    api.Checksum
	Type        string
	Name        string
	Description string
	Head        string // words of the key, the name and the description
	Words       string // words of the whole text
}

// SearchPlace is how far a repo is in the index: everything up to this version, and
// within it up to this key.
type SearchPlace struct {
	Version api.Version
	Key     api.Key
}

// SearchLag is a repo of which the index lacks something.
type SearchLag struct {
	Slug  api.RepoSlug
	Head  api.Version
	Place SearchPlace
}

// SearchTerm is words that stand in a row, and of the last of which only the beginning
// is given where Prefix is set. A term with a prefix has one word.
type SearchTerm struct {
	Words  []string
	Prefix bool
}

// SearchQuery says which versions of entries are found: those that hold every term,
// each in the head or in the text, and pass every filter.
type SearchQuery struct {
	Repos   []api.RepoSlug // of these only
	Terms   []SearchTerm   // none: whatever passes the filters
	Head    bool           // every term in the head
	Types   []string       // nil: of any
	Authors []UserID       // nil: of anyone
	After   time.Time      // made at this time or later; zero: any
	Before  time.Time      // made before this time; zero: any
	Past    bool           // versions that no longer stand as well
	Bare    bool           // their Head and Words are not read
	Limit   int
}

// Plain reports whether all words of a query are words. Nothing else stands in a text
// as the index keeps it, so a query that is not plain finds nothing, and no store asks
// its database.
func (q SearchQuery) Plain() bool {
	for _, term := range q.Terms {
		for _, word := range term.Words {
			if word == "" || strings.ContainsFunc(word, notOfWord) {
				return false
			}
		}
	}
	return true
}

func notOfWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}

// SearchHit is a version of an entry that a query found.
type SearchHit struct {
	SearchDoc
	Repo     api.RepoSlug
	At       time.Time
	UserName string
	Client   string
	Live     bool // it stands
	// Existed says that the entry stood before the query's After.
	Existed bool
}
