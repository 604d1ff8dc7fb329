package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Remember makes a value the one that commands use when nobody names another,
// unless the settings file names one already. It reports whether the value is the
// usual one now. What a person wrote into the file stays as it is; the line is
// added at its end.
func (p Paths) Remember(name Name, value string) (usual bool, err error) {
	file, err := p.ReadFile()
	if err != nil {
		return false, err
	}
	if line, ok := file.Lines[name]; ok {
		return line.Value == value, nil
	}
	if p.Config == "" {
		return false, ErrNoPlace
	}
	if strings.ContainsAny(value, "'\n") {
		return false, fmt.Errorf("%s %q cannot stand in the settings file", name, value)
	}
	path := filepath.Join(p.Config, fileName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return false, fmt.Errorf("write settings: %w", err)
	}
	_, err = f.WriteString(lineBreak(f) + string(name) + ": '" + value + "'\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return false, fmt.Errorf("write settings: %w", err)
	}
	return true, nil
}

// lineBreak is what a new line needs before it, when the last one has no end.
func lineBreak(f *os.File) string {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return ""
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil || last[0] == '\n' {
		return ""
	}
	return "\n"
}
