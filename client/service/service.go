// Package service knows how a user's own machine keeps a client at work: the unit that
// systemd reads and the property list that launchd reads, where each lies, by which
// commands they are taken up and let go, and the file that a client writes to where
// there is no journal.
//
// A service belongs to one memory directory, and its name ends in a hash of that
// directory's path, so that it is found again when its repo was renamed. What is
// written begins with a line that says whose it is, and notes the folders that were
// made for it: nothing without that line is ever overwritten or removed, and what was
// made goes again with it. No token is in it, only the name of a file that has one.
//
// All but [Log] are values made of values; cmd/client shows, asks, writes and runs.
package service

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
)

// Manager is the program that starts a user's services.
type Manager string

// The managers.
const (
	Systemd Manager = "systemd"
	Launchd Manager = "launchd"
)

// ManagerOf is the manager of a system, as runtime.GOOS names it; empty where we know
// none.
func ManagerOf(goos string) Manager {
	switch goos {
	case "linux":
		return Systemd
	case "darwin":
		return Launchd
	}
	return ""
}

// Service is a client that syncs one directory.
type Service struct {
	Repo      string
	Dir       string   // the memory directory, absolute, links followed
	Program   string   // the client, absolute
	Arguments []string // of it
	WorkDir   string   // where it was installed from; "" for none
	Variables []string // NAME=value
	LogFile   string   // for launchd
	// Made are folders that had to be made for the file, outermost first.
	Made []string
}

// mark opens every file of ours.
const (
	mark     = "Written by client install; client uninstall removes it."
	markMade = "Made for it: "
)

// Name is what the manager calls the service.
func (s Service) Name() string {
	slug := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, s.Repo)
	const most = 100 // of the 255 that a unit's name may have
	return "teammem-" + slug[:min(len(slug), most)] + "-" + hashOf(s.Dir)
}

// Pattern matches the file names of a directory's service, whatever its repo is called.
func (m Manager) Pattern(dir string) string { return "teammem-*-" + hashOf(dir) + m.extension() }

func hashOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:4])
}

func (m Manager) extension() string {
	if m == Launchd {
		return ".plist"
	}
	return ".service"
}

// File is the name of the service's file.
func (m Manager) File(s Service) string { return s.Name() + m.extension() }

// Folder is where a user's services lie.
func (m Manager) Folder(getenv func(string) string, home string) string {
	if m == Launchd {
		return filepath.Join(home, "Library", "LaunchAgents")
	}
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "systemd", "user")
	}
	return filepath.Join(home, ".config", "systemd", "user")
}

// Text is the service's file.
func (m Manager) Text(s Service) ([]byte, error) {
	for _, value := range append([]string{s.Repo, s.Dir, s.Program, s.WorkDir, s.LogFile}, append(append([]string{}, s.Arguments...), s.Variables...)...) {
		if strings.ContainsFunc(value, unicode.IsControl) {
			return nil, fmt.Errorf("%q has a control character in it, which no service can be given", value)
		}
	}
	if m == Launchd {
		return s.plist(), nil
	}
	return s.unit(), nil
}

// IsOurs reports whether a file is one that install wrote.
func IsOurs(text []byte) bool { return strings.Contains(string(text), mark) }

// MadeFor lists the folders that were made for a file of ours, outermost first.
func MadeFor(text []byte) []string {
	var made []string
	for line := range strings.Lines(string(text)) {
		if _, folder, ok := strings.Cut(strings.TrimRight(line, "\r\n"), markMade); ok {
			folder = strings.TrimSuffix(folder, " -->")
			made = append(made, strings.ReplaceAll(folder, "&#45;", "-"))
		}
	}
	return made
}

// Probe is the command that ends well when the user's manager runs.
func (m Manager) Probe(uid int) []string {
	if m == Launchd {
		return []string{"launchctl", "print", domain(uid)}
	}
	return []string{"systemctl", "--user", "show-environment"}
}

// Take are the commands by which a file that was written, or changed, is taken up.
func (m Manager) Take(s Service, file string, changed bool, uid int) [][]string {
	if m == Launchd {
		commands := [][]string{{"launchctl", "bootstrap", domain(uid), file}}
		if changed {
			commands = append([][]string{{"launchctl", "bootout", domain(uid) + "/" + s.Name()}}, commands...)
		}
		return commands
	}
	commands := [][]string{
		{"systemctl", "--user", "daemon-reload"},
		{"systemctl", "--user", "enable", "--now", m.File(s)},
	}
	if changed {
		commands = append(commands, []string{"systemctl", "--user", "restart", m.File(s)})
	}
	return commands
}

// LetGo are the commands by which a service is ended, before and after its file goes.
func (m Manager) LetGo(file string, uid int) (before, after [][]string) {
	name := filepath.Base(file)
	if m == Launchd {
		return [][]string{{"launchctl", "bootout", domain(uid) + "/" + strings.TrimSuffix(name, m.extension())}}, nil
	}
	return [][]string{{"systemctl", "--user", "disable", "--now", name}}, [][]string{{"systemctl", "--user", "daemon-reload"}}
}

// Forget is what to type where the file went while the manager could not be asked: it
// may run in another session, and the service in it.
func (m Manager) Forget(file string, uid int) []string {
	name := filepath.Base(file)
	if m == Launchd {
		return []string{"launchctl bootout " + domain(uid) + "/" + strings.TrimSuffix(name, m.extension())}
	}
	return []string{"systemctl --user stop " + name, "systemctl --user daemon-reload"}
}

// Wanted is the link by which systemd starts a unit with the user's session. systemctl
// makes and removes it.
func Wanted(file string) string {
	return filepath.Join(filepath.Dir(file), "default.target.wants", filepath.Base(file))
}

func domain(uid int) string { return fmt.Sprintf("gui/%d", uid) }
