package hook

import (
	"bytes"
	"encoding/json"
)

// Deny is the answer that keeps a tool from running, in the agent's form.
func Deny(e Event, reason string) []byte {
	switch e.Agent {
	case Gemini, OpenCode:
		return line(map[string]any{"decision": "deny", "reason": reason})
	}
	return line(map[string]any{"hookSpecificOutput": map[string]any{
		"hookEventName": e.Name, "permissionDecision": "deny", "permissionDecisionReason": reason,
	}})
}

// MaxContext bounds what is told an agent at once, in bytes. The prompt about memory with
// two indexes of the greatest length that is loaded, and what is new, have room in it.
const MaxContext = 96 << 10

// Context is the answer that tells the agent something; nothing for an empty text.
func Context(e Event, text string) []byte {
	if text == "" {
		return nil
	}
	if len(text) > MaxContext {
		text = text[:MaxContext]
		if at := bytes.LastIndexByte([]byte(text), '\n'); at > 0 {
			text = text[:at+1]
		}
	}
	if e.Agent == OpenCode {
		return line(map[string]any{"context": text})
	}
	return line(map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": e.Name, "additionalContext": text}})
}

func line(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return nil
	}
	return b.Bytes()
}
