// Package memory reads memory files as an agent reads them: the front matter of a
// topic file, the lines of an index, the links between them, how old a memory is,
// and what of an index an agent is told.
//
// It is pure: bytes or a rooted [fs.FS] come in, values come out, and the time is an
// argument. It writes nothing, and nothing is ever re-serialised: what a caller
// changes, it changes by the offsets that are given here, so that unknown keys,
// comments, order, BOM and CRLF survive byte for byte.
//
// Front matter is read line by line and not as YAML, because one real file in twenty
// is no YAML at all, and a parser would silently cut one value in thirty at a " #".
// A missing or unknown type is [None] and never an error; no bytes are refused.
//
// The numbers (30 lines of header, 200 files, 200 lines and 25,000 bytes of an
// index) are those of the agent that ships. Recall, the instruction hierarchy, the
// doors for agents, the commands about memories and the server's pages stand on it.
package memory

// Type says what a memory is about. The match is exact: "Project" is none.
type Type string

// The types.
const (
	None      Type = ""
	User      Type = "user"      // role, goals, knowledge of one person; always private
	Feedback  Type = "feedback"  // corrections and confirmations
	Project   Type = "project"   // ongoing work, deadlines, decisions
	Reference Type = "reference" // where things are in other systems
)

// Types lists the four, in the order in which people are told of them.
func Types() []Type { return []Type{User, Feedback, Project, Reference} }

// TypeOf is the type that a text names, or [None].
func TypeOf(text string) Type {
	switch t := Type(text); t {
	case User, Feedback, Project, Reference:
		return t
	}
	return None
}

// Scope says who shares a memory.
type Scope string

// The scopes.
const (
	Private Scope = "private" // the auto-memory directory; it never leaves this machine
	Team    Scope = "team"    // team/ below it, synced
)

// Home is the scope in which a memory of this type usually belongs.
func (t Type) Home() Scope {
	switch t {
	case Project, Reference:
		return Team
	default:
		return Private
	}
}
