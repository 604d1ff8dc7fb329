package config

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// DirState is the state directory of one memory directory, by its resolved path. It
// is empty when there is no place for state.
func (p Paths) DirState(directory string) string {
	if p.State == "" {
		return ""
	}
	return filepath.Join(p.State, "dirs", placeName(Resolve(directory)))
}

// Approvals is the file of what a project's instructions may import from outside of
// it; empty when there is no place.
func (p Paths) Approvals(root string) string {
	if p.State == "" {
		return ""
	}
	return filepath.Join(p.State, "approvals", placeName(Resolve(root))+".json")
}

// Projects is the directory of the enrolments; empty when there is no place.
func (p Paths) Projects() string {
	if p.State == "" {
		return ""
	}
	return filepath.Join(p.State, "projects")
}

// Resolve is the path with every symbolic link followed, as far as it exists; the
// rest is kept as it is. Two spellings of one directory give one answer.
func Resolve(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	rest := ""
	for at := filepath.Clean(path); ; {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(at)
		if parent == at {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = parent
	}
}

// placeName is a name for people to recognise, and a hash that makes it one's own.
// The last two segments say more than the last: team directories are all called
// "team".
func placeName(path string) string {
	sum := sha256.Sum256([]byte(path))
	parent, last := filepath.Split(path)
	name := filepath.Base(filepath.Dir(filepath.Clean(parent))) + "-" + last
	name = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, name)
	const most = 48
	if len(name) > most {
		name = name[len(name)-most:]
	}
	return strings.Trim(name, "-") + "-" + hex.EncodeToString(sum[:8])
}
