package hook

import "slices"

// Agent is a program that an agent runs in.
type Agent string

// The agents.
const (
	Claude   Agent = "claude"
	Codex    Agent = "codex"
	Gemini   Agent = "gemini"
	Qwen     Agent = "qwen"
	OpenCode Agent = "opencode"
)

// Agents lists them.
var Agents = []Agent{Claude, Codex, Gemini, Qwen, OpenCode}

// Known reports whether the agent is one of [Agents].
func (a Agent) Known() bool { return slices.Contains(Agents, a) }

// Title is what people call it.
func (a Agent) Title() string {
	return map[Agent]string{Claude: "Claude Code", Codex: "Codex", Gemini: "Gemini CLI", Qwen: "Qwen Code", OpenCode: "OpenCode"}[a]
}

// LoadsMemory reports whether the agent reads the memory directory by itself when a
// session starts. The others are told.
func (a Agent) LoadsMemory() bool { return a == Claude }

// Instructions are the names of the files of instructions that the agent reads by
// itself, by its public documentation.
func (a Agent) Instructions() []string {
	return map[Agent][]string{
		Claude: {"CLAUDE.md", "CLAUDE.local.md"}, Codex: {"AGENTS.md"}, Gemini: {"GEMINI.md"}, Qwen: {"QWEN.md", "AGENTS.md"}, OpenCode: {"AGENTS.md", "CLAUDE.md"},
	}[a]
}

// Moment is one event of an agent that a hook is put on.
type Moment struct {
	Kind Kind
	Name string // as the agent calls it
	// Matcher is the pattern of tools that the agent is to run the hook for; empty
	// where there is nothing to choose.
	Matcher string
}

// The names are of the agents' public references: code.claude.com/docs (hooks),
// developers.openai.com/codex (hooks), the hooks reference in Gemini CLI's own
// package, and Qwen Code's docs/users/features/hooks.md. OpenCode has no commands but
// a plugin, which is ours and speaks in our own names.
var moments = map[Agent][]Moment{
	Claude: {
		{SessionStart, "SessionStart", ""},
		{Prompt, "UserPromptSubmit", ""},
		{BeforeWrite, "PreToolUse", "Write|Edit|MultiEdit|NotebookEdit"},
		{AfterWrite, "PostToolUse", "Write|Edit|MultiEdit|NotebookEdit"},
		{Stop, "Stop", ""},
		{SessionEnd, "SessionEnd", ""},
	},
	Codex: {
		{SessionStart, "SessionStart", ""},
		{Prompt, "UserPromptSubmit", ""},
		{BeforeWrite, "PreToolUse", "apply_patch|Edit|Write"},
		{AfterWrite, "PostToolUse", "apply_patch|Edit|Write"},
		{Stop, "Stop", ""},
	},
	Gemini: {
		{SessionStart, "SessionStart", ""},
		{Prompt, "BeforeAgent", ""},
		{BeforeWrite, "BeforeTool", "write_file|replace"},
		{AfterWrite, "AfterTool", "write_file|replace"},
		{Stop, "AfterAgent", ""},
		{SessionEnd, "SessionEnd", ""},
	},
	Qwen: {
		{SessionStart, "SessionStart", ""},
		{Prompt, "UserPromptSubmit", ""},
		{BeforeWrite, "PreToolUse", "write_file|edit"},
		{AfterWrite, "PostToolUse", "write_file|edit"},
		{Stop, "Stop", ""},
		{SessionEnd, "SessionEnd", ""},
	},
}

// Moments are the events of an agent that hooks are put on.
func (a Agent) Moments() []Moment { return moments[a] }

// kindOf knows an event by our name for it or by the agent's.
func kindOf(a Agent, name string) (Kind, bool) {
	if slices.Contains(Kinds, Kind(name)) {
		return Kind(name), true
	}
	for _, m := range moments[a] {
		if m.Name == name {
			return m.Kind, true
		}
	}
	return "", false
}

// nameOf is what the agent calls the event.
func nameOf(a Agent, kind Kind) string {
	for _, m := range moments[a] {
		if m.Kind == kind {
			return m.Name
		}
	}
	return string(kind)
}

// agentOf guesses who speaks, where the command line does not say: one of Gemini
// CLI's names is nobody else's, and the other agents share theirs.
func agentOf(names ...string) Agent {
	for _, name := range names {
		switch name {
		case "BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool":
			return Gemini
		}
	}
	return Claude
}
