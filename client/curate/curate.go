// Package curate works out what a change to the memories comes to: a new memory and its
// line in the index, a move and the links that follow it, a promotion from private to
// team, a line in the daily log.
//
// It is pure. A [Library] of texts comes in and a list of [Change]s goes out, each with
// the text before and after, so that it can be shown before or after it is carried out.
// Every change is an edit of lines: what is not meant stays as it is, byte for byte, and
// nothing is written in another form than somebody typed it.
//
// Private memory leaves by [Library.Promote] alone, and a memory of type user never
// does. The commands about memories call it.
package curate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
)

// Change is what becomes of one file.
type Change struct {
	Key    api.Key
	Before []byte // nil: it was not there
	After  []byte // nil: it goes
}

// Library is all that can be read: the memories and the indexes of every scope, by key.
type Library struct {
	List memory.List
	Read func(key api.Key) ([]byte, error) // wraps fs.ErrNotExist
	// TeamPrefix is what the keys of team memory begin with, "" where all of it is of
	// one scope.
	TeamPrefix string
	Only       memory.Scope // the scope of all of it, where TeamPrefix is ""
}

// Refused says why something that was asked for is not done, and what to do instead.
type Refused struct{ Why, Cure string }

func (e *Refused) Error() string { return e.Why }

// Hint is the cure.
func (e *Refused) Hint() string { return e.Cure }

// Find gives the memory that a person means: by its key, with or without the ending, the
// same in the team's directory, or as a link would name it.
func (l Library) Find(name string) (memory.Memory, error) {
	for _, key := range []string{name, name + ".md", l.TeamPrefix + name, l.TeamPrefix + name + ".md"} {
		for _, m := range l.List.Memories {
			if string(m.Key) == key {
				return m, nil
			}
		}
	}
	key, _, ok := memory.NewNames(l.List.Memories).Resolve(name, "")
	if !ok {
		for _, missed := range l.List.Missed {
			if string(missed.Key) == name || string(missed.Key) == name+".md" {
				return memory.Memory{}, &Refused{fmt.Sprintf("%s is there and cannot be read: %v", missed.Key, missed.Err), "a memory is a regular file that you may read"}
			}
		}
		return memory.Memory{}, &Refused{fmt.Sprintf("there is no memory %q", name), "client memory list shows them all; client memory search looks inside"}
	}
	i := slices.IndexFunc(l.List.Memories, func(m memory.Memory) bool { return m.Key == key })
	return l.List.Memories[i], nil
}

// isTeam reports whether a key belongs to the team's part.
func (l Library) isTeam(key api.Key) bool {
	return l.TeamPrefix != "" && strings.HasPrefix(string(key), l.TeamPrefix)
}

// ScopeOf is who shares the file at a key.
func (l Library) ScopeOf(key api.Key) memory.Scope {
	if l.isTeam(key) || l.Only == memory.Team {
		return memory.Team
	}
	return memory.Private
}

// root is the folder of a key's scope, for its main index.
func (l Library) root(key api.Key) string {
	if l.isTeam(key) {
		return strings.TrimSuffix(l.TeamPrefix, "/")
	}
	return "."
}

// IndexFor is the index that a memory belongs into: that of its folder where there is
// one, else that of its scope.
func (l Library) IndexFor(key api.Key) api.Key {
	for folder := path.Dir(string(key)); folder != l.root(key) && folder != "."; folder = path.Dir(folder) {
		if at := api.Key(path.Join(folder, string(api.IndexKey))); slices.Contains(l.List.Indexes, at) {
			return at
		}
	}
	return api.Key(path.Join(l.root(key), string(api.IndexKey)))
}

// text reads a file that may not be there: nil then.
func (l Library) text(key api.Key) ([]byte, error) {
	text, err := l.Read(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}

// free refuses a key at which a file stands, or that cannot travel.
func (l Library) free(key api.Key) error {
	if _, err := api.ParseKey(string(key)); err != nil {
		return &Refused{fmt.Sprintf("%q cannot be the name of a memory: %v", key, err), "choose letters, digits, dashes and an ending .md"}
	}
	switch {
	case !strings.HasSuffix(string(key), ".md") || key.HasDotSegment():
		return &Refused{fmt.Sprintf("%q would be no memory", key), "a memory's name ends in .md, and no part of it begins with a dot"}
	case key.IsIndex():
		return &Refused{fmt.Sprintf("%s is an index, not a memory", key), "choose another name"}
	}
	for _, m := range l.List.Memories {
		if m.Key.Fold() == key.Fold() {
			return &Refused{fmt.Sprintf("%s is there already", m.Key), "look at it first (client memory show) and edit it, or choose another name"}
		}
	}
	return nil
}

// Relative is a link's target from a folder to a key.
func Relative(folder string, key api.Key) string {
	var up []string
	for folder != "." && !strings.HasPrefix(string(key), folder+"/") {
		up, folder = append(up, ".."), path.Dir(folder)
	}
	rest := string(key)
	if folder != "." {
		rest = strings.TrimPrefix(rest, folder+"/")
	}
	return path.Join(append(up, rest)...)
}

// ending is how the lines of a text end.
func ending(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
