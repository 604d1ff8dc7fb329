package hook

import (
	_ "embed"
	"path/filepath"
	"strings"

	"github.com/teammem/teammem/client/hook/settings"
)

// plugin is what OpenCode loads: it has no commands for hooks but programs of its own.
//
//go:embed opencode.js
var plugin string

// PluginMark stands in our plugin, and tells it from a file of somebody else.
const PluginMark = "// teammem: made by client hooks install"

// File is the file that an agent reads its hooks from; empty when there is no place.
// getenv gives the variables by which the agents themselves are moved.
func (a Agent) File(getenv func(string) string, home string) string {
	first := func(variable string, below ...string) string {
		if dir := getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, filepath.Join(below...))
		}
		return ""
	}
	moved := ""
	switch a {
	case Claude:
		moved = first("CLAUDE_CONFIG_DIR", "settings.json")
	case Codex:
		moved = first("CODEX_HOME", "hooks.json")
	case Gemini:
		moved = first("GEMINI_CLI_HOME", ".gemini", "settings.json")
	case OpenCode:
		if moved = first("OPENCODE_CONFIG_DIR", "plugins", "teammem.js"); moved == "" {
			moved = first("XDG_CONFIG_HOME", "opencode", "plugins", "teammem.js")
		}
	}
	if moved != "" || home == "" {
		return moved
	}
	usual := map[Agent]string{
		Claude: ".claude/settings.json", Codex: ".codex/hooks.json", Gemini: ".gemini/settings.json",
		Qwen: ".qwen/settings.json", OpenCode: ".config/opencode/plugins/teammem.js",
	}
	return filepath.Join(home, filepath.FromSlash(usual[a]))
}

// Install gives the text of the agent's file with our hooks in it. program is the
// command that begins each, as a shell takes it.
func (a Agent) Install(text []byte, program string) ([]byte, error) {
	if a == OpenCode {
		if len(text) > 0 && !isPlugin(text) {
			return nil, settings.ErrForeign
		}
		return []byte(strings.ReplaceAll(plugin, "@MARK@", PluginMark+"\nconst program = "+settings.Quote(program))), nil
	}
	return settings.Install(text, a.groups(program), a.isOurs)
}

// Uninstall gives the text without our hooks; nothing is left of a file that is ours
// alone.
func (a Agent) Uninstall(text []byte) ([]byte, error) {
	if a == OpenCode {
		if len(text) > 0 && !isPlugin(text) {
			return text, nil
		}
		return nil, nil
	}
	return settings.Uninstall(text, a.isOurs)
}

// Installed counts our hooks in a file: how many there are, and how many of these are
// as [Agent.Install] would write them, of all.
func (a Agent) Installed(text []byte, program string) (there, current, all int, err error) {
	if a == OpenCode {
		want, err := a.Install(nil, program)
		if err != nil || !isPlugin(text) {
			return 0, 0, 1, err
		}
		if string(want) == string(text) {
			return 1, 1, 1, nil
		}
		return 1, 0, 1, nil
	}
	want := map[settings.Group]bool{}
	for _, g := range a.groups(program) {
		want[g] = true
	}
	found, err := settings.Find(text, a.isOurs)
	for _, g := range found {
		if want[g] {
			current++
		}
	}
	return len(found), current, len(want), err
}

func isPlugin(text []byte) bool { return strings.Contains(string(text), PluginMark) }

func (a Agent) groups(program string) []settings.Group {
	var groups []settings.Group
	for _, m := range moments[a] {
		groups = append(groups, settings.Group{Event: m.Name, Matcher: m.Matcher, Command: program + a.call() + m.Name})
	}
	return groups
}

// call is what follows the program in our commands, whatever the program is.
func (a Agent) call() string { return " hook --agent " + string(a) + " " }

func (a Agent) isOurs(command string) bool {
	for _, m := range moments[a] {
		if strings.HasSuffix(command, a.call()+m.Name) {
			return true
		}
	}
	return false
}

// Program is the command that the hooks in a file begin with; empty without any.
func (a Agent) Program(text []byte) string {
	found, err := settings.Find(text, a.isOurs)
	if err != nil || len(found) == 0 {
		return ""
	}
	return strings.TrimSuffix(found[0].Command, a.call()+found[0].Event)
}

// HasHooks reports whether any hook of ours stands in a text.
func (a Agent) HasHooks(text []byte) bool {
	there, _, _, err := a.Installed(text, "")
	return err == nil && there > 0
}

// Empty reports whether a text says nothing, so that a file which holds it need not be.
func (a Agent) Empty(text []byte) bool {
	doc, err := settings.Parse(text)
	return err == nil && doc.Root.Kind == settings.Object && len(doc.Root.Members) == 0 && !strings.Contains(string(text), "/")
}

// AfterInstall is what a person still has to do in the agent; empty for most.
func (a Agent) AfterInstall() string {
	if a == Codex {
		return "Codex asks once whether it may run them: /hooks shows and trusts them"
	}
	return ""
}
