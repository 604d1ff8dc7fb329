package hook

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// Write is what a tool is about to do to one file.
type Write struct {
	Path string // absolute
	From string // another file whose text is edited and arrives at Path; usually empty
	// Whole is the new text when Replaces is set; otherwise the edits are made to
	// what stands there.
	Whole    string
	Replaces bool
	Edits    []Edit
}

// Edit replaces one text by another. An empty Old makes the file, or is added where
// nothing is known of the place.
type Edit struct {
	Old, New string
	All      bool
}

// After is the text of the file after the write. An edit that does not find its place
// is one that the agent's tool will refuse; what it brings is put at the end, so that
// it is looked at all the same.
func (w Write) After(before string) string {
	if w.Replaces {
		return w.Whole
	}
	text := before
	for _, e := range w.Edits {
		switch {
		case e.Old == "" || !strings.Contains(text, e.Old):
			text = strings.TrimSuffix(text, "\n") + "\n" + e.New
		case e.All:
			text = strings.ReplaceAll(text, e.Old, e.New)
		default:
			text = strings.Replace(text, e.Old, e.New, 1)
		}
	}
	return text
}

// The fields in which tools name a file, its new text, and edits. The first that is
// there counts.
var (
	pathFields  = []string{"file_path", "filePath", "notebook_path", "notebookPath", "absolute_path", "path"}
	wholeFields = []string{"content", "contents", "file_text"}
	patchFields = []string{bareField, "command", "patchText", "patch", "input"}
	oldFields   = []string{"old_string", "oldString", "old_str"}
	newFields   = []string{"new_string", "newString", "new_str", "new_source"}
)

// bareField is where the argument of a tool stands that takes a text and no object.
const bareField = "\x00bare"

// maxWrites bounds the files of one patch.
const maxWrites = 1_000

// Writes says what the tool is about to write, and nothing for a tool that writes no
// file. base is where relative paths begin.
func (e Event) Writes(base string) []Write {
	path := e.field(pathFields)
	if path == "" {
		for _, name := range patchFields {
			if patch := textOf(e.Input[name]); strings.Contains(patch, patchBegin) {
				return patchWrites(patch, base)
			}
		}
		return nil
	}
	w := Write{Path: absolute(path, base)}
	for _, name := range wholeFields {
		if field, ok := e.Input[name]; ok {
			w.Whole, w.Replaces = textOf(field), true
			return []Write{w}
		}
	}
	if edit, ok := editOf(e.Input); ok {
		w.Edits = append(w.Edits, edit)
	}
	var many []map[string]json.RawMessage
	if json.Unmarshal(e.Input["edits"], &many) == nil {
		for _, fields := range many {
			if edit, ok := editOf(fields); ok {
				w.Edits = append(w.Edits, edit)
			}
		}
	}
	if len(w.Edits) == 0 {
		return nil
	}
	return []Write{w}
}

func (e Event) field(names []string) string {
	for _, name := range names {
		if s := textOf(e.Input[name]); s != "" {
			return s
		}
	}
	return ""
}

func editOf(fields map[string]json.RawMessage) (e Edit, ok bool) {
	for _, name := range oldFields {
		if field, there := fields[name]; there {
			e.Old = textOf(field)
		}
	}
	for _, name := range newFields {
		if field, there := fields[name]; there {
			e.New, ok = textOf(field), true
		}
	}
	for _, name := range []string{"replace_all", "replaceAll", "allow_multiple"} {
		var all bool
		if json.Unmarshal(fields[name], &all) == nil {
			e.All = e.All || all
		}
	}
	return e, ok
}

// textOf is a string, or the lines of a list of them, as notebooks keep their cells.
func textOf(field json.RawMessage) string {
	var s string
	if json.Unmarshal(field, &s) == nil {
		return s
	}
	var lines []string
	if json.Unmarshal(field, &lines) == nil {
		return strings.Join(lines, "")
	}
	return ""
}

func absolute(path, base string) string {
	if filepath.IsAbs(path) || base == "" {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

const patchBegin = "*** Begin Patch"

// patchWrites reads a patch of the form that Codex gives its models: sections that
// begin with *** Add File, *** Update File or *** Delete File. Added lines are what a
// section brings; what it takes away or keeps needs no look.
func patchWrites(patch, base string) []Write {
	var writes []Write
	var old, added []string
	flush := func() {
		if n := len(writes); n > 0 && (len(old) > 0 || len(added) > 0) {
			w := &writes[n-1]
			if w.Replaces {
				w.Whole += join(added)
			} else {
				w.Edits = append(w.Edits, Edit{Old: join(old), New: join(added)})
			}
		}
		old, added = nil, nil
	}
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case len(writes) >= maxWrites:
			return writes
		case strings.HasPrefix(line, "*** Add File: "):
			flush()
			writes = append(writes, Write{Path: absolute(line[len("*** Add File: "):], base), Replaces: true})
		case strings.HasPrefix(line, "*** Update File: "):
			flush()
			writes = append(writes, Write{Path: absolute(line[len("*** Update File: "):], base)})
		case strings.HasPrefix(line, "*** Move to: "):
			if n := len(writes); n > 0 {
				w := &writes[n-1]
				w.From, w.Path = w.Path, absolute(line[len("*** Move to: "):], base)
			}
		case strings.HasPrefix(line, "***"), strings.HasPrefix(line, "@@"):
			flush()
		case strings.HasPrefix(line, "+"):
			added = append(added, line[1:])
		case strings.HasPrefix(line, "-"):
			old = append(old, line[1:])
		default:
			// A line of context stands on both sides.
			line = strings.TrimPrefix(line, " ")
			old, added = append(old, line), append(added, line)
		}
	}
	flush()
	return writes
}

func join(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
