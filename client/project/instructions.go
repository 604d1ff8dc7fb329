package project

import (
	"encoding/json"
	"path/filepath"

	"github.com/teammem/teammem/client/config"
)

// Instructions says where the agent's instruction files lie on this machine, and which
// of them its settings exclude.
type Instructions struct {
	ManagedDir string // of the administrator
	UserDir    string // the agent's configuration home; empty without a home directory
	Excludes   []Exclude
	Guidelines string // appended to the prompt about memory
}

// Exclude is a glob on absolute paths, from claudeMdExcludes. A committed one comes
// from the repository's own settings.
type Exclude struct {
	Pattern   string
	Committed bool
	File      string // it stands in
}

// envGuidelines is the agent's variable for guidelines of an organization's own.
const envGuidelines = "CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES"

// Instructions looks for them, for an agent that works in dir.
func (p Project) Instructions(env config.Env, dir string) Instructions {
	found := Instructions{ManagedDir: filepath.Dir(policyPath(env)), UserDir: configHome(env), Guidelines: env.Get(envGuidelines)}
	top := dir
	if p.Worktree != "" {
		top = p.Worktree
	}
	add := func(file string, committed bool) {
		for _, pattern := range excludesIn(file) {
			found.Excludes = append(found.Excludes, Exclude{Pattern: pattern, Committed: committed, File: file})
		}
	}
	add(policyPath(env), false)
	committed := filepath.Join(top, ".claude", "settings.json")
	local := filepath.Join(top, ".claude", "settings.local.json")
	add(local, tracksLocal(top))
	if found.UserDir != "" {
		add(filepath.Join(found.UserDir, "settings.json"), false)
	}
	if filepath.Dir(committed) != found.UserDir {
		add(committed, true)
	}
	return found
}

// tracksLocal reports whether git tracks the local settings of a work tree. What
// cannot be told counts as tracked.
func tracksLocal(top string) bool {
	c, ok := checkoutAt(top)
	if !ok {
		return false
	}
	tracked, err := isTracked(c.gitDir, ".claude/settings.local.json")
	return tracked || err != nil
}

// excludesIn reads one settings file; what cannot be read excludes nothing.
func excludesIn(file string) []string {
	content, err := readSmall(file, 4<<20)
	if err != nil {
		return nil
	}
	var settings struct {
		Excludes []string `json:"claudeMdExcludes"`
	}
	if json.Unmarshal(content, &settings) != nil {
		return nil
	}
	return settings.Excludes
}
