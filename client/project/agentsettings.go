package project

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/teammem/teammem/client/config"
)

// agentFile is one settings file of the agent, as far as its memory is concerned.
// fault says, for people, why the file is passed over.
type agentFile struct {
	path                string
	fault               string
	AutoMemoryDirectory *string `json:"autoMemoryDirectory"`
	AutoMemoryEnabled   *bool   `json:"autoMemoryEnabled"`
}

// agentSettings reads the agent's settings files, the strongest first: policy, the
// project's local file, the user's. The settings that a repository commits
// (.claude/settings.json) are never among them: a hostile one would name ~/.ssh. For
// the same reason the local file counts only when git does not track it.
func agentSettings(env config.Env, start string, c checkout) []agentFile {
	var all []agentFile
	add := func(path string) {
		if s, ok := readAgentFile(path); ok {
			all = append(all, s)
		}
	}
	add(policyPath(env))
	top := start
	if c.top != "" {
		top = c.top
	}
	local := filepath.Join(top, ".claude", "settings.local.json")
	switch tracked, err := isTracked(c.gitDir, ".claude/settings.local.json"); {
	case !exists(local):
	case err != nil:
		all = append(all, agentFile{path: local, fault: "passed over: it cannot be told whether the repository committed it: " + err.Error()})
	case tracked:
		all = append(all, agentFile{path: local, fault: "passed over: the repository committed it"})
	default:
		add(local)
	}
	if home := configHome(env); home != "" {
		add(filepath.Join(home, "settings.json"))
	}
	return all
}

// policyPath is where an administrator's settings lie.
func policyPath(env config.Env) string {
	switch env.OS {
	case "darwin":
		return "/Library/Application Support/ClaudeCode/managed-settings.json"
	case "windows":
		return `C:\Program Files\ClaudeCode\managed-settings.json`
	}
	return "/etc/claude-code/managed-settings.json"
}

// readAgentFile reads one file; false when there is none.
func readAgentFile(path string) (agentFile, bool) {
	content, err := readSmall(path, 4<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return agentFile{}, false
	}
	s := agentFile{path: path}
	if err == nil {
		err = json.Unmarshal(content, &s)
	}
	if err != nil {
		fault := "passed over: it is not the JSON of settings"
		if errors.Is(err, os.ErrPermission) {
			fault = "passed over: it cannot be read"
		}
		return agentFile{path: path, fault: fault}, true
	}
	return s, true
}
