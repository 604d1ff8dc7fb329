package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammem/client/config"
)

// because gives the reasons for one thing, joined.
func because(p Project, what string) string {
	var all []string
	for _, why := range p.Why {
		if why.What == what {
			all = append(all, why.Value+" "+why.Because)
		}
	}
	return strings.Join(all, "\n")
}

func TestWhereTheAgentKeepsItsMemory(t *testing.T) {
	root := place(t)
	dir := filepath.Join(root, "app")
	mkdir(t, dir)
	slug := SlugOf(dir)
	below := func(base string) string { return filepath.Join(base, "projects", slug, "memory") }
	for _, c := range []struct {
		name string
		env  []string
		want string
	}{
		{"the default", nil, below(filepath.Join(root, "home", ".claude"))},
		{"the config home", []string{"CLAUDE_CONFIG_DIR", "/cfg"}, below("/cfg")},
		{"the memory base wins", []string{"CLAUDE_CONFIG_DIR", "/cfg", "CLAUDE_CODE_REMOTE_MEMORY_DIR", "/mem"}, below("/mem")},
		{"a name for the folder", []string{"CLAUDE_CONFIG_DIR", "/cfg", "CLAUDE_CODE_PROJECT_DIR_NAME", "mine"}, "/cfg/projects/mine/memory"},
		{"but not without a config home", []string{"CLAUDE_CODE_PROJECT_DIR_NAME", "mine"}, below(filepath.Join(root, "home", ".claude"))},
		{"nor one that leads elsewhere", []string{"CLAUDE_CONFIG_DIR", "/cfg", "CLAUDE_CODE_PROJECT_DIR_NAME", "../../etc"}, below("/cfg")},
		{"the whole path", []string{"CLAUDE_COWORK_MEMORY_PATH_OVERRIDE", "/whole/path/", "CLAUDE_CONFIG_DIR", "/cfg"}, "/whole/path"},
		{"a whole path that is refused", []string{"CLAUDE_COWORK_MEMORY_PATH_OVERRIDE", "whole/path"}, below(filepath.Join(root, "home", ".claude"))},
	} {
		p, err := Find(env(root, c.env...), dir)
		if err != nil || p.MemoryDir != c.want || p.TeamDir != filepath.Join(c.want, "team") {
			t.Errorf("%s: %s, %v; want %s\n%s", c.name, p.MemoryDir, err, c.want, because(p, "memory directory"))
		}
	}
}

func TestNoHomeIsNoMemoryDirectoryAndNoError(t *testing.T) {
	root := place(t)
	e := env(root)
	e.Home = ""
	p, err := Find(e, root)
	if err != nil || p.MemoryDir != "" || p.TeamDir != "" || !strings.Contains(because(p, "memory directory"), "--dir") {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestRefusedMemoryDirectories(t *testing.T) {
	e := config.Env{Home: "/home/dana", OS: "linux"}
	for value, want := range map[string]string{
		"mem":            "relative",
		"./mem":          "relative",
		"":               "relative",
		"/":              "root",
		"/a":             "shorter",
		"//":             "network",
		"///":            "network",
		"//server/share": "network",
		`\\server\share`: "network",
		"/x/..":          "root",
		"/mem\x00":       "NUL",
		"~":              "home",
		"~/":             "home",
		"~/.":            "home",
		"~/..":           "home",
		"~/../..":        "home",
		"~/x/../..":      "home",
		"~dana/mem":      "relative",
		"C:":             "relative",
		`C:\`:            "relative",
	} {
		if got, err := memoryDir(e, value, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %s", value, got, err, want)
		}
	}
	for value, want := range map[string]string{"/ab": "/ab", "~/mem": "/home/dana/mem", "/srv/mem/../m": "/srv/m", "~/../sam/mem": "/home/sam/mem"} {
		if got, err := memoryDir(e, value, true); err != nil || got != want {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
	if got, err := memoryDir(e, "~/mem", false); err == nil {
		t.Errorf("a tilde in a variable: %q", got)
	}
}

// The settings that count, and the one that never does: a repository's own.
func TestAutoMemoryDirectoryOfTheSettings(t *testing.T) {
	root := place(t)
	dir := filepath.Join(root, "app")
	repo(t, dir, "")
	home := filepath.Join(root, "home", ".claude", "settings.json")
	local, committed := filepath.Join(dir, ".claude", "settings.local.json"), filepath.Join(dir, ".claude", "settings.json")
	find := func() Project {
		t.Helper()
		p, err := Find(env(root), dir)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	write(t, committed, `{"autoMemoryDirectory": "/hostile"}`)
	if p := find(); !strings.HasPrefix(p.MemoryDir, filepath.Join(root, "home")) {
		t.Errorf("the repository's settings were followed: %s", p.MemoryDir)
	}
	write(t, home, `{"autoMemoryDirectory": "~/mem", "other": [1]}`)
	if p := find(); p.MemoryDir != filepath.Join(root, "home", "mem") {
		t.Errorf("the user's: %s", p.MemoryDir)
	}
	write(t, local, `{"autoMemoryDirectory": "/local/mem"}`)
	if p := find(); p.MemoryDir != "/local/mem" {
		t.Errorf("the local: %s", p.MemoryDir)
	}
	git(t, dir, "add", "-f", ".claude/settings.local.json")
	if p := find(); p.MemoryDir != filepath.Join(root, "home", "mem") || !strings.Contains(because(p, "settings"), "committed") {
		t.Errorf("a local file that git tracks: %s\n%s", p.MemoryDir, because(p, "settings"))
	}
	git(t, dir, "rm", "-q", "--cached", ".claude/settings.local.json")
	write(t, local, `{"autoMemoryDirectory": "~"}`)
	if p := find(); p.MemoryDir != filepath.Join(root, "home", "mem") || !strings.Contains(because(p, "memory directory"), "passed over") {
		t.Errorf("a refused one: %s\n%s", p.MemoryDir, because(p, "memory directory"))
	}
	write(t, home, `{"autoMemoryDirectory": `)
	if p := find(); p.MemoryDir != filepath.Join(root, "home", ".claude", "projects", p.Slug, "memory") || !strings.Contains(because(p, "settings"), "not the JSON") {
		t.Errorf("a broken one: %s\n%s", p.MemoryDir, because(p, "settings"))
	}
}

// Each version of git's index, as git writes it.
func TestTrackedFilesAreFoundInEveryIndex(t *testing.T) {
	const name = ".claude/settings.local.json"
	for _, version := range []string{"2", "3", "4"} {
		dir := filepath.Join(place(t), "app")
		repo(t, dir, "")
		for _, other := range []string{".claude/agents.md", ".claude/settings.json", "z/y/x.md"} {
			write(t, filepath.Join(dir, other), other)
		}
		git(t, dir, "add", ".")
		git(t, dir, "update-index", "--index-version", version)
		if version == "3" {
			write(t, filepath.Join(dir, "later.md"), "x")
			git(t, dir, "add", "-N", "later.md") // a flag of version 3
		}
		gitDir := filepath.Join(dir, ".git")
		if tracked, err := isTracked(gitDir, name); tracked || err != nil {
			t.Errorf("version %s, not added: %v, %v", version, tracked, err)
		}
		write(t, filepath.Join(dir, name), "{}")
		git(t, dir, "add", "-f", name)
		if tracked, err := isTracked(gitDir, name); !tracked || err != nil {
			t.Errorf("version %s, added: %v, %v", version, tracked, err)
		}
		index, err := os.ReadFile(filepath.Join(gitDir, "index"))
		if err != nil || string(index[4:8]) != "\x00\x00\x00"+string(version[0]-'0') {
			t.Errorf("git wrote version %x, %v", index[4:8], err)
		}
		for n := range len(index) {
			// A cut index is an error or a rightful find, never "not tracked" by
			// an entry that was cut off.
			if tracked, err := indexHolds(index[:n], name, 20); err == nil && !tracked && n < len(index)-20 {
				t.Fatalf("version %s cut at %d: not tracked", version, n)
			}
		}
	}
}

func TestAnIndexThatIsSplitIsNotBelieved(t *testing.T) {
	dir := filepath.Join(place(t), "app")
	repo(t, dir, "")
	git(t, dir, "update-index", "--split-index")
	if _, err := isTracked(filepath.Join(dir, ".git"), "x"); err == nil {
		t.Error("believed")
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"+strings.Repeat("\x00", 62)+"\x00x\x00"+strings.Repeat("\x00", 20)), "x")
	f.Fuzz(func(t *testing.T, index []byte, path string) {
		if tracked, err := indexHolds(index, path, 20); tracked && err != nil {
			t.Fatal(err)
		}
	})
}

func TestTheAgentsSwitch(t *testing.T) {
	root := place(t)
	for _, c := range []struct {
		settings string
		env      []string
		want     bool
	}{
		{"{}", nil, true},
		{`{"autoMemoryEnabled": false}`, nil, false},
		{`{"autoMemoryEnabled": false}`, []string{"CLAUDE_CODE_DISABLE_AUTO_MEMORY", "0"}, true},
		{"{}", []string{"CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"}, false},
		{"{}", []string{"CLAUDE_CODE_DISABLE_AUTO_MEMORY", "true"}, false},
		{"{}", []string{"CLAUDE_CODE_SIMPLE", "1"}, false},
		{"{}", []string{"CLAUDE_CODE_REMOTE", "true"}, false},
		{"{}", []string{"CLAUDE_CODE_REMOTE", "true", "CLAUDE_CODE_REMOTE_MEMORY_DIR", "/m"}, true},
	} {
		write(t, filepath.Join(root, "home", ".claude", "settings.json"), c.settings)
		p, err := Find(env(root, c.env...), root)
		if err != nil || p.Agent != c.want {
			t.Errorf("%s %v: %v, %v", c.settings, c.env, p.Agent, err)
		}
	}
}
