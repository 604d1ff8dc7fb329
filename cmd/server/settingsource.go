package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/teammem/teammem/server"
)

// source says where a setting's value came from.
type source struct {
	kind  string
	where string // the flag, the variable, file:line
}

// The kinds of sources, in the order in which they are asked.
const (
	fromFlag     = "flag"
	fromVariable = "variable"
	fromSecret   = "secret file" // a file that a variable names
	fromConfig   = "file"
	fromDefault  = "default"
)

// variable is the environment variable of a setting.
func variable(name string) string {
	return "TEAMMEM_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// maxSecret bounds what is read from a file that holds one setting.
const maxSecret = 64 << 10

// environment looks a setting up in the environment: TEAMMEM_NAME, or the content of
// the file that TEAMMEM_NAME_FILE names, without the newline at its end. That is how
// Compose, Kubernetes and systemd hand out secrets.
func environment(name string, getenv func(string) string) (string, source, error) {
	direct := variable(name)
	indirect := direct + "_FILE"
	value, path := getenv(direct), getenv(indirect)
	switch {
	case path == "":
		return value, source{fromVariable, direct}, nil
	case value != "":
		return "", source{}, server.WithHint(usagef("%s and %s are both set", direct, indirect), "unset one of them")
	}
	value, err := readSetting(path)
	if err != nil {
		return "", source{}, server.WithHint(usagef("%s: %w", indirect, err), "name a file that this user may read and that holds the value of "+name+" alone")
	}
	return value, source{fromSecret, indirect + "=" + path}, nil
}

// readSetting reads a file that holds one setting. Its errors do not repeat the value.
func readSetting(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	switch {
	case len(content) > maxSecret:
		return "", fmt.Errorf("%s is larger than a setting", path)
	case value == "":
		return "", fmt.Errorf("%s is empty", path)
	case strings.ContainsAny(value, "\n\x00"):
		return "", fmt.Errorf("%s has more than one line", path)
	}
	return value, nil
}

// fileSetting is a line of the settings file.
type fileSetting struct {
	value  string
	number int // of the line
}

// parseFile reads lines of "name: value". A line that begins with # is a comment,
// and a value may stand in double quotes. Of two lines with one name the last holds.
func parseFile(r io.Reader) (map[string]fileSetting, error) {
	values := map[string]fileSetting{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		switch {
		case !ok:
			return nil, fmt.Errorf("line %d: want \"name: value\"", n)
		case !slices.Contains(allSettings(), name):
			return nil, fmt.Errorf("line %d: there is no setting %q; want one of %s", n, name, strings.Join(allSettings(), ", "))
		}
		value = strings.TrimSpace(value)
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		values[name] = fileSetting{value, n}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, errors.New("a line is too long")
	} else if err != nil {
		return nil, err
	}
	return values, nil
}
