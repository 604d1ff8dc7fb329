package main

import (
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammem/client/config"
)

// corpus is the folder of real memory directories, or the test is skipped.
func corpus(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TEAMMEM_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "open"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the corpus of real directories is not there: %v", err)
	}
	return dir
}

// standingFile is all of a file that a command could change.
type standingFile struct {
	sum  [sha256.Size]byte
	info string // mode and time
}

func treeOf(t *testing.T, dir string) map[string]standingFile {
	t.Helper()
	tree := map[string]standingFile{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		f := standingFile{info: info.Mode().String() + info.ModTime().String()}
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			f.sum = sha256.Sum256(text)
		}
		tree[path] = f
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// machine is a machine with a home directory and a checkout, on which the program runs.
type machine struct {
	t    *testing.T
	vars map[string]string
	home string
}

func newMachine(t *testing.T) *machine {
	home := t.TempDir()
	return &machine{t, map[string]string{"TEAMMEM_STATE_DIR": filepath.Join(home, "state"), "TEAMMEM_CONFIG_DIR": filepath.Join(home, "config")}, home}
}

// client runs the program without a terminal and gives what it answers.
func (m *machine) client(args ...string) (code exitCode, stdout, stderr string) {
	m.t.Helper()
	var files [2]*os.File
	for i := range files {
		f, err := os.CreateTemp(m.home, "out")
		if err != nil {
			m.t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		files[i] = f
	}
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = nothing.Close() }()
	env := config.Env{Getenv: func(name string) string { return m.vars[name] }, Home: m.home, Dir: m.home, OS: "linux"}
	code = run(m.t.Context(), args, env, nothing, files[0], files[1])
	var texts [2]string
	for i, f := range files {
		text, err := os.ReadFile(f.Name())
		if err != nil {
			m.t.Fatal(err)
		}
		texts[i] = string(text)
	}
	return code, texts[0], texts[1]
}

// value runs a command that answers with JSON.
func (m *machine) value(into any, args ...string) {
	m.t.Helper()
	code, stdout, stderr := m.client(append(args, "--json")...)
	if err := json.Unmarshal([]byte(stdout), into); err != nil || code != exitDone {
		m.t.Errorf("client %s: status %d, %v: %s", strings.Join(args, " "), code, err, stderr)
	}
}

// Every command that only reads takes every file of the real directories, as the
// team's and as private ones, and leaves the tree as it was.
func TestReadingChangesNothing(t *testing.T) {
	dir := corpus(t)
	before := treeOf(t, dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		for _, private := range []bool{false, true} {
			m := newMachine(t)
			m.vars["TEAMMEM_DIR"] = filepath.Join(dir, entry.Name())
			if private {
				m.vars = map[string]string{"CLAUDE_COWORK_MEMORY_PATH_OVERRIDE": m.vars["TEAMMEM_DIR"], "TEAMMEM_STATE_DIR": m.vars["TEAMMEM_STATE_DIR"]}
			}
			files += m.readAll(before, filepath.Join(dir, entry.Name()))
		}
	}
	const all = 2 * 260 // once as the team's, once as private ones
	if files != all {
		t.Errorf("%d files were read, want %d", files, all)
	}
	after := treeOf(t, dir)
	for path, f := range before {
		if after[path] != f {
			t.Errorf("%s was changed", path)
		}
	}
	if len(after) != len(before) {
		t.Errorf("the tree has %d entries, had %d", len(after), len(before))
	}
}

// readAll runs every reading command over one directory and counts its files: the
// memories that are listed and the indexes, each shown as it lies there.
func (m *machine) readAll(tree map[string]standingFile, dir string) (files int) {
	m.t.Helper()
	var list []memoryRow
	var stats memoryStats
	m.value(&list, "memory", "list")
	m.value(&stats, "memory", "stats")
	if stats.Memories != len(list) {
		m.t.Errorf("%s: %d memories are counted, %d are listed", dir, stats.Memories, len(list))
	}
	keys := []string{}
	for _, one := range list {
		keys = append(keys, string(one.Key))
	}
	for _, index := range stats.Indexes {
		keys = append(keys, string(index.Key))
	}
	for i, key := range keys {
		if private := m.vars["TEAMMEM_DIR"] == ""; private && i%5 != 0 {
			continue // that bytes are bytes is shown by the team's
		}
		code, stdout, stderr := m.client("memory", "show", key)
		if sha256.Sum256([]byte(stdout)) != tree[filepath.Join(dir, filepath.FromSlash(key))].sum || code != exitDone {
			m.t.Errorf("%s/%s was shown otherwise, with status %d: %s", dir, key, code, stderr)
		}
	}
	commands := [][]string{
		{"memory", "list"},
		{"memory", "search", "the"},
		{"recall", "how are tests run"},
		{"context", "--explain"},
	}
	if m.vars["TEAMMEM_DIR"] != "" {
		commands = append(commands, [][]string{
			{"memory", "stats"},
			{"memory", "search", "--ranked", "how are tests run"},
			{"memory", "classify", dir},
			{"memory", "lint", "--strict", "--json"},
			{"where", "--explain"},
			{"status"},
			{"secrets", dir},
		}...)
	}
	for _, args := range commands {
		code, _, stderr := m.client(args...)
		finds := code == exitFailed && slices.Contains(args, "lint") || code == exitHeld && args[0] == "secrets"
		if code != exitDone && !finds || strings.Contains(stderr, "left out") || strings.Contains(stderr, "error") {
			m.t.Errorf("%s: client %s: status %d: %s", dir, strings.Join(args, " "), code, stderr)
		}
	}
	return len(keys)
}
