package claudemd

import (
	"strings"
)

// preamble opens what an agent is told.
const preamble = "The files below hold instructions for this codebase and its user. They override your default behaviour: follow them as they are written. Where two disagree, the later one holds."

// Text is what an agent is told at the start of a session: the files that were
// loaded, each with what it is, then the prompt about memory.
func Text(files []File, prompt string) string {
	var b strings.Builder
	loaded := false
	for _, f := range files {
		if !f.tellsText() {
			continue
		}
		if !loaded {
			b.WriteString(preamble + "\n")
			loaded = true
		}
		b.WriteString("\nContents of " + Native(f.Path) + " (" + f.Layer.describes() + "):\n\n" + f.Text + "\n")
	}
	return b.String() + between(loaded, prompt) + prompt
}

// AgentsMD is the same as a document for agents that read AGENTS.md and nothing else.
func AgentsMD(files []File, prompt string) string {
	var b strings.Builder
	b.WriteString("# Instructions for agents\n\n" + preamble + "\n")
	for _, f := range files {
		if f.tellsText() {
			b.WriteString("\n<!-- " + strings.ReplaceAll(Native(f.Path), "--", "- -") + ": " + f.Layer.describes() + " -->\n\n" + f.Text + "\n")
		}
	}
	return b.String() + between(true, prompt) + prompt
}

func (f File) tellsText() bool { return f.State == Loaded && f.Text != "" }

func between(before bool, prompt string) string {
	if before && prompt != "" {
		return "\n"
	}
	return ""
}
