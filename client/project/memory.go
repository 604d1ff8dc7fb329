package project

import (
	"fmt"
	"path/filepath"
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
func (p *Project) findMemory(env config.Env, start string, c checkout) {
	p.findSlug(env)
	settings := agentSettings(env, start, c)
	for _, s := range settings {
		if s.fault != "" {
			p.because("settings", s.path, s.fault)
		}
	}
	p.Agent = p.findSwitch(env, settings)
	if dir, why, ok := p.chosenDir(env, settings); ok {
		p.setMemory(dir, why)
		return
	}
	base, why := memoryBase(env)
	if base == "" {
		p.because("memory directory", "", "no home directory; --dir says which")
		return
	}
	p.setMemory(filepath.Join(base, "projects", p.Slug, "memory"), why)
}

func (p *Project) setMemory(dir, why string) {
	p.MemoryDir, p.TeamDir = dir, filepath.Join(dir, "team")
	p.because("memory directory", dir, why)
	p.because("team directory", p.TeamDir, "team/ below it")
}

func (p *Project) findSlug(env config.Env) {
	p.Slug = SlugOf(p.Root)
	name := env.Get(envProjectName)
	switch {
	case name == "":
	case env.Get(envConfigHome) == "":
		p.because("slug", "", envProjectName+" is passed over: it holds only together with "+envConfigHome)
	case name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00"):
		p.because("slug", "", envProjectName+" is passed over: it is not the name of one folder")
	default:
		p.Slug = name
		p.because("slug", name, envProjectName)
		return
	}
	p.because("slug", p.Slug, "the root, with a dash for every character but ASCII letters and digits")
}

// chosenDir is the directory that somebody named, if it may be used.
func (p *Project) chosenDir(env config.Env, settings []agentFile) (dir, why string, ok bool) {
	type choice struct {
		value, why string
		tilde      bool
	}
	choices := []choice{{env.Get(envMemoryDir), envMemoryDir, false}}
	for _, s := range settings {
		if s.AutoMemoryDirectory != nil {
			choices = append(choices, choice{*s.AutoMemoryDirectory, "autoMemoryDirectory in " + s.path, true})
		}
	}
	for _, c := range choices {
		if c.value == "" {
			continue
		}
		dir, err := memoryDir(env, c.value, c.tilde)
		if err == nil {
			return dir, c.why, true
		}
		p.because("memory directory", c.value, fmt.Sprintf("%s is passed over: %v", c.why, err))
	}
	return "", "", false
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

// memoryBase is where the projects' folders lie.
func memoryBase(env config.Env) (dir, why string) {
	if dir := env.Get(envMemoryBase); dir != "" {
		return absolute(env, dir), "below " + envMemoryBase
	}
	if dir := env.Get(envConfigHome); dir != "" {
		return absolute(env, dir), "below " + envConfigHome
	}
	return configHome(env), "below ~/.claude, the default"
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
	on, why := true, "the default"
	switch disable := strings.ToLower(env.Get(envDisable)); {
	case disable == "1" || disable == "true":
		on, why = false, envDisable
	case disable == "0" || disable == "false":
		on, why = true, envDisable
	case isSet(env.Get(envSimple)):
		on, why = false, envSimple
	case isSet(env.Get(envRemote)) && env.Get(envMemoryBase) == "":
		on, why = false, envRemote+" without "+envMemoryBase
	default:
		for _, s := range settings {
			if s.AutoMemoryEnabled != nil {
				on, why = *s.AutoMemoryEnabled, "autoMemoryEnabled in "+s.path
				break
			}
		}
	}
	p.because("agent's memory", map[bool]string{true: "on", false: "off"}[on], why)
	return on
}

func isSet(value string) bool {
	return value != "" && value != "0" && !strings.EqualFold(value, "false")
}
