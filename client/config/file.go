package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fileName is the settings file in the configuration directory.
const fileName = "client.yaml"

// maxFileBytes bounds every file this package reads.
const maxFileBytes = 1 << 20

// File is the settings file, read. It is a flat subset of YAML: lines of
// "name: value", values bare or in quotes, comments from # on.
type File struct {
	Path  string // "" when there is none
	Lines map[Name]Line
}

// Line is one setting in the file.
type Line struct {
	Number int
	Value  string
}

// ReadFile reads the settings file. No file is no settings. One that others may
// write to is refused, since whoever writes there says where memory is sent.
func (p Paths) ReadFile() (File, error) {
	if p.Config == "" {
		return File{}, nil
	}
	path := filepath.Join(p.Config, fileName)
	content, mode, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, nil
	}
	if err != nil {
		return File{}, fmt.Errorf("read settings: %w", err)
	}
	if runtime.GOOS != "windows" && mode&0o022 != 0 {
		return File{}, fmt.Errorf("settings file %s can be changed by others (mode %04o): chmod go-w it", path, mode.Perm())
	}
	f := File{Path: path}
	if f.Lines, err = parseFile(string(content)); err != nil {
		return File{}, fmt.Errorf("%s:%w", path, err)
	}
	return f, nil
}

// parseFile reads the lines. Its errors begin with the line's number.
func parseFile(text string) (map[Name]Line, error) {
	lines := map[Name]Line{}
	number := 0
	for raw := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		number++
		line := strings.TrimRight(raw, " \t\r")
		if bare := strings.TrimLeft(line, " \t"); bare == "" || bare[0] == '#' || number == 1 && line == "---" {
			continue
		}
		name, value, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", number, err)
		}
		if before, twice := lines[name]; twice {
			return nil, fmt.Errorf("%d: %s stands in line %d already", number, name, before.Number)
		}
		lines[name] = Line{Number: number, Value: value}
	}
	return lines, nil
}

func parseLine(line string) (Name, string, error) {
	if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }) {
		return "", "", errors.New("it holds bytes that are no text")
	}
	key, value, ok := strings.Cut(line, ":")
	if !ok || value != "" && value[0] != ' ' && value[0] != '\t' {
		return "", "", errors.New("want \"name: value\"")
	}
	if strings.TrimLeft(key, " \t-") != key {
		return "", "", errors.New("settings stand at the start of a line, none below another")
	}
	name := Name(strings.TrimSpace(key))
	if name == "token" {
		return "", "", errors.New("a token does not belong in this file: name a file with token-file, or log in")
	}
	if _, known := rules[name]; !known {
		return "", "", fmt.Errorf("there is no setting %q%s", name, nearest(name))
	}
	text, err := parseValue(strings.TrimSpace(value))
	return name, text, err
}

func parseValue(text string) (string, error) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		if at := strings.Index(text, " #"); at >= 0 {
			text = strings.TrimRight(text[:at], " \t")
		}
		if text != "" && strings.ContainsRune("[{&*!|>%@`#", rune(text[0])) {
			return "", fmt.Errorf("a value that begins with %q stands in quotes", text[0])
		}
		return text, nil
	}
	quote := text[0]
	end := strings.IndexByte(text[1:], quote)
	if end < 0 {
		return "", errors.New("the closing quote is missing")
	}
	value, rest := text[1:1+end], strings.TrimSpace(text[end+2:])
	if rest != "" && rest[0] != '#' {
		return "", errors.New("there is text behind the closing quote")
	}
	if quote == '"' && strings.Contains(value, `\`) {
		return "", errors.New(`write \ between single quotes`)
	}
	return value, nil
}

// nearest offers the setting that was probably meant.
func nearest(name Name) string {
	plain := func(n Name) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(string(n)))
	}
	names := Names()
	if at := slices.IndexFunc(names, func(n Name) bool { return plain(n) == plain(name) }); at >= 0 {
		return fmt.Sprintf(": write %s", names[at])
	}
	return ""
}

// readSmall reads a file of at most maxFileBytes. The mode is that of the opened
// file, not of what the name leads to later.
func readSmall(path string) ([]byte, fs.FileMode, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if info.IsDir() {
		return nil, 0, fmt.Errorf("%s is a directory", path)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(content) > maxFileBytes {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFileBytes)
	}
	return content, info.Mode(), err
}

func isAbs(path string) bool { return filepath.IsAbs(path) }
