package project

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/teammem/teammem/client/config"
)

// Variables of the agent that move its memory or switch it off.
const (
	envConfigHome  = "CLAUDE_CONFIG_DIR"
	envMemoryBase  = "CLAUDE_CODE_REMOTE_MEMORY_DIR"
	envProjectName = "CLAUDE_CODE_PROJECT_DIR_NAME"
	envMemoryDir   = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"
	envDisable     = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
	envSimple      = "CLAUDE_CODE_SIMPLE"
	envRemote      = "CLAUDE_CODE_REMOTE"
)

// findMemory fills in the slug and the directories: the whole path that a variable
// names, else autoMemoryDirectory of the settings, else
// <base>/projects/<slug>/memory. A directory that is refused is passed over, as the
// agent does, with a reason.
func (p *Project) findMemory(env config.Env, start string, c checkout, opts Options) {
	settings := agentSettings(env, start, c, opts, p.Root)
	for _, s := range settings {
		if s.fault != "" {
			p.because("settings", s.path, s.fault)
		}
	}
	p.findSlug(env)
	p.Agent = p.findSwitch(env, settings)
	if dir, why := p.findDir(env, settings); dir != "" {
		p.setMemory(dir, why)
		return
	}
	p.because("memory directory", "", "no home directory; --dir says which")
}

func (p *Project) setMemory(dir, why string) {
	p.MemoryDir, p.TeamDir = dir, filepath.Join(dir, "team")
	p.because("memory directory", dir, why)
	p.because("team directory", p.TeamDir, "team/ below it")
}

func (p *Project) findSlug(env config.Env) {
	p.Slug = SlugOf(p.Root)
	l := ladder{p: p, what: "slug"}
	name, passed := env.Get(envProjectName), ""
	switch {
	case env.Get(envConfigHome) == "":
		passed = "it holds only together with " + envConfigHome
	case name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00"):
		passed = "it is not the name of one folder"
	}
	if l.ask(envProjectName, name, passed) {
		p.Slug = name
		p.because("slug", name, envProjectName)
		return
	}
	if name != "" {
		p.because("slug", "", envProjectName+" is passed over: "+passed)
	}
	const why = "the root, with a dash for every character but ASCII letters and digits"
	l.ask(why, p.Slug, "")
	p.because("slug", p.Slug, why)
}

// findDir is the memory directory and what decided it; empty without a home.
func (p *Project) findDir(env config.Env, settings []agentFile) (dir, why string) {
	l := ladder{p: p, what: "memory directory"}
	choose := func(rule, value string, tilde bool) {
		chosen, err := memoryDir(env, value, tilde)
		passed := ""
		if err != nil {
			passed = err.Error()
		}
		if was := l.decided; l.ask(rule, value, passed) {
			dir, why = chosen, rule
		} else if value != "" && !was {
			p.because("memory directory", value, fmt.Sprintf("%s is passed over: %s", rule, passed))
		}
	}
	choose(envMemoryDir, env.Get(envMemoryDir), false)
	for _, s := range settings {
		value := ""
		if s.AutoMemoryDirectory != nil {
			value = *s.AutoMemoryDirectory
		}
		choose("autoMemoryDirectory in "+s.path, value, true)
	}
	below := func(rule, base, because string) {
		if l.ask(rule, base, "") {
			dir, why = filepath.Join(absolute(env, base), "projects", p.Slug, "memory"), because
		}
	}
	below(envMemoryBase, env.Get(envMemoryBase), "below "+envMemoryBase)
	below(envConfigHome, env.Get(envConfigHome), "below "+envConfigHome)
	home := ""
	if env.Home != "" {
		home = filepath.Join(env.Home, ".claude")
	}
	below("~/.claude", home, "below ~/.claude, the default")
	return dir, why
}

// memoryDir checks a directory that somebody named. The refusals keep a slip, or a hostile file, from making a home or a whole disk the
// memory of an agent.
func memoryDir(env config.Env, value string, tilde bool) (string, error) {
	if strings.ContainsRune(value, 0) {
		return "", fmt.Errorf("it holds a NUL")
	}
	path := value
	if tilde && (value == "~" || strings.HasPrefix(value, "~/") || env.OS == "windows" && strings.HasPrefix(value, `~\`)) {
		if env.Home == "" {
			return "", fmt.Errorf("there is no home directory")
		}
		path = filepath.Join(env.Home, value[1:])
		if isAbove(path, env.Home) {
			return "", fmt.Errorf("it is the home directory or above")
		}
	}
	path = filepath.FromSlash(path)
	switch {
	case strings.HasPrefix(value, `\\`) || strings.HasPrefix(value, "//"):
		return "", fmt.Errorf("it is a network path")
	case !filepath.IsAbs(path):
		return "", fmt.Errorf("it is relative")
	}
	path = filepath.Clean(path)
	volume := filepath.VolumeName(path)
	switch rest := path[len(volume):]; {
	case rest == "" || rest == string(filepath.Separator) || isDrive(path):
		return "", fmt.Errorf("it is the root of a drive or file system")
	case len(path) < 3:
		return "", fmt.Errorf("it is shorter than three characters")
	}
	return path, nil
}

// isDrive knows C:, C:\ and C:/ on every system.
func isDrive(path string) bool {
	return (len(path) == 2 || len(path) == 3 && (path[2] == '\\' || path[2] == '/')) && path[1] == ':'
}

// isAbove reports whether dir is home or a directory that home lies in.
func isAbove(dir, home string) bool {
	rel, err := filepath.Rel(dir, home)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// configHome is the agent's configuration directory; empty without a home.
func configHome(env config.Env) string {
	if dir := env.Get(envConfigHome); dir != "" {
		return absolute(env, dir)
	}
	if env.Home == "" {
		return ""
	}
	return filepath.Join(env.Home, ".claude")
}

// absolute resolves the agent's variables from the working directory. A tilde in
// one is not expanded: a shell has done that, or nobody meant it.
func absolute(env config.Env, path string) string {
	if filepath.IsAbs(path) || env.Dir == "" {
		return filepath.Clean(path)
	}
	return filepath.Join(env.Dir, path)
}

// findSwitch says whether the agent's auto memory is on. The first match wins.
func (p *Project) findSwitch(env config.Env, settings []agentFile) bool {
	l := ladder{p: p, what: "agent's memory"}
	on, why := true, "the default"
	ask := func(rule, value string, to bool, passed string) {
		if l.ask(rule, value, passed) {
			on, why = to, rule
		}
	}
	disable := env.Get(envDisable)
	switch strings.ToLower(disable) {
	case "1", "true":
		ask(envDisable, disable, false, "")
	case "0", "false":
		ask(envDisable, disable, true, "")
	default:
		ask(envDisable, disable, true, "it is none of 1, true, 0 and false")
	}
	unless := func(holds bool, passed string) string {
		if holds {
			return ""
		}
		return passed
	}
	simple := env.Get(envSimple)
	ask(envSimple, simple, false, unless(isSet(simple), "it says no"))
	remote := env.Get(envRemote)
	passed := unless(isSet(remote), "it says no")
	if env.Get(envMemoryBase) != "" {
		passed = envMemoryBase + " gives the remote agent a memory"
	}
	ask(envRemote+" without "+envMemoryBase, remote, false, passed)
	for _, s := range settings {
		value, to := "", true
		if s.AutoMemoryEnabled != nil {
			value, to = strconv.FormatBool(*s.AutoMemoryEnabled), *s.AutoMemoryEnabled
		}
		ask("autoMemoryEnabled in "+s.path, value, to, "")
	}
	ask("the default", "on", true, "")
	p.because("agent's memory", map[bool]string{true: "on", false: "off"}[on], why)
	return on
}

func isSet(value string) bool {
	return value != "" && value != "0" && !strings.EqualFold(value, "false")
}
