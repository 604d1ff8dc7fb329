package memory

import "strings"

// manifestTime is ISO 8601 in UTC, as programs of the agent's kind write it.
const manifestTime = "2006-01-02T15:04:05.000Z"

// Line is the line of a memory in the manifest that a model selects from:
// "- [type] file (time): description", without what there is none of.
func (m Memory) Line() string {
	var b strings.Builder
	b.WriteString("- ")
	if m.Type != None {
		b.WriteString("[" + string(m.Type) + "] ")
	}
	b.WriteString(string(m.Key) + " (" + m.Modified.UTC().Format(manifestTime) + ")")
	if m.Description != "" {
		b.WriteString(": " + m.Description)
	}
	return b.String()
}

// Manifest is a line for each memory, in their order.
func Manifest(memories []Memory) string {
	var b strings.Builder
	for _, m := range memories {
		b.WriteString(m.Line() + "\n")
	}
	return b.String()
}
