package memdir

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/teammem/teammem/api"
)

// Reason says why something in the directory is not synced. The words are for
// programs and stable.
type Reason string

// The reasons.
const (
	ReasonSymlink    Reason = "symlink"
	ReasonDevice     Reason = "device"    // a device, a pipe or a socket
	ReasonDirectory  Reason = "directory" // only where a file is wanted
	ReasonFile       Reason = "file"      // only where a directory is wanted
	ReasonHidden     Reason = "hidden"    // a segment begins with a dot
	ReasonTemporary  Reason = "temporary" // an editor's temporary or backup name
	ReasonNotUTF8    Reason = "not-utf8"  // the content
	ReasonTooLarge   Reason = "too-large"
	ReasonUnreadable Reason = "unreadable"
	ReasonBadKey     Reason = "bad-key"
	ReasonWindows    Reason = "windows-name" // legal as a key, not as a name here
)

// says completes "the file …".
func (r Reason) says() string {
	switch r {
	case ReasonSymlink:
		return "is a symbolic link"
	case ReasonDevice:
		return "is a device, a pipe or a socket"
	case ReasonDirectory:
		return "is a directory"
	case ReasonFile:
		return "is a file"
	case ReasonHidden:
		return "is hidden (its name begins with a dot)"
	case ReasonTemporary:
		return "has the name of an editor's temporary or backup file"
	case ReasonNotUTF8:
		return "is not valid UTF-8"
	case ReasonTooLarge:
		return "is too large"
	case ReasonUnreadable:
		return "cannot be read"
	case ReasonWindows:
		return "has a name that Windows does not allow"
	default:
		return "has a name that cannot be a key"
	}
}

// Left is something in the directory that is not synced, and why.
type Left struct {
	Name   string  // below the root, with slashes, as it is on disk: print it quoted
	Key    api.Key // empty when the name is no key
	Reason Reason
	Detail string // for people; completes "Name …"
	Quiet  bool   // ours, or an editor's temporary file: not worth a line
}

// Error makes a *Left an error where a single file was asked for.
func (l *Left) Error() string { return fmt.Sprintf("%q %s", l.Name, l.Detail) }

func leave(name string, reason Reason, detail string) *Left {
	left := &Left{Name: name, Reason: reason, Detail: detail, Quiet: reason == ReasonTemporary}
	if detail == "" {
		left.Detail = reason.says()
	}
	if key, err := api.ParseKey(name); err == nil {
		left.Key = key
	}
	return left
}

// IsTemporary knows the names under which editors keep temporary files and
// backups (protocol.md, section 1.7). It looks at one segment.
func IsTemporary(segment string) bool {
	return segment == "4913" ||
		strings.HasSuffix(segment, "~") ||
		strings.HasSuffix(segment, ".tmp") ||
		strings.HasSuffix(segment, ".swp") ||
		len(segment) > 1 && segment[0] == '#' && segment[len(segment)-1] == '#'
}

// Refuses says why a key that a server holds is never written here, or nil: a
// segment begins with a dot, the key breaks a rule, or this system cannot have
// such a name.
func Refuses(key api.Key) *Left { return refuses(key, onWindows) }

func refuses(key api.Key, windows bool) *Left {
	if _, err := api.ParseKey(string(key)); err != nil {
		return leave(string(key), ReasonBadKey, err.Error())
	}
	if key.HasDotSegment() {
		return leave(string(key), ReasonHidden, "")
	}
	if windows && strings.ContainsAny(string(key), `<>"|?*`) {
		return leave(string(key), ReasonWindows, `holds one of < > " | ? *, which Windows does not allow`)
	}
	return nil
}

// reasonOfMode names what a thing is that is not what was wanted.
func reasonOfMode(mode fs.FileMode) Reason {
	switch {
	case mode&fs.ModeSymlink != 0:
		return ReasonSymlink
	case mode.IsDir():
		return ReasonDirectory
	case mode.IsRegular():
		return ReasonFile
	default:
		// On Windows a junction or another reparse point is irregular.
		return ReasonDevice
	}
}
