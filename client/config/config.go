// Package config knows where things live on this machine and what a person has set:
// the directories of ours, the settings file, the environment, and the tokens.
//
// It keeps two files in the configuration directory: client.yaml, which a person
// writes, and credentials.json (0600), which login writes, a token for each server
// origin. Nothing is ever read from a repository or a memory directory: a server's
// address or a token from there would let a stranger's repository say where memory
// is sent.
//
// A value comes from a flag, else from TEAMMEM_… in the environment, else from the
// file, else it is the default, and each remembers where it came from, for
// `client where`. No error and no log line of this package shows a token.
//
// Everything that is looked up comes in through [Env], so that a test needs no
// process of its own. The commands call it, and client/project.
package config

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
)

// Env is the surroundings that settings are looked up in.
type Env struct {
	Getenv func(string) string // an empty value counts as not set
	Home   string              // "" where there is none, as in some containers
	Dir    string              // working directory, for relative paths
	OS     string              // as runtime.GOOS
}

// OSEnv is the process's own environment.
func OSEnv() Env {
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		// A service may have no HOME and a user all the same.
		if u, err := user.Current(); err == nil {
			home = u.HomeDir
		}
	}
	if !filepath.IsAbs(home) {
		home = ""
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // removed below us; absolute paths still work
	}
	return Env{Getenv: os.Getenv, Home: home, Dir: dir, OS: runtime.GOOS}
}

// Get gives a variable; empty when it is not set, and in an Env without any.
func (e Env) Get(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

// Abs resolves a path as a person writes it, on a command line or in a variable:
// "~/" is the home directory, and a relative one starts at the working directory.
func (e Env) Abs(path string) (string, error) {
	if rest, ok := e.cutHome(path); ok {
		if e.Home == "" {
			return "", fmt.Errorf("%s: there is no home directory", path)
		}
		return filepath.Join(e.Home, rest), nil
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	if e.Dir == "" {
		return "", fmt.Errorf("%s: the working directory is gone; give an absolute path", path)
	}
	return filepath.Join(e.Dir, path), nil
}

func (e Env) cutHome(path string) (rest string, ok bool) {
	if path == "~" {
		return "", true
	}
	if rest, ok = strings.CutPrefix(path, "~/"); ok {
		return rest, true
	}
	if e.OS == "windows" {
		return strings.CutPrefix(path, `~\`)
	}
	return "", false
}

// ErrNoPlace says that there is no home directory and no variable in its stead.
var ErrNoPlace = errors.New("no home directory: set HOME, or TEAMMEM_CONFIG_DIR and TEAMMEM_STATE_DIR")

// Paths are our directories on this machine. A field is empty where there is no
// place for it; whoever needs it gets [ErrNoPlace] then, and nobody else does: a
// container with a token in its environment needs no configuration directory.
type Paths struct {
	Config string // settings and credentials
	State  string // agreements, keep, trash, enrolments
	// Keyring is the system's; nil keeps credentials in the file.
	Keyring Keyring
}

// Variables that name our directories, whatever the system.
const (
	EnvConfigDir = "TEAMMEM_CONFIG_DIR"
	EnvStateDir  = "TEAMMEM_STATE_DIR"
)

// Paths finds our directories: the variables, else the system's own places. The
// error is for a variable that cannot be used.
func (e Env) Paths() (Paths, error) {
	p := e.systemPaths()
	for name, place := range map[string]*string{EnvConfigDir: &p.Config, EnvStateDir: &p.State} {
		value := e.Get(name)
		if value == "" {
			continue
		}
		path, err := e.Abs(value)
		if err != nil {
			return Paths{}, fmt.Errorf("%s: %w", name, err)
		}
		*place = path
	}
	for name, place := range map[string]string{EnvConfigDir: p.Config, EnvStateDir: p.State} {
		if file := fileIn(place); file != "" {
			return Paths{}, &PlaceError{Variable: name, Path: place, File: file}
		}
	}
	if e.Get(EnvKeyring) != "off" {
		p.Keyring = newKnownKeyring(systemKeyring{})
	}
	return p, nil
}

// PlaceError says that one of our directories cannot be: a file stands where it, or a
// folder above it, would have to.
type PlaceError struct {
	Variable string // that names the directory, or would name another
	Path     string // of the directory
	File     string // what stands in the way
}

func (e *PlaceError) Error() string {
	if e.Path == e.File {
		return fmt.Sprintf("%s: %s is a file and not a directory", e.Variable, e.Path)
	}
	return fmt.Sprintf("%s: %s cannot be a directory, for %s is a file", e.Variable, e.Path, e.File)
}

// Hint is what to do about it.
func (e *PlaceError) Hint() string {
	return fmt.Sprintf("set %s to a directory, or to a path where one can be made", e.Variable)
}

// fileIn is the nearest of a path and the folders above it that exists, when that is no
// directory; empty otherwise.
func fileIn(path string) string {
	for at := path; path != ""; at = filepath.Dir(at) {
		switch info, err := os.Stat(at); {
		case err == nil && !info.IsDir():
			return at
		case err == nil || filepath.Dir(at) == at:
			return ""
		}
	}
	return ""
}

func (e Env) systemPaths() Paths {
	switch e.OS {
	case "windows":
		return Paths{
			Config: e.below("APPDATA", "AppData/Roaming", "teammem"),
			State:  e.below("LOCALAPPDATA", "AppData/Local", "teammem"),
		}
	case "darwin":
		// Someone who sets the XDG variables there means them.
		return Paths{
			Config: e.below("XDG_CONFIG_HOME", "Library/Application Support", "teammem"),
			State:  e.below("XDG_STATE_HOME", "Library/Application Support", "teammem/state"),
		}
	default:
		return Paths{
			Config: e.below("XDG_CONFIG_HOME", ".config", "teammem"),
			State:  e.below("XDG_STATE_HOME", ".local/state", "teammem"),
		}
	}
}

// below is a folder below a directory that a variable names, else below the home
// directory's usual one. A relative value is ignored, as the XDG specification asks
// (https://specifications.freedesktop.org/basedir-spec/latest/).
func (e Env) below(variable, usual, name string) string {
	if dir := e.Get(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, filepath.FromSlash(name))
	}
	if e.Home == "" {
		return ""
	}
	return filepath.Join(e.Home, filepath.FromSlash(usual), filepath.FromSlash(name))
}
