package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// env is an environment of its own: pairs of name and value.
func env(home string, pairs ...string) Env {
	vars := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return Env{Getenv: func(name string) string { return vars[name] }, Home: home, Dir: "/cwd", OS: "linux"}
}

func TestPathsFollowTheSystem(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths of the table are those of other systems")
	}
	for _, c := range []struct {
		name          string
		env           Env
		os            string
		config, state string
	}{
		{"linux", env("/home/dana"), "linux", "/home/dana/.config/teammem", "/home/dana/.local/state/teammem"},
		{"XDG", env("/home/dana", "XDG_CONFIG_HOME", "/c", "XDG_STATE_HOME", "/s"), "linux", "/c/teammem", "/s/teammem"},
		{"a relative XDG is ignored", env("/home/dana", "XDG_STATE_HOME", "s"), "linux", "/home/dana/.config/teammem", "/home/dana/.local/state/teammem"},
		{"darwin", env("/Users/dana"), "darwin", "/Users/dana/Library/Application Support/teammem", "/Users/dana/Library/Application Support/teammem/state"},
		{"windows", env("/C/dana", "LOCALAPPDATA", "/L"), "windows", "/C/dana/AppData/Roaming/teammem", "/L/teammem"},
		{"ours", env("/home/dana", "TEAMMEM_CONFIG_DIR", "/c", "TEAMMEM_STATE_DIR", "~/s"), "linux", "/c", "/home/dana/s"},
		{"ours, relative", env("/home/dana", "TEAMMEM_STATE_DIR", "s"), "linux", "/home/dana/.config/teammem", "/cwd/s"},
		{"no home, ours given", env("", "TEAMMEM_CONFIG_DIR", "/c", "TEAMMEM_STATE_DIR", "/s"), "linux", "/c", "/s"},
		{"no home", env(""), "linux", "", ""},
	} {
		c.env.OS = c.os
		p, err := c.env.Paths()
		if err != nil || p.Config != c.config || p.State != c.state {
			t.Errorf("%s: %+v, %v; want %s and %s", c.name, p, err, c.config, c.state)
		}
	}
}

func TestADirectoryHasOneStateHoweverItIsSpelled(t *testing.T) {
	root := t.TempDir()
	real := filepath.Join(root, "projects", "-home-dana-widgets", "memory", "team")
	if err := os.MkdirAll(real, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink(filepath.Join(root, "projects"), link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	p := Paths{State: "/s"}
	want := p.DirState(real)
	if got := p.DirState(filepath.Join(link, "-home-dana-widgets", "x", "..", "memory", "team")); got != want {
		t.Errorf("%s and %s", got, want)
	}
	if other := p.DirState(filepath.Join(root, "projects", "-home-dana-widget", "s-memory", "team")); other == want {
		t.Error("another directory has the same state")
	}
	// What does not exist yet has the place it will have.
	missing := p.DirState(filepath.Join(link, "new", "team"))
	if err := os.MkdirAll(filepath.Join(root, "projects", "new", "team"), 0o700); err != nil {
		t.Fatal(err)
	}
	if now := p.DirState(filepath.Join(root, "projects", "new", "team")); now != missing {
		t.Errorf("before %s, after %s", missing, now)
	}
	if got := (Paths{}).DirState(real); got != "" {
		t.Errorf("state without a place: %s", got)
	}
}

func TestSettingsComeFromFlagThenEnvironmentThenFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "client.yaml")
	write(t, file, 0o600, "# mine\nserver: https://file.example\nrepo: \"file/repo\"\ndebounce: 300ms # quick\ndir: ~/mem\n")
	e := env("/home/dana", "TEAMMEM_CONFIG_DIR", dir, "TEAMMEM_SERVER", "https://env.example", "TEAMMEM_REPO", "env/repo", "TEAMMEM_CA", "ca.pem")
	s, err := e.Settings(map[string]string{"server": "https://flag.example"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[Name]Value{
		Server:    {Server, "https://flag.example", "--server"},
		Repo:      {Repo, "env/repo", "TEAMMEM_REPO"},
		CA:        {CA, "/cwd/ca.pem", "TEAMMEM_CA"},
		Debounce:  {Debounce, "300ms", file + ":4"},
		Dir:       {Dir, "/home/dana/mem", file + ":5"},
		Insecure:  {Insecure, "false", "default"},
		Worktrees: {Worktrees, "share", "default"},
	} {
		if got := s.Get(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if s.Debounce() != 300*time.Millisecond || s.Insecure() || s.SeparateWorktrees() {
		t.Errorf("debounce %v, insecure %v, separate %v", s.Debounce(), s.Insecure(), s.SeparateWorktrees())
	}
	if all := s.All(); len(all) != len(Names()) || all[0].Name != AgentSettings {
		t.Errorf("all: %+v", all)
	}
}

func TestNoFileIsNoSettings(t *testing.T) {
	s, err := env("").Settings(nil)
	if err != nil || s.Debounce() != 2*time.Second || s.Text(Server) != "" {
		t.Errorf("%+v, %v", s.All(), err)
	}
	if _, err := s.Origin(); err == nil || !strings.Contains(err.Error(), "TEAMMEM_SERVER") {
		t.Errorf("no server: %v", err)
	}
}

func TestBadSettingsAreNamedWithTheirPlace(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"serevr: x\n", `:1: there is no setting "serevr"`},
		{"\n\ntoken_file: /x\n", ":3: there is no setting \"token_file\": write token-file"},
		{"server: a\nserver: b\n", ":2: server stands in line 1 already"},
		{"server\n", ":1: want \"name: value\""},
		{"server:x\n", ":1: want \"name: value\""},
		{"servers:\n  - x\n", `:1: there is no setting "servers"`},
		{"  server: x\n", ":1: settings stand at the start"},
		{"token: tm_x\n", ":1: a token does not belong in this file"},
		{"server: \"x\n", ":1: the closing quote is missing"},
		{"server: \"x\" y\n", ":1: there is text behind"},
		{"server: [a, b]\n", ":1: a value that begins with '['"},
		{"server:\n", ":1: the value is empty"},
		{"debounce: 2\n", `:1: "2" is not a time`},
		{"debounce: 2h\n", `:1: "2h" is not between`},
		{"insecure: maybe\n", `:1: "maybe" is not true or false`},
		{"worktrees: none\n", `:1: "none" is not one of share, separate`},
		{"dir: mem\n", `:1: "mem" is relative`},
		{"server: \x1b[2J\n", ":1: it holds bytes that are no text"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "client.yaml"), 0o600, c.file)
		_, err := env("/home/dana", "TEAMMEM_CONFIG_DIR", dir).Settings(nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %s", c.file, err, c.want)
		}
	}
	if _, err := env("", "TEAMMEM_DEBOUNCE", "x").Settings(nil); err == nil || !strings.HasPrefix(err.Error(), "TEAMMEM_DEBOUNCE: ") {
		t.Errorf("environment: %v", err)
	}
	if _, err := env("").Settings(map[string]string{"server": ""}); err == nil || !strings.HasPrefix(err.Error(), "--server: ") {
		t.Errorf("flag: %v", err)
	}
}

func TestAFileThatOthersMayWriteIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing on Windows")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "client.yaml"), 0o666, "server: https://evil.example\n")
	_, err := env("", "TEAMMEM_CONFIG_DIR", dir).Settings(nil)
	if err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add("server: https://a.example # c\nrepo: 'a/b'\n")
	f.Add("---\ndebounce: \"2s\"")
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := parseFile(text)
		if err != nil {
			var n int
			if _, scanErr := fmt.Sscanf(err.Error(), "%d:", &n); scanErr != nil || n < 1 {
				t.Fatalf("no line in %q", err)
			}
			return
		}
		for name, line := range lines {
			if _, ok := rules[name]; !ok || strings.ContainsAny(line.Value, "\n\r\x1b") {
				t.Fatalf("%s: %q", name, line.Value)
			}
		}
	})
}

func write(t *testing.T, path string, mode os.FileMode, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// The mask of the process may have taken bits away.
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestErrNoPlaceSaysWhatToSet(t *testing.T) {
	err := Paths{}.SaveToken("https://a.example", "tm_x")
	if !errors.Is(err, ErrNoPlace) || !strings.Contains(err.Error(), "TEAMMEM_CONFIG_DIR") {
		t.Errorf("got %v", err)
	}
}

// A file where one of our directories would be is named, with the variable that cures it.
func TestFileInPlaceOfADirectory(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		vars map[string]string
		want string // of the error; "" for none
	}{
		"itself":           {map[string]string{EnvStateDir: file}, EnvStateDir + ": " + file + " is a file"},
		"below it":         {map[string]string{EnvStateDir: filepath.Join(file, "a", "b")}, "for " + file + " is a file"},
		"the settings":     {map[string]string{EnvConfigDir: filepath.Join(file, "a")}, EnvConfigDir + ": "},
		"the usual place":  {map[string]string{"XDG_STATE_HOME": file}, EnvStateDir + ": " + filepath.Join(file, "teammem")},
		"not there yet":    {map[string]string{EnvStateDir: filepath.Join(home, "a", "b", "c")}, ""},
		"a directory":      {map[string]string{EnvStateDir: home}, ""},
		"nothing is named": {nil, ""},
	} {
		env := Env{Home: home, Dir: home, OS: "linux", Getenv: func(name string) string { return c.vars[name] }}
		_, err := env.Paths()
		var place *PlaceError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case c.want != "" && (!errors.As(err, &place) || !strings.Contains(place.Hint(), place.Variable)):
			t.Errorf("%s: %v has no cure", name, err)
		}
	}
}
