package claudemd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrompt holds the prompt of each mode against its golden text; -update writes it.
func TestPrompt(t *testing.T) {
	private, team := []byte("- [Dana](user_dana.md) — who Dana is\n"), []byte("\uFEFF- [Freeze](freeze.md) — until January\r\n")
	var long strings.Builder
	for i := range 250 {
		fmt.Fprintf(&long, "- [T%d](t%d.md) — hook\n", i, i)
	}
	for name, m := range map[string]Memories{
		"private_and_team": {Mode: Both, Dir: "/m", TeamDir: "/m/team", Index: private, TeamIndex: team, Guidelines: "Save in English.\n"},
		"private":          {Mode: Alone, Dir: "/m", Index: nil},
		"long_index":       {Mode: Alone, Dir: "/it's", Index: []byte(long.String())},
		"no_index":         {Mode: Both, Dir: "/m", TeamDir: "/m/team", NoIndex: true, Index: private},
		"daily_log":        {Mode: DailyLog, Dir: "/m", TeamDir: "/m/team", Index: private},
		"none":             {Mode: Off, Dir: "/m", Index: private, Guidelines: "Save in English."},
	} {
		file := filepath.Join("testdata", "prompt", name+".golden")
		got := m.Prompt()
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// What the prompt must say in each mode, whatever the words.
func TestPromptSaysWhatItMust(t *testing.T) {
	both := Memories{Mode: Both, Dir: "/m", TeamDir: "/m/team", Index: []byte("- private line"), TeamIndex: []byte("- team line")}.Prompt()
	for _, must := range []string{"`/m`", "`/m/team`", "always private", "**Why:**", "**How to apply:**", "sensitive", "contradict", "- private line", "- team line", "even when the user asks"} {
		if !strings.Contains(both, must) {
			t.Errorf("the prompt for both says nothing of %q", must)
		}
	}
	log := Memories{Mode: DailyLog, Dir: "/m"}.Prompt()
	if !strings.Contains(log, "/m/logs/YYYY/MM/YYYY-MM-DD.md") || strings.Contains(log, "Two steps") {
		t.Errorf("the prompt for logs:\n%s", log)
	}
	alone := Memories{Mode: Alone, Dir: "/m"}.Prompt()
	if strings.Contains(alone, "team") {
		t.Error("the private prompt speaks of a team")
	}
	var lines strings.Builder
	for range 201 {
		lines.WriteString("- a line\n")
	}
	cut := Memories{Mode: Alone, Dir: "/m", Index: []byte(lines.String())}.Prompt()
	if strings.Count(cut, "- a line") != 200 || !strings.Contains(cut, "201 lines, limit 200") {
		t.Error("an index of 201 lines is not cut, or nobody is told")
	}
}
