package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/client/memdir"
)

// teamPrefix is before the keys of what is shared.
const teamPrefix = "team/"

// advice is an error for a model: what is wrong, and what to call next.
type advice struct{ what, cure string }

func (a *advice) Error() string { return a.what + ". " + a.cure }

// place is a memory: the directory it lies in, and its key there.
type place struct {
	full  string // as tools name it
	scope memory.Scope
	dir   string
	key   api.Key
}

// place finds what a tool names.
func (s *Server) place(full string) (place, error) {
	p := place{full: full, scope: memory.Private, dir: s.opts.Private}
	name := full
	if rest, ok := strings.CutPrefix(full, teamPrefix); ok {
		name, p.scope, p.dir = rest, memory.Team, s.opts.Team
	}
	key, err := api.ParseKey(name)
	if err != nil {
		return p, &advice{fmt.Sprintf("%q is no key of a memory: %v", full, err), "memory_list shows the keys; a new one is like team/project_release.md"}
	}
	switch {
	case p.dir == "" && p.scope == memory.Private:
		return p, &advice{fmt.Sprintf("%s would be private, and private memories are not served here", full), "use a key that begins with team/"}
	case p.dir == "":
		return p, &advice{"this project has no team memory", "tell the person: client where shows why"}
	case key.HasDotSegment() || !strings.HasSuffix(name, ".md"):
		return p, &advice{fmt.Sprintf("%s is no memory: memories are Markdown files", full), "use a key that ends in .md"}
	}
	p.key = key
	return p, nil
}

// open opens the directory of a memory; nil where there is none.
func open(path string) (*memdir.Dir, error) {
	if path == "" {
		return nil, nil
	}
	dir, err := memdir.Open(path)
	if errors.Is(err, memdir.ErrGone) {
		return nil, nil
	}
	return dir, err
}

// make opens the directory and makes it first if it is not there. A team's directory
// that was synced once and is gone is not made anew: the client would take all that
// is missing for deleted.
func (p place) make() (*memdir.Dir, error) {
	dir, err := open(p.dir)
	if dir != nil || err != nil {
		return dir, err
	}
	if p.scope == memory.Team {
		return nil, &advice{"the team's directory is not there", "tell the person to run client sync, which makes it and fills it"}
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, err
	}
	return memdir.Open(p.dir)
}

// text reads a memory. The error is for a model.
func (p place) text() (content []byte, info fs.FileInfo, err error) {
	dir, err := open(p.dir)
	if err != nil {
		return nil, nil, err
	}
	if dir == nil {
		return nil, nil, p.missing()
	}
	defer func() { _ = dir.Close() }()
	content, err = dir.Read(p.key, api.DefaultLimits.EntryBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, p.missing()
	}
	if left := (*memdir.Left)(nil); errors.As(err, &left) {
		return nil, nil, &advice{fmt.Sprintf("%s cannot be read: it %s", p.full, left.Detail), "memory_list shows what can"}
	}
	if err != nil {
		return nil, nil, err
	}
	info, err = fs.Stat(dir.FS(), string(p.key))
	return content, info, err
}

func (p place) missing() error {
	return &advice{fmt.Sprintf("there is no memory %s", p.full), `memory_list shows the keys; to write it, call memory_write with version "new"`}
}

// scan lists the memories of the scopes that are asked for, all when it is empty.
func (s *Server) scan(scope memory.Scope) (memory.List, error) {
	var sources []memory.Source
	for _, shelf := range []memory.Source{
		{Scope: memory.Private, Skip: strings.TrimSuffix(teamPrefix, "/")}, {Scope: memory.Team, Prefix: teamPrefix},
	} {
		path := s.opts.Private
		if shelf.Scope == memory.Team {
			path = s.opts.Team
		}
		if scope != "" && scope != shelf.Scope {
			continue
		}
		dir, err := open(path)
		if err != nil {
			return memory.List{}, err
		}
		if dir == nil {
			continue
		}
		defer func() { _ = dir.Close() }()
		shelf.FS = dir.FS()
		sources = append(sources, shelf)
	}
	return memory.Scan(0, sources...), nil
}
