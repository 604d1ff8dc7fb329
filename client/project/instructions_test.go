package project

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Where instructions lie, and which exclusions hold for whom. A name that begins with
// $ is below the test's root.
func TestInstructions(t *testing.T) {
	excludes := func(pattern string) string { return `{"claudeMdExcludes": ["` + pattern + `"]}` }
	for name, c := range map[string]struct {
		env   []string
		files map[string]string
		track string // what git tracks
		dir   string // below the checkout
		user  string
		want  []string // patterns; those that the repository committed with a !
	}{
		"none":     {user: "$home/.claude"},
		"the user": {files: map[string]string{"home/.claude/settings.json": excludes("u")}, user: "$home/.claude", want: []string{"u"}},
		"the config home moves the user": {
			env: []string{"CLAUDE_CONFIG_DIR", "$cfg"}, files: map[string]string{"home/.claude/settings.json": excludes("not"), "cfg/settings.json": excludes("u")},
			user: "$cfg", want: []string{"u"},
		},
		"the memory base does not": {env: []string{"CLAUDE_CODE_REMOTE_MEMORY_DIR", "$mem"}, user: "$home/.claude"},
		"each, in order": {
			files: map[string]string{"app/.claude/settings.json": excludes("p"), "app/.claude/settings.local.json": excludes("l"), "home/.claude/settings.json": excludes("u")},
			user:  "$home/.claude", want: []string{"l", "u", "p!"},
		},
		"local settings that are tracked are the repository's": {
			files: map[string]string{"app/.claude/settings.local.json": excludes("l")}, track: ".claude/settings.local.json",
			user: "$home/.claude", want: []string{"l!"},
		},
		"from a folder": {files: map[string]string{"app/.claude/settings.json": excludes("p"), "app/sub/.claude/settings.json": excludes("not")}, dir: "sub", user: "$home/.claude", want: []string{"p!"}},
		"the home is the checkout": {
			env: []string{"CLAUDE_CONFIG_DIR", "$app/.claude"}, files: map[string]string{"app/.claude/settings.json": excludes("u")},
			user: "$app/.claude", want: []string{"u"},
		},
		"damaged":       {files: map[string]string{"app/.claude/settings.json": `{"claudeMdExcludes": ["a",`}, user: "$home/.claude"},
		"another type":  {files: map[string]string{"app/.claude/settings.json": `{"claudeMdExcludes": "a"}`}, user: "$home/.claude"},
		"the guideline": {env: []string{"CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES", "be short"}, user: "$home/.claude"},
	} {
		root := place(t)
		below := func(path string) string { return strings.Replace(path, "$", root+"/", 1) }
		app := filepath.Join(root, "app")
		git(t, app, "init", "-q")
		for file, text := range c.files {
			write(t, filepath.Join(root, file), text)
		}
		if c.track != "" {
			git(t, app, "add", "-f", c.track)
		}
		dir := filepath.Join(app, c.dir)
		mkdir(t, dir)
		var vars []string
		for _, v := range c.env {
			vars = append(vars, below(v))
		}
		e := env(root, vars...)
		p, err := Find(e, dir)
		if err != nil {
			t.Fatal(err)
		}
		found := p.Instructions(e, dir)
		var got []string
		for _, x := range found.Excludes {
			if strings.HasPrefix(x.File, "/etc/") {
				continue // this machine may have an administrator
			}
			mark := ""
			if x.Committed {
				mark = "!"
			}
			got = append(got, x.Pattern+mark)
		}
		if !slices.Equal(got, c.want) || found.UserDir != below(c.user) || found.ManagedDir != "/etc/claude-code" {
			t.Errorf("%s: excludes %q, want %q; user %s, managed %s", name, got, c.want, found.UserDir, found.ManagedDir)
		}
		if wants := name == "the guideline"; wants != (found.Guidelines == "be short") {
			t.Errorf("%s: guidelines %q", name, found.Guidelines)
		}
	}
	e := env(place(t))
	e.Home = ""
	if found := (Project{}).Instructions(e, e.Dir); found.UserDir != "" || len(found.Excludes) > 0 {
		t.Errorf("without a home: %+v", found)
	}
}
