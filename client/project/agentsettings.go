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

// agentSettings reads the agent's settings files, the strongest first: policy, the one
// the agent was started with, the project's local file, the user's. The settings that a
// repository commits (.claude/settings.json) are among them only where the user trusts
// the project by name: a hostile one would name ~/.ssh. For the same reason the local
// file counts only when git does not track it.
func agentSettings(env config.Env, start string, c checkout, opts Options, root string) []agentFile {
	var all []agentFile
	add := func(path string) {
		if s, ok := readAgentFile(path); ok {
			all = append(all, s)
		}
	}
	add(policyPath(env))
	if opts.AgentSettings != "" {
		add(opts.AgentSettings)
	}
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
	committed, home := filepath.Join(top, ".claude", "settings.json"), configHome(env)
	if filepath.Dir(committed) == home {
		committed = "" // one stands in the home directory, and the file is the user's own
	}
	if opts.TrustSettings != "" && config.Resolve(opts.TrustSettings) == root {
		add(committed)
	} else if s, ok := readAgentFile(committed); ok && s.AutoMemoryDirectory != nil {
		all = append(all, agentFile{path: committed, fault: "passed over: a repository may not say where memory is kept; trust-settings: " + root + " in client.yaml trusts this one"})
	}
	if home != "" {
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
