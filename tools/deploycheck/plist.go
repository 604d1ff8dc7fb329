package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// plists reads the property lists of launchd: well-formed XML, a dictionary whose keys
// and values take turns, with those that launchd cannot do without.
func plists(root string) []string {
	files, err := filepath.Glob(filepath.Join(root, "deploy", "launchd", "*.plist"))
	if err != nil || len(files) == 0 {
		return []string{"deploy/launchd: there is no property list"}
	}
	var problems []string
	for _, file := range files {
		keys, err := plistKeys(file)
		if err != nil {
			problems = append(problems, fmt.Sprintf("deploy/launchd/%s: %v", filepath.Base(file), err))
			continue
		}
		for key, kind := range map[string]string{"Label": "string", "ProgramArguments": "array", "RunAtLoad": "true"} {
			if keys[key] != kind {
				problems = append(problems, fmt.Sprintf("deploy/launchd/%s: %s is %q, want %s", filepath.Base(file), key, keys[key], kind))
			}
		}
	}
	return problems
}

// plistKeys are the keys of the outer dictionary with the kinds of their values.
func plistKeys(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := xml.NewDecoder(f)
	keys, key, depth := map[string]string{}, "", 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if key != "" {
				return nil, fmt.Errorf("%s has no value", key)
			}
			return keys, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			depth++
			if depth != 3 { // plist, dict, and what is in it
				continue
			}
			if token.Name.Local != "key" {
				if key == "" {
					return nil, fmt.Errorf("a %s has no key", token.Name.Local)
				}
				keys[key], key = token.Name.Local, ""
				continue
			}
			if key != "" {
				return nil, fmt.Errorf("%s has no value", key)
			}
			if err := d.DecodeElement(&key, &token); err != nil {
				return nil, err
			}
			depth--
		case xml.EndElement:
			depth--
		}
	}
}
