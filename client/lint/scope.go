package lint

import (
	"fmt"

	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/api/scan"
)

// scope looks at what the team's part should not hold.
func (l *linter) scope(f *file) error {
	if f.Scope != memory.Team {
		return nil
	}
	if f.Type == memory.User {
		l.find(f, "scope-user", Error, fieldOf(f, "type", "metadata.type").Line, "a memory about one person stands in the team's directory", "move it to the private directory, or give it another type")
	}
	if l.Scan == nil {
		return nil
	}
	found, err := l.Scan(f.Key, f.text)
	if err != nil {
		return fmt.Errorf("lint %s: %w", f.Key, err)
	}
	for _, s := range found {
		if s.Class == scan.Personal {
			l.find(f, "machine-local", Warning, s.Line, fmt.Sprintf("%s: it means something on one machine, or to one person", s.Rule), "write it relative to the project, or name what it stands for")
		}
	}
	for _, place := range machinePath().FindAllIndex(f.text, -1) {
		l.find(f, "machine-local", Warning, f.lineOf(place[1]), "a path that holds on one machine", "write it relative to the project")
	}
	return nil
}

// machinePath knows the paths that the scanner does not look for.
var machinePath = late(`(?i)\bfile:///|(?:^|[\s\x60"'(])(?:/root/|/tmp/|/var/folders/|/mnt/c/|/private/)[0-9a-z._-]+|\bC:\\(?:dev|src|work|code|projects?|repos?)\\`)
