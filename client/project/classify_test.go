package project

import (
	"os"
	"path/filepath"
	"testing"
)

func TestClassify(t *testing.T) {
	root := place(t)
	dir := filepath.Join(root, "app")
	repo(t, dir, "")
	home := filepath.Join(root, "home", ".claude")
	p, err := Find(env(root), dir)
	if err != nil {
		t.Fatal(err)
	}
	mkdir(t, p.TeamDir)
	if err := os.Symlink(p.TeamDir, filepath.Join(dir, "notes")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Kind{
		"/etc/claude-code/CLAUDE.md":                            KindManaged,
		"/etc/claude-code/rules/go.md":                          KindManaged,
		"/etc/claude-code/.claude/rules/go.md":                  KindManaged,
		"/etc/claude-code/managed-settings.json":                KindNone,
		home + "/CLAUDE.md":                                     KindUser,
		home + "/rules/sub/x.md":                                KindUser,
		home + "/settings.json":                                 KindNone,
		dir + "/CLAUDE.md":                                      KindProject,
		dir + "/.claude/CLAUDE.md":                              KindProject,
		dir + "/sub/CLAUDE.md":                                  KindProject,
		dir + "/.claude/rules/sub/x.md":                         KindProject,
		dir + "/.claude/rules/x.txt":                            KindNone,
		dir + "/CLAUDE.local.md":                                KindLocal,
		dir + "/README.md":                                      KindNone,
		p.MemoryDir:                                             KindAuto,
		p.MemoryDir + "/MEMORY.md":                              KindAuto,
		p.MemoryDir + "/logs/2026/11/2026-11-30.md":             KindAuto,
		p.MemoryDir + "/teammates.md":                           KindAuto,
		p.TeamDir:                                               KindTeam,
		p.TeamDir + "/sub/x.md":                                 KindTeam,
		p.MemoryDir + "/team/../x.md":                           KindAuto,
		dir + "/notes/x.md":                                     KindTeam,
		home + "/projects/other/memory/x.md":                    KindAuto,
		home + "/projects/other/memory/team/x.md":               KindTeam,
		home + "/projects/other/1f2e/session-memory/summary.md": KindSession,
		home + "/projects/other/1f2e.jsonl":                     KindNone,
		home + "/agent-memory/reviewer/MEMORY.md":               KindAgent,
		dir + "/.claude/agent-memory/reviewer/MEMORY.md":        KindAgent,
		dir + "/.claude/agent-memory-local/reviewer/MEMORY.md":  KindAgent,
	} {
		if got, err := p.Classify(env(root), path); err != nil || got != want {
			t.Errorf("%s is %s (%v), want %s", path, got, err, want)
		}
	}
}

// Each variable and setting is listed with what became of it, whatever decided.
func TestEveryRuleIsExplained(t *testing.T) {
	root := place(t)
	dir := filepath.Join(root, "app")
	repo(t, dir, "")
	write(t, filepath.Join(dir, ".claude", "settings.local.json"), `{"autoMemoryDirectory": "relative", "autoMemoryEnabled": false}`)
	write(t, filepath.Join(root, "home", ".claude", "settings.json"), `{"autoMemoryDirectory": "~/mem"}`)
	e := env(root, "CLAUDE_CONFIG_DIR", filepath.Join(root, "home", ".claude"), "CLAUDE_CODE_DISABLE_AUTO_MEMORY", "perhaps", "CLAUDE_CODE_REMOTE", "0")
	p, err := Find(e, dir)
	if err != nil {
		t.Fatal(err)
	}
	local := filepath.Join(dir, ".claude", "settings.local.json")
	want := map[string]string{
		"slug CLAUDE_CODE_PROJECT_DIR_NAME":                                                            outcomeNotSet,
		"memory directory CLAUDE_COWORK_MEMORY_PATH_OVERRIDE":                                          outcomeNotSet,
		"memory directory autoMemoryDirectory in " + local:                                             outcomePassed + "it is relative",
		"memory directory autoMemoryDirectory in " + filepath.Join(root, "home/.claude/settings.json"): outcomeDecides,
		"memory directory CLAUDE_CODE_REMOTE_MEMORY_DIR":                                               outcomeNotSet,
		"memory directory CLAUDE_CONFIG_DIR":                                                           outcomeEarlier,
		"memory directory ~/.claude":                                                                   outcomeEarlier,
		"agent's memory CLAUDE_CODE_DISABLE_AUTO_MEMORY":                                               outcomePassed + "it is none of 1, true, 0 and false",
		"agent's memory CLAUDE_CODE_SIMPLE":                                                            outcomeNotSet,
		"agent's memory CLAUDE_CODE_REMOTE without CLAUDE_CODE_REMOTE_MEMORY_DIR":                      outcomePassed + "it says no",
		"agent's memory autoMemoryEnabled in " + local:                                                 outcomeDecides,
		"agent's memory the default":                                                                   outcomeEarlier,
	}
	got := map[string]string{}
	for _, r := range p.Rules {
		got[r.What+" "+r.Rule] = r.Outcome
	}
	for rule, outcome := range want {
		if got[rule] != outcome {
			t.Errorf("%s: %q, want %q", rule, got[rule], outcome)
		}
	}
	if p.MemoryDir != filepath.Join(root, "home", "mem") || p.Agent {
		t.Errorf("%s, on %v", p.MemoryDir, p.Agent)
	}
}

// The settings an agent was started with stand before the project's; those a repository
// commits count only where it is trusted by name.
func TestSettingsThatAreNamed(t *testing.T) {
	root := place(t)
	dir := filepath.Join(root, "app")
	repo(t, dir, "")
	flag, committed := filepath.Join(root, "flag.json"), filepath.Join(dir, ".claude", "settings.json")
	write(t, flag, `{"autoMemoryDirectory": "/flag/mem"}`)
	write(t, committed, `{"autoMemoryDirectory": "/committed/mem"}`)
	for _, c := range []struct {
		name string
		opts Options
		want string
	}{
		{"none", Options{}, filepath.Join(root, "home", ".claude", "projects", SlugOf(dir), "memory")},
		{"another project is trusted", Options{TrustSettings: root}, filepath.Join(root, "home", ".claude", "projects", SlugOf(dir), "memory")},
		{"this project is trusted", Options{TrustSettings: dir}, "/committed/mem"},
		{"the agent was given a file", Options{AgentSettings: flag, TrustSettings: dir}, "/flag/mem"},
	} {
		if p, err := FindWith(env(root), dir, c.opts); err != nil || p.MemoryDir != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, p.MemoryDir, err, c.want)
		}
	}
}
