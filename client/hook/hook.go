// Package hook is the door that agents knock at: an agent runs a command at certain
// moments, hands it JSON on standard input and reads JSON from its output. The
// package reads what the agent says, decides, and answers in the agent's own form.
//
// Agents differ in the names of their events, in what they call their tools and the
// fields of these, and in how an answer is shaped; all that is in two tables
// ([Agents] and the fields of [Writes]) and the rest speaks of a [Kind]. Fields and
// events that are not known are passed over: an agent may be newer than we are.
//
// The one verdict that blocks is [Guard]'s: a write that would put a secret into the
// directory that a team shares, or whatever else the organization's policy refuses. It
// looks at the text as it would stand after the write, refuses what was not there before,
// and refuses as well when it cannot tell.
// Everything else a hook says is advice, and when we fail nothing is said at all.
//
// Between two hooks of one session it keeps a [Memo] in the client's state directory:
// what was shown already, and what the team's directory held when somebody last
// looked. Losing it costs a repetition.
//
// cmd/client calls it, and syncs after it; it knows neither server nor daemon.
package hook

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// Kind is a moment, whatever an agent calls it.
type Kind string

// The moments.
const (
	SessionStart Kind = "session-start"
	Prompt       Kind = "prompt"
	BeforeWrite  Kind = "before-write"
	AfterWrite   Kind = "after-write"
	Stop         Kind = "stop"
	SessionEnd   Kind = "session-end"
)

// Kinds lists them in the order in which they come in a session.
var Kinds = []Kind{SessionStart, Prompt, BeforeWrite, AfterWrite, Stop, SessionEnd}

// MaxInput is the most that is read of what an agent says. It is far above the
// longest file that a memory can be.
const MaxInput = 32 << 20

// Event is one moment of a session.
type Event struct {
	Agent   Agent
	Kind    Kind
	Name    string // as the agent calls it; answers name it
	Session string
	Dir     string // where the agent works; absolute or empty
	Prompt  string
	Tool    string
	Input   map[string]json.RawMessage // of the tool
}

// said is what agents say. The fields of different agents do not clash.
type said struct {
	Session     text `json:"session_id"`
	SessionToo  text `json:"sessionID"`
	Dir         text `json:"cwd"`
	Name        text `json:"hook_event_name"`
	Prompt      text `json:"prompt"`
	Tool        text `json:"tool_name"`
	ToolInput   raw  `json:"tool_input"`
	ToolArgs    raw  `json:"tool_args"`
	WorkingDir  text `json:"working_directory"`
	PromptOlder text `json:"user_prompt"`
}

// text is a string, or nothing where something else stands: a field of another type
// belongs to a form that we do not know.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*t = text(s)
	}
	return nil
}

// raw is an object, read when it is needed; a string that holds one is read as well.
type raw map[string]json.RawMessage

func (r *raw) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) == nil {
		*r = fields
		return nil
	}
	var inner string
	if json.Unmarshal(data, &inner) != nil {
		return nil
	}
	if json.Unmarshal([]byte(inner), &fields) != nil {
		// A tool that takes a bare text, as one for patches may.
		data, err := json.Marshal(inner)
		if err != nil {
			return err
		}
		fields = map[string]json.RawMessage{bareField: data}
	}
	*r = fields
	return nil
}

// Read reads what an agent said. named is the event's name from the command line; it
// may be one of ours or the agent's. ok is false for what is no event that we know,
// and there is nothing to be done about it then.
func Read(agent Agent, named string, input []byte) (e Event, ok bool) {
	var s said
	if len(input) > MaxInput || json.Unmarshal(input, &s) != nil {
		return Event{}, false
	}
	if named == "" {
		named = string(s.Name)
	}
	if agent == "" {
		agent = agentOf(named, string(s.Name))
	}
	kind, ok := kindOf(agent, named)
	if !ok {
		return Event{}, false
	}
	e = Event{
		Agent: agent, Kind: kind, Name: nameOf(agent, kind), Session: string(s.Session + s.SessionToo), Dir: string(s.Dir),
		Prompt: string(s.Prompt), Tool: string(s.Tool), Input: s.ToolInput,
	}
	if e.Dir == "" {
		e.Dir = string(s.WorkingDir)
	}
	if e.Prompt == "" {
		e.Prompt = string(s.PromptOlder)
	}
	if e.Input == nil {
		e.Input = s.ToolArgs
	}
	if !filepath.IsAbs(e.Dir) || strings.ContainsRune(e.Dir, 0) {
		e.Dir = ""
	}
	return e, true
}
