package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var settingVariable = regexp.MustCompile(`\bTEAMMEM_[A-Z][A-Z_]*`)

// Each variable that what we deploy sets is a setting: a slip would be passed over in
// silence, for the environment may hold anything.
func TestDeployedVariablesAreSettings(t *testing.T) {
	known := []string{"TEAMMEM_CONFIG", "TEAMMEM_PORT"} // the second is Compose's own
	for _, name := range allSettings() {
		known = append(known, variable(name), variable(name)+"_FILE")
	}
	root := filepath.Join("..", "..")
	files := []string{filepath.Join(root, "Dockerfile"), filepath.Join(root, "docker-compose.yml")}
	for _, dir := range []string{"systemd", "kubernetes", "launchd"} {
		err := filepath.WalkDir(filepath.Join(root, "deploy", dir), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range settingVariable.FindAllString(string(text), -1) {
			found++
			if !slices.Contains(known, strings.TrimSuffix(name, "_")) {
				t.Errorf("%s: %s is no setting", file, name)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d variables were found", found)
	}
}
