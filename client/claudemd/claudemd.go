// Package claudemd gathers what an agent is told at the start of a session: the
// instruction files of every level with what they import, and the prompt about its
// memory. Each file that was looked at is kept with the reason why it was loaded,
// skipped or cut, and with what it costs.
//
// The order, from the weakest to what comes last and so wins attention: managed, user,
// then every directory from the root of the file system down to the working directory
// (CLAUDE.md, .claude/CLAUDE.md, .claude/rules, CLAUDE.local.md), added directories,
// and for one file that is read the levels below the working directory on the way to
// it and the rules whose paths match it. A file comes before what it imports.
//
// An import is "@path" in text, not in code and not in a comment, and only where a file
// is: names of packages and people look the same. A path ends at a space, unless a
// backslash stands before it; punctuation behind it is not part of it, nor is
// "#heading". It is relative to the file that imports. Each file is loaded once, at
// most [MaxDepth] deep, and text only.
//
// Whether a file lies outside the project is decided once, on the path with every
// link followed, for loading, asking and reporting alike. What a project's own files
// name outside of it waits for the person's approval ([Approvals], kept in the client's
// state directory); managed and user files are the person's own.
//
// All reading goes through a file system that is rooted at the machine's root, by
// absolute paths with slashes ("/C:/…" on Windows). Links are followed by the package
// itself; a pipe, a socket or a device is never opened. Nothing is written, no clock is
// asked, and the same tree gives the same bytes. [Disk] is the machine's own.
// client context calls it, and the doors for agents.
package claudemd

import "io/fs"

// Limits.
const (
	MaxDepth   = 5       // files of one chain of imports, the first included
	WarnRunes  = 40_000  // a longer file is loaded, with a warning
	MaxBytes   = 4 << 20 // a larger file is skipped
	maxImports = 1_000   // of one file
)

// Layer says whose a file is.
type Layer string

// The layers.
const (
	Managed    Layer = "managed"
	User       Layer = "user"
	Project    Layer = "project"
	Local      Layer = "local"
	Memory     Layer = "memory"
	TeamMemory Layer = "team memory"
)

// describes says what a layer's files are.
func (l Layer) describes() string {
	switch l {
	case Managed:
		return "managed instructions, set by the administrator of this machine"
	case User:
		return "the user's private instructions for all projects"
	case Project:
		return "project instructions, checked into the codebase"
	case Local:
		return "the user's private instructions for this project, not checked in"
	case Memory:
		return "the index of the private memory, kept across sessions"
	case TeamMemory:
		return "the index of the team's memory, shared across the organization"
	}
	return string(l)
}

// State says what became of a file.
type State string

// The states.
const (
	Loaded  State = "loaded"
	Cut     State = "cut"     // loaded in part
	Skipped State = "skipped" // see Why
	Waiting State = "waiting" // lies outside the project and is not approved
)

// File is a file that was looked at.
type File struct {
	Path     string `json:"path"`           // as it was named
	Real     string `json:"real,omitempty"` // where it lies, if elsewhere
	Layer    Layer  `json:"layer"`
	State    State  `json:"state"`
	Why      string `json:"why"`
	Importer string `json:"importedBy,omitempty"`
	Line     int    `json:"line,omitempty"` // of the import
	Depth    int    `json:"depth"`          // imports on the way to it
	Size     int64  `json:"size"`           // of the file
	Bytes    int    `json:"bytes"`          // that the agent gets of it
	Tokens   int    `json:"tokens"`         // an estimate
	Warning  string `json:"warning,omitempty"`
	Text     string `json:"-"`
}

// Warning is what a person should look at.
type Warning struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

// Exclude is a glob on absolute paths; what it matches is not loaded.
type Exclude struct {
	Pattern string
	// Committed: it comes from a repository's own settings, which may not silence
	// the user's files.
	Committed bool
}

// Options are where to look. All paths are absolute, with slashes.
type Options struct {
	FS   fs.FS
	Dir  string // where the agent works
	Root string // of the project: the top of the work tree; Dir outside git
	Main string // the main checkout that a work tree belongs to; may be Root
	// ManagedDir and UserDir hold the managed and the user's files; either may be
	// empty.
	ManagedDir, UserDir string
	Home                string   // for @~/; may be empty
	Added               []string // directories the person added
	Without             []Layer  // of User, Project and Local
	Excludes            []Exclude
	Approved            []string // files and folders outside the project that may be loaded
	Read                string   // a file that is read; empty for the start of a session
}

// Result is what was found, in the order in which an agent is told.
type Result struct {
	Files    []File
	Warnings []Warning
}

// Tokens is an estimate of what a text costs: a token for four characters, padded by
// a third.
func Tokens(runes int) int { return (runes + 2) / 3 }
