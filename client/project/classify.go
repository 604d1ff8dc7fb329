package project

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/teammem/teammem/client/config"
)

// Kind says to which of the agent's memory systems a path belongs. The words are for
// programs and stable.
type Kind string

// The kinds.
const (
	KindManaged Kind = "managed" // instructions of an administrator
	KindUser    Kind = "user"    // instructions of a person, for all projects
	KindProject Kind = "project" // instructions that a repository holds
	KindLocal   Kind = "local"   // instructions of a person for one project
	KindAuto    Kind = "auto"    // private memory
	KindTeam    Kind = "team"    // team memory
	KindSession Kind = "session" // notes of one session
	KindAgent   Kind = "agent"   // memory of a sub-agent
	KindNone    Kind = "none"
)

// Classify says what a path is. It need not exist; links are followed as far as it does.
// A search or a write of team memory by an agent's tool is recognised by it.
func (p Project) Classify(env config.Env, path string) (Kind, error) {
	absolute, err := env.Abs(path)
	if err != nil {
		return KindNone, err
	}
	// A link into a memory directory is that memory, and one out of it is not; an
	// instruction may well be a link to a file of another name.
	real := config.Resolve(absolute)
	if kind := p.memoryKind(env, real); kind != KindNone {
		return kind, nil
	}
	for _, at := range []string{absolute, real} {
		if kind := instructionKind(env, at); kind != KindNone {
			return kind, nil
		}
	}
	return KindNone, nil
}

func (p Project) memoryKind(env config.Env, path string) Kind {
	if p.MemoryDir != "" {
		if _, ok := below(path, p.TeamDir); ok {
			return KindTeam
		}
		if _, ok := below(path, p.MemoryDir); ok {
			return KindAuto
		}
	}
	bases := []string{configHome(env)}
	if base := env.Get(envMemoryBase); base != "" {
		bases = append(bases, absolute(env, base))
	}
	for _, base := range bases {
		if base == "" {
			continue
		}
		if rest, ok := below(path, filepath.Join(base, "projects")); ok {
			return projectsKind(rest)
		}
		if _, ok := below(path, filepath.Join(base, "agent-memory")); ok {
			return KindAgent
		}
	}
	for i, segment := range segments(path) {
		if (segment == "agent-memory" || segment == "agent-memory-local") && i > 0 && segments(path)[i-1] == ".claude" {
			return KindAgent
		}
	}
	return KindNone
}

// projectsKind knows the memory of any project: slug/memory/team, slug/memory and
// slug/session/session-memory.
func projectsKind(rest []string) Kind {
	switch {
	case len(rest) >= 3 && rest[1] == "memory" && rest[2] == "team":
		return KindTeam
	case len(rest) >= 2 && rest[1] == "memory":
		return KindAuto
	case len(rest) >= 3 && rest[2] == "session-memory":
		return KindSession
	}
	return KindNone
}

func instructionKind(env config.Env, path string) Kind {
	name := filepath.Base(path)
	rule := strings.HasSuffix(name, ".md")
	if rest, ok := below(path, filepath.Dir(policyPath(env))); ok {
		rest = slices.DeleteFunc(rest, func(s string) bool { return s == ".claude" })
		if name == "CLAUDE.md" && len(rest) == 1 || rule && len(rest) > 1 && rest[0] == "rules" {
			return KindManaged
		}
	}
	if home := configHome(env); home != "" {
		if rest, ok := below(path, home); ok {
			if name == "CLAUDE.md" && len(rest) == 1 || rule && len(rest) > 1 && rest[0] == "rules" {
				return KindUser
			}
			return KindNone
		}
	}
	all := segments(path)
	for i := range len(all) - 2 {
		if rule && all[i] == ".claude" && all[i+1] == "rules" {
			return KindProject
		}
	}
	switch name {
	case "CLAUDE.local.md":
		return KindLocal
	case "CLAUDE.md":
		return KindProject
	}
	return KindNone
}

// below gives the segments of a path below a directory; the directory itself has none.
func below(path, dir string) (rest []string, ok bool) {
	rel, err := filepath.Rel(config.Resolve(dir), path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		if rel, err = filepath.Rel(dir, path); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return nil, false
		}
	}
	if rel == "." {
		return nil, true
	}
	return segments(rel), true
}

func segments(path string) []string {
	return strings.Split(filepath.ToSlash(path), "/")
}
