package server

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// DefaultData is where the server keeps its files when it is not told: the
// place that the system gives a user's programs for their data.
func DefaultData(getenv func(string) string) (string, error) {
	const name = "teammem"
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, name), nil
	}
	if dir := getenv("LOCALAPPDATA"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", WithHint(fmt.Errorf("find the data directory: %w", err), "name one with --data")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", name), nil
	}
	return filepath.Join(home, ".local", "share", name), nil
}
