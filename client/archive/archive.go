// Package archive is a repo's memory in one file that a person can read without
// teammem: a tar, packed or not, with the entries as files and a manifest beside them.
//
//	teammem.json   what this is of, and of every entry its checksum, version, time and author
//	memory/KEY     an entry's bytes, with its own time; in the manifest's order, by key
//	history.jsonl  if asked for: every change, oldest first, one JSON object a line, with its text
//
// It is a tar because every system unpacks one, and memory/ is then a memory directory.
// The entries lie in a folder of their own because any name beside them is a legal key
// too. The manifest stands first, so that a reader knows what to expect before it takes
// anything in, and names each entry once more with its checksum, so that a file that was
// cut off or changed is told from one that is whole. The history is for people and
// programs to read: nothing makes it true again on another server, which has a history
// of its own. The form is numbered; a newer reader reads all older ones.
//
// [Read] believes nothing. It takes no name that is not in the manifest, in its order; no
// link, no folder, no size but the one that was announced; and gives an archive only
// after its last byte was read and every checksum held. An error names the place. What it
// may be made to unpack is bounded by its caller.
//
// It knows bytes only: files, servers and rules are for package carry and the commands.
package archive

import (
	"fmt"

	"github.com/teammem/teammem/api"
)

// format is the number of the archive's form.
const format = 1

// The names within an archive.
const (
	manifestName = "teammem.json"
	entryFolder  = "memory/"
	historyName  = "history.jsonl"
)

// Manifest is the first file of an archive.
type Manifest struct {
	Format   int          `json:"teammem_export"`
	Server   string       `json:"server"` // its address
	OrgID    string       `json:"organizationId"`
	Repo     api.RepoSlug `json:"repo"`
	Version  api.Version  `json:"version"`
	Epoch    api.Epoch    `json:"epoch"`
	Checksum api.Checksum `json:"checksum"` // of the set, as the server told it
	Exported api.Time     `json:"exported"`
	By       string       `json:"by"` // the program and its version
	Entries  []Entry      `json:"entries"`
	History  *History     `json:"history,omitempty"`
}

// Entry is one entry of a manifest. Version, time and author are those of its last
// change, and absent where the server no longer knew them.
type Entry struct {
	Key      api.Key      `json:"key"`
	Checksum api.Checksum `json:"checksum"`
	Bytes    int          `json:"bytes"`
	Modified api.Time     `json:"modified,omitzero"` // the file's own time
	Version  api.Version  `json:"version,omitempty"`
	At       api.Time     `json:"at,omitzero"`
	User     string       `json:"user,omitempty"`
	Client   string       `json:"client,omitempty"`
}

// History says what history.jsonl is.
type History struct {
	Changes  int          `json:"changes"` // lines
	Bytes    int64        `json:"bytes"`
	Checksum api.Checksum `json:"checksum"`
}

// Archive is one that was read to its end and found whole.
type Archive struct {
	Manifest
	Texts map[api.Key][]byte
}

// Bounds are what a reader lets an archive make it unpack.
type Bounds struct {
	Entries    int
	EntryBytes int
	Bytes      int64 // of all entries
}

// DefaultBounds are beyond what any server of ours takes by default, and within what a
// machine can hold.
var DefaultBounds = Bounds{Entries: 100_000, EntryBytes: 4 << 20, Bytes: 1 << 30}

// Bounds of what is not an entry.
const (
	maxManifest = 64 << 20
	maxHistory  = 16 << 30 // it is read through and not kept
	maxFilling  = 1 << 20  // zeros behind the end, which tars are filled up with to some block
	maxWindow   = 64 << 20 // of what zstd may look back at
)

// DamagedError says that a file is no whole archive, and where that shows.
type DamagedError struct{ Place, Why string }

func (e *DamagedError) Error() string {
	if e.Place == "" {
		return "the archive is damaged: " + e.Why
	}
	return fmt.Sprintf("the archive is damaged: %q %s", e.Place, e.Why)
}

// Form is how the tar is packed.
type Form int

// The forms.
const (
	Plain Form = iota
	Gzip
	Zstd
)
