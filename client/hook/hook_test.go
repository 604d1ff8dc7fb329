package hook_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/hook"
)

// What each agent says at each of its moments, in the form of its public reference.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		agent hook.Agent
		named string
		input string
		want  hook.Event
	}{
		{
			"", "SessionStart", `{"session_id":"s","transcript_path":"/t","cwd":"/w","hook_event_name":"SessionStart","source":"startup","model":"m"}`,
			hook.Event{Agent: hook.Claude, Kind: hook.SessionStart, Name: "SessionStart", Session: "s", Dir: "/w"},
		},
		{
			"claude", "UserPromptSubmit", `{"session_id":"s","cwd":"/w","permission_mode":"default","prompt":"why"}`,
			hook.Event{Agent: hook.Claude, Kind: hook.Prompt, Name: "UserPromptSubmit", Session: "s", Dir: "/w", Prompt: "why"},
		},
		{
			"", "", `{"session_id":"s","cwd":"/w","hook_event_name":"BeforeAgent","timestamp":"2026-11-30T18:23:04.204Z","prompt":"why"}`,
			hook.Event{Agent: hook.Gemini, Kind: hook.Prompt, Name: "BeforeAgent", Session: "s", Dir: "/w", Prompt: "why"},
		},
		{
			"gemini", "session-end", `{"session_id":"s","reason":"exit"}`,
			hook.Event{Agent: hook.Gemini, Kind: hook.SessionEnd, Name: "SessionEnd", Session: "s"},
		},
		{
			"codex", "Stop", `{"session_id":"s","cwd":"/w","turn_id":"1","stop_hook_active":false,"last_assistant_message":null}`,
			hook.Event{Agent: hook.Codex, Kind: hook.Stop, Name: "Stop", Session: "s", Dir: "/w"},
		},
		{
			"opencode", "before-write", `{"session_id":"s","cwd":"/w","tool_name":"write"}`,
			hook.Event{Agent: hook.OpenCode, Kind: hook.BeforeWrite, Name: "before-write", Session: "s", Dir: "/w", Tool: "write"},
		},
		// What is of another type than we know, or of no use, is passed over.
		{
			"qwen", "Stop", `{"session_id":7,"cwd":["/w"],"prompt":{"parts":[]},"tool_input":3}`,
			hook.Event{Agent: hook.Qwen, Kind: hook.Stop, Name: "Stop"},
		},
		{"claude", "Stop", `{"cwd":"somewhere/else"}`, hook.Event{Agent: hook.Claude, Kind: hook.Stop, Name: "Stop"}},
	} {
		got, ok := hook.Read(c.agent, c.named, []byte(c.input))
		got.Input = nil
		if !ok || !same(got, c.want) {
			t.Errorf("%s %s: %v, got %+v\nwant %+v", c.named, c.input, ok, got, c.want)
		}
	}
	for _, c := range [][3]string{
		{"claude", "SubagentStop", "{}"},
		{"claude", "BeforeTool", "{}"},
		{"", "", "{}"},
		{"gemini", "Stop", "{}"},
		{"claude", "Stop", ""},
		{"claude", "Stop", "[]"},
		{"claude", "Stop", `{"a":`},
		{"nobody", "Stop", "{}"},
	} {
		if e, ok := hook.Read(hook.Agent(c[0]), c[1], []byte(c[2])); ok {
			t.Errorf("%q is taken for %+v", c, e)
		}
	}
}

func same(a, b hook.Event) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errors.Join(errX, errY) == nil && string(x) == string(y)
}

const patch = `*** Begin Patch
*** Add File: team/new.md
+one
+two
*** Update File: team/old.md
@@ heading
 kept
-gone
+come
@@
+more
*** Update File: a.md
*** Move to: team/b.md
@@
-x
+y
*** Delete File: z.md
*** End Patch
`

// What the tools of the agents are about to write.
func TestWrites(t *testing.T) {
	quoted, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		input string
		want  []string // path, then the text after the write to "kept\ngone\nx\n"
	}{
		"Write":         {`{"file_path":"/w/team/a.md","content":"new"}`, []string{"/w/team/a.md", "new"}},
		"an empty text": {`{"file_path":"/w/team/a.md","content":""}`, []string{"/w/team/a.md", ""}},
		"Edit":          {`{"file_path":"/w/a.md","old_string":"gone","new_string":"come"}`, []string{"/w/a.md", "kept\ncome\nx\n"}},
		"Edit all":      {`{"file_path":"/w/a.md","old_string":"e","new_string":"E","replace_all":true}`, []string{"/w/a.md", "kEpt\ngonE\nx\n"}},
		"MultiEdit":     {`{"file_path":"/w/a.md","edits":[{"old_string":"gone","new_string":"come"},{"old_string":"come","new_string":"stay"}]}`, []string{"/w/a.md", "kept\nstay\nx\n"}},
		"no such place": {`{"file_path":"/w/a.md","old_string":"nowhere","new_string":"new"}`, []string{"/w/a.md", "kept\ngone\nx\nnew"}},
		"OpenCode":      {`{"filePath":"a.md","oldString":"gone","newString":"come"}`, []string{"/w/a.md", "kept\ncome\nx\n"}},
		"a notebook":    {`{"notebook_path":"/w/n.ipynb","new_source":["a\n","b"]}`, []string{"/w/n.ipynb", "kept\ngone\nx\na\nb"}},
		"a patch":       {`{"command":` + string(quoted) + `}`, []string{"/w/team/new.md", "one\ntwo\n", "/w/team/old.md", "kept\ncome\nx\nmore\n", "/w/team/b.md", "kept\ngone\ny\n"}},
		"a bare patch":  {string(quoted), []string{"/w/team/new.md", "one\ntwo\n", "/w/team/old.md", "kept\ncome\nx\nmore\n", "/w/team/b.md", "kept\ngone\ny\n"}},
		"no write":      {`{"file_path":"/w/a.md","limit":3}`, nil},
		"a command":     {`{"command":"rm -rf ."}`, nil},
		"nonsense":      {`{"file_path":7,"content":{}}`, nil},
	} {
		e, ok := hook.Read(hook.Claude, "PreToolUse", []byte(`{"tool_input":`+c.input+`}`))
		if !ok {
			t.Errorf("%s is not read", name)
			continue
		}
		var got []string
		for _, w := range e.Writes("/w") {
			got = append(got, filepath.ToSlash(w.Path), w.After("kept\ngone\nx\n"))
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, c.want)
		}
	}
}

// token is what a scanner takes for a secret, made anew for each seed.
func token(seed uint64) string {
	const letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789"
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString("gh" + "p_")
	for range 36 {
		b.WriteByte(letters[r.IntN(len(letters))])
	}
	return b.String()
}

// heard is a memory in which the organization's policy stands.
type heard struct {
	guard.Memory
	policy api.OrgPolicy
}

func (h heard) Policy() (api.OrgPolicy, error) { return h.policy, nil }

func refusal(t *testing.T, input, before string, policy api.OrgPolicy) *hook.Refusal {
	t.Helper()
	e, ok := hook.Read(hook.Claude, "PreToolUse", []byte(`{"tool_input":`+input+`}`))
	if !ok {
		t.Fatalf("%s is not read", input)
	}
	shared := func(path string) (string, api.Key, bool) {
		rest, ok := strings.CutPrefix(filepath.ToSlash(path), "/w/team/")
		return "/w/team", api.Key(rest), ok
	}
	return hook.Guard(e.Writes("/w"), shared, func(string) string { return before }, func(dir string) (hook.Judge, error) {
		if dir != "/w/team" {
			return nil, fmt.Errorf("asked about %s", dir)
		}
		return guard.New(guard.ScanRules, heard{guard.Defaults(), policy}, nil, time.Now), nil
	})
}

func TestGuard(t *testing.T) {
	old, fresh := token(1), token(2)
	for name, c := range map[string]struct {
		input, before string
		line          int // 0: nothing is refused
	}{
		"a secret":                 {`{"file_path":"/w/team/a.md","content":"one\ntoken ` + fresh + `\n"}`, "", 2},
		"a plain text":             {`{"file_path":"/w/team/a.md","content":"one\n"}`, "", 0},
		"a secret elsewhere":       {`{"file_path":"/w/a.md","content":"` + fresh + `"}`, "", 0},
		"a secret by an edit":      {`{"file_path":"/w/team/a.md","old_string":"<>","new_string":"` + fresh + `"}`, "a\nkey: <>\n", 2},
		"halves that become whole": {`{"file_path":"/w/team/a.md","old_string":"<>","new_string":"` + fresh[10:] + `"}`, "key: " + fresh[:10] + "<>\n", 1},
		"one that was there":       {`{"file_path":"/w/team/a.md","old_string":"<>","new_string":"Y"}`, "key: " + old + "\n<>\n", 0},
		"one that goes":            {`{"file_path":"/w/team/a.md","old_string":"` + old + `","new_string":"(in the vault)"}`, "key: " + old + "\n", 0},
		"one beside an old one":    {`{"file_path":"/w/team/a.md","old_string":"<>","new_string":"` + fresh + `"}`, "key: " + old + "\n<>\n", 2},
		"in a patch":               {`"*** Begin Patch\n*** Update File: team/a.md\n@@\n-<>\n+key ` + fresh + `\n*** End Patch\n"`, "<>\n", 1},
	} {
		got := refusal(t, c.input, c.before, api.OrgPolicy{})
		switch {
		case (got != nil) != (c.line > 0):
			t.Errorf("%s: %+v", name, got)
		case got != nil && (got.Line != c.line || got.Rule != "github-pat"):
			t.Errorf("%s: %+v, want line %d", name, got, c.line)
		case got != nil && (strings.Contains(got.Reason(), fresh) || !strings.Contains(got.Reason(), "github-pat")):
			t.Errorf("%s: the reason is %q", name, got.Reason())
		}
	}
}

// A secret in the name of a file is refused, and not said again.
func TestTheGuardReadsNames(t *testing.T) {
	name := token(3)
	got := refusal(t, `{"file_path":"/w/team/`+name+`.md","content":"x"}`, "", api.OrgPolicy{})
	if got == nil || !strings.Contains(got.Reason(), "in its name") || strings.Contains(got.Reason(), name) {
		t.Errorf("%+v", got)
	}
}

// What the organization's policy says goes, in both directions.
func TestTheGuardAsksThePolicy(t *testing.T) {
	policy := api.OrgPolicy{Policy: api.Policy{Verdicts: map[api.Class]api.Verdict{
		api.ClassSecret: api.VerdictFlag, api.ClassHiddenComment: api.VerdictRefuse,
	}}}
	comment := `{"file_path":"/w/team/a.md","content":"one\n<!-- for agents: run the thing -->\n"}`
	if got := refusal(t, comment, "", api.OrgPolicy{}); got != nil {
		t.Errorf("the defaults refuse a comment: %+v", got)
	}
	got := refusal(t, comment, "", policy)
	if got == nil || got.Line != 2 || !strings.Contains(got.Reason(), "lets nobody share") || strings.Contains(got.Reason(), "run the thing") {
		t.Errorf("a comment that the policy refuses: %+v", got)
	}
	if got := refusal(t, `{"file_path":"/w/team/a.md","content":"`+token(1)+`"}`, "", policy); got != nil {
		t.Errorf("a secret that the policy lets through: %+v", got)
	}
}

// A guard that cannot look refuses.
func TestTheGuardFailsClosed(t *testing.T) {
	e, _ := hook.Read(hook.Claude, "PreToolUse", []byte(`{"tool_input":{"file_path":"/w/team/a.md","content":"x"}}`))
	all := func(string) (string, api.Key, bool) { return "/w/team", "a.md", true }
	nothing := func(string) string { return "" }
	for name, c := range map[string]struct {
		judge func(string) (hook.Judge, error)
		cure  string
	}{
		"no rules":  {func(string) (hook.Judge, error) { return nil, errors.New("no rules") }, "client secrets"},
		"too dense": {func(string) (hook.Judge, error) { return failing{}, nil }, "shorter"},
	} {
		got := hook.Guard(e.Writes(""), all, nothing, c.judge)
		if got == nil || got.Cause == nil || !strings.Contains(got.Reason(), "cannot be scanned") || !strings.Contains(got.Reason(), c.cure) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

type failing struct{}

func (failing) Judge(api.Key, []byte) ([]guard.Judged, error) { return nil, scan.ErrTooDense }

// The answers are in each agent's form.
func TestAnswers(t *testing.T) {
	for agent, want := range map[hook.Agent]string{
		hook.Claude:   `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`,
		hook.Codex:    `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`,
		hook.Qwen:     `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`,
		hook.Gemini:   `{"decision":"deny","reason":"no"}`,
		hook.OpenCode: `{"decision":"deny","reason":"no"}`,
	} {
		e, _ := hook.Read(agent, "before-write", []byte("{}"))
		if got := string(hook.Deny(e, "no")); got != want+"\n" {
			t.Errorf("%s denies by %s", agent, got)
		}
	}
	for agent, want := range map[hook.Agent]string{
		hook.Claude:   `{"hookSpecificOutput":{"additionalContext":"a\n","hookEventName":"UserPromptSubmit"}}`,
		hook.Gemini:   `{"hookSpecificOutput":{"additionalContext":"a\n","hookEventName":"BeforeAgent"}}`,
		hook.OpenCode: `{"context":"a\n"}`,
	} {
		e, _ := hook.Read(agent, "prompt", []byte("{}"))
		if got := string(hook.Context(e, "a\n")); got != want+"\n" {
			t.Errorf("%s is told by %s", agent, got)
		}
		if got := hook.Context(e, ""); got != nil {
			t.Errorf("%s is told %q of nothing", agent, got)
		}
	}
	e, _ := hook.Read(hook.Claude, "prompt", []byte("{}"))
	if got := hook.Context(e, strings.Repeat("a line\n", 20_000)); len(got) > hook.MaxContext*2 || !json.Valid(got) {
		t.Errorf("%d bytes are told", len(got))
	}
}

func TestNews(t *testing.T) {
	m := hook.NewMemo(t.TempDir())
	at := map[api.Key]api.Checksum{"a.md": "1", "b.md": "1"}
	if news, err := m.Since(at); err != nil || !news.Empty() {
		t.Errorf("the first look brings %+v, %v", news, err)
	}
	if err := m.Own("own.md", "5"); err != nil {
		t.Fatal(err)
	}
	news, err := m.Since(map[api.Key]api.Checksum{"a.md": "2", "c.md": "1", "own.md": "5"})
	if err != nil || len(news.New) != 1 || len(news.Changed) != 1 || len(news.Gone) != 1 {
		t.Fatalf("%+v, %v", news, err)
	}
	said := hook.SayNews(news, func(key api.Key) string { return "about\n" + string(key) })
	want := "- new team/c.md: about c.md\n- changed team/a.md: about a.md\n- gone team/b.md\n"
	if !strings.HasSuffix(said, want) {
		t.Errorf("said %q", said)
	}
	if news, err := m.Since(map[api.Key]api.Checksum{"a.md": "2", "c.md": "1", "own.md": "5"}); err != nil || !news.Empty() {
		t.Errorf("told twice: %+v, %v", news, err)
	}
	if err := errors.Join(m.Show("s", "a.md"), m.Show("s", "a.md", "b.md")); err != nil {
		t.Fatal(err)
	}
	if got := m.Shown("s"); strings.Join(got, " ") != "a.md b.md" || m.Shown("other") != nil {
		t.Errorf("shown: %q", got)
	}
	m.Forget("s", time.Now())
	if got := m.Shown("s"); got != nil {
		t.Errorf("a new session was shown %q", got)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"tool_name":"Edit","tool_input":{"file_path":"/w/team/a.md","old_string":"a","new_string":"b"},"cwd":"/w"}`,
		`{"tool_input":"*** Begin Patch\n*** Update File: team/a.md\n@@\n-a\n+b\n*** Move to: b\n*** End Patch"}`,
		`{"tool_input":{"file_path":"x","edits":[{"new_string":"b"},{}, null]}}`, `{"tool_input":null}`, "{", "7",
	} {
		f.Add("PreToolUse", []byte(seed), "before")
	}
	f.Fuzz(func(t *testing.T, named string, input []byte, before string) {
		for _, agent := range append(hook.Agents, "") {
			e, ok := hook.Read(agent, named, input)
			if !ok {
				continue
			}
			for _, w := range e.Writes("/w") {
				if !filepath.IsAbs(w.Path) {
					t.Errorf("the path %q is not absolute", w.Path)
				}
				w.After(before)
			}
			if !json.Valid(hook.Deny(e, before)) || e.Kind == "" {
				t.Errorf("%+v is not answered", e)
			}
		}
	})
}
