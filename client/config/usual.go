package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// UsualServer makes a server the one that commands use when none is named, unless
// the settings file names one already. It reports whether the server is the usual
// one now. What a person wrote into the file stays as it is; the line is added at
// its end.
func (p Paths) UsualServer(server string) (usual bool, err error) {
	file, err := p.ReadFile()
	if err != nil {
		return false, err
	}
	if line, ok := file.Lines[Server]; ok {
		return line.Value == server, nil
	}
	if p.Config == "" {
		return false, ErrNoPlace
	}
	if strings.ContainsAny(server, "'\n") {
		return false, fmt.Errorf("the address %q cannot stand in the settings file", server)
	}
	path := filepath.Join(p.Config, fileName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return false, fmt.Errorf("write settings: %w", err)
	}
	_, err = f.WriteString(lineBreak(f) + string(Server) + ": '" + server + "'\n")
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
