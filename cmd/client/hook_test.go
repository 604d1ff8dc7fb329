package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
)

// hook runs one hook of an agent's and gives its answer.
func (d *desk) hook(agent, event string, said map[string]any) string {
	d.t.Helper()
	said["cwd"] = d.work
	input, err := json.Marshal(said)
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := d.command(d.t.Context(), d.me, "hook", "--agent", agent, event)
	cmd.Stdin = bytes.NewReader(input)
	answer, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("client hook: %v\n%s", err, answer)
	}
	return string(answer)
}

// told is what a session of an agent begins with.
func (d *desk) told(agent string) string {
	d.t.Helper()
	var answer struct {
		HookSpecificOutput struct{ AdditionalContext string }
		Context            string
	}
	said := d.hook(agent, "session-start", map[string]any{"session_id": "one"})
	if said == "" {
		return ""
	}
	if err := json.Unmarshal([]byte(said), &answer); err != nil {
		d.t.Fatalf("%s: %v", said, err)
	}
	return answer.HookSpecificOutput.AdditionalContext + answer.Context
}

// An agent that reads no memory by itself is told, when a session begins, exactly what
// client context prints; what it reads by itself is not told twice.
func TestSessionStart(t *testing.T) {
	dana := newDesk(t, servertest.Start(t), "dana")
	dana.put("MEMORY.md", "- [Testing](feedback_testing.md) — how we test\n")
	dana.put("../MEMORY.md", "- [Role](user_role.md) — who I am\n")
	writeTestFile(t, filepath.Join(dana.work, "CLAUDE.md"), "Tabs, never spaces. @more.md\n")
	writeTestFile(t, filepath.Join(dana.work, "more.md"), "Ask before a release.\n")
	context := string(dana.run("context"))
	for _, want := range []string{"Tabs, never spaces.", "Ask before a release.", "How to save", "(feedback_testing.md)", "(user_role.md)"} {
		if !strings.Contains(context, want) {
			t.Fatalf("client context does not say %q:\n%s", want, context)
		}
	}
	for _, agent := range []string{"codex", "gemini", "qwen"} {
		if told := dana.told(agent); told != context {
			t.Errorf("%s is told:\n%s\nwant what client context prints:\n%s", agent, told, context)
		}
	}
	if told := dana.told("claude"); told != "" {
		t.Errorf("an agent that reads all that by itself is told:\n%s", told)
	}

	if err := os.Symlink("CLAUDE.md", filepath.Join(dana.work, "GEMINI.md")); err != nil {
		t.Fatal(err)
	}
	for agent, reads := range map[string]bool{"gemini": true, "opencode": true, "codex": false} {
		told := dana.told(agent)
		if strings.Contains(told, "Tabs, never spaces.") == reads || !strings.Contains(told, "(feedback_testing.md)") {
			t.Errorf("%s, which reads the file by itself (%v), is told:\n%s", agent, reads, told)
		}
	}

	// Instructions that leave no room for the memory are named.
	writeTestFile(t, filepath.Join(dana.work, "CLAUDE.md"), strings.Repeat("Tabs, never spaces.\n", 6_000))
	told := dana.told("codex")
	if strings.Contains(told, "Tabs") || !strings.Contains(told, "- "+filepath.Join(dana.work, "CLAUDE.md")) || !strings.Contains(told, "(user_role.md)") {
		t.Errorf("of very long instructions is told:\n%s", told)
	}
}

// policy puts another policy in force than the one of that version, and has the client
// hear of it.
func (d *desk) policy(box *servertest.Server, version int, verdicts string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPut, box.URL+api.PathPolicy, strings.NewReader(fmt.Sprintf(`{"version":%d,"verdicts":%s,"review":[]}`, version, verdicts)))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+box.TokenOf("agents", "olga", api.Admin))
	resp, err := box.Client().Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		d.t.Fatalf("set the policy: %s", resp.Status)
	}
	d.put("note.md", "A push asks for the policy "+verdicts+".\n")
	d.run("sync", "--once")
}

// What the organization's policy refuses is refused at every door by which an agent
// writes, and what it lets through is let through; a server of tools that runs hears of
// another policy.
func TestPolicyHoldsForAgents(t *testing.T) {
	box := servertest.Start(t)
	dana := newDesk(t, box, "dana")
	comment := "---\nname: Release\ndescription: when we release\ntype: project\n---\nOn Thursdays.\n<!-- a note between the lines -->\n"
	secret := "token: " + "gh" + "p_" + strings.Repeat("aB3dE6gH9", 4) + "\n"
	writes := func(name, text string) map[string]any {
		return map[string]any{"tool_name": "Write", "tool_input": map[string]any{"file_path": filepath.Join(dana.team, name), "content": text}}
	}
	agent, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: dana.command(t.Context(), dana.me, "mcp")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = agent.Close() }()
	tool := func(key, text string) (failed string) {
		result, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_write", Arguments: map[string]any{"key": key, "content": text, "version": "new"}})
		if err != nil {
			t.Fatal(err)
		}
		if result.IsError {
			return result.Content[0].(*sdk.TextContent).Text
		}
		return ""
	}

	// Before a policy is heard the defaults hold.
	if said := dana.hook("claude", "before-write", writes("a.md", comment)); said != "" {
		t.Errorf("the defaults refuse a comment: %s", said)
	}
	if said := dana.hook("claude", "before-write", writes("a.md", secret)); !strings.Contains(said, "github-pat") {
		t.Errorf("the defaults let a secret through: %s", said)
	}
	if failed := tool("team/a.md", secret); !strings.Contains(failed, "github-pat") {
		t.Errorf("the defaults let a secret through: %s", failed)
	}

	dana.policy(box, 0, `{"hidden-comment":"refuse","secret":"flag"}`)
	said := dana.hook("claude", "before-write", writes("a.md", comment))
	if !strings.Contains(said, `"permissionDecision":"deny"`) || !strings.Contains(said, "hidden-comment") || strings.Contains(said, "between the lines") {
		t.Errorf("the policy refuses a comment, and the hook says: %s", said)
	}
	if said := dana.hook("claude", "before-write", writes("a.md", secret)); said != "" {
		t.Errorf("the policy lets it through, and the hook says: %s", said)
	}
	if failed := tool("team/a.md", comment); !strings.Contains(failed, "hidden-comment") || strings.Contains(failed, "between the lines") {
		t.Errorf("the policy refuses a comment, and the tool says: %s", failed)
	}
	if failed := tool("team/b.md", secret); failed != "" {
		t.Errorf("the policy lets it through, and the tool says: %s", failed)
	}
	dana.put("../project_release.md", comment)
	promote := func() (string, error) {
		out, err := dana.command(t.Context(), dana.me, "memory", "promote", "--yes", "project_release").CombinedOutput()
		return string(out), err
	}
	out, err := promote()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != int(exitHeld) || strings.Contains(out, "between the lines") {
		t.Errorf("the policy refuses a comment, and promote says: %v\n%s", err, out)
	}

	dana.policy(box, 1, `{"hidden-comment":"accept","secret":"flag"}`)
	if failed := tool("team/a.md", comment); failed != "" {
		t.Errorf("after the policy has changed: %s", failed)
	}
	if out, err := promote(); err != nil {
		t.Errorf("after the policy has changed: %v\n%s", err, out)
	}
}
