package tui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestPicks(t *testing.T) {
	few := []string{"feedback_testing.md  no mocks", "project_release.md  version 2", "project_db.md  \x1b[2Jwiped"}
	var many []string
	for i := range 45 {
		many = append(many, fmt.Sprintf("note_%02d.md  %s", i, map[bool]string{true: "odd", false: "even"}[i%2 == 1]))
	}
	for name, c := range map[string]struct {
		lines  []string
		typed  string
		picked int // -1 for nothing
		shown  string
	}{
		"by number":           {few, "2\n", 1, "  2  project_release.md  version 2\n"},
		"by a word":           {few, "MOCKS\n", 0, "Which?"},
		"narrowed, then":      {few, "project\n2\n", 2, "  1  project_release.md"},
		"a word of none":      {few, "nobody\n1\n", 0, "nothing like that\n"},
		"no such number":      {few, "4\n1\n", 0, "there is no number 4 here\n"},
		"nothing":             {few, "\n", -1, "Which?"},
		"the end of input":    {few, "", -1, "Which?"},
		"a last line":         {few, "3", 2, "Which?"},
		"many":                {many, "odd\n20\n", 39, "     and 25 more\n"},
		"one that is hidden":  {many, "21\nnote_21\n", 21, "20  note_19.md"},
		"hidden by narrowing": {many, "odd\n30\n\n", -1, "there is no number 30 here\n"},
		"nobody sees ESC":     {few, "3\n", 2, `\x1b[2Jwiped`},
	} {
		var screen bytes.Buffer
		tty := New(&bytes.Buffer{}, &screen, Options{In: strings.NewReader(c.typed), Yes: true})
		picked, ok := tty.Pick("Which?", c.lines)
		if !ok {
			picked = -1
		}
		if picked != c.picked || !strings.Contains(screen.String(), c.shown) || strings.Contains(screen.String(), "\x1b") {
			t.Errorf("%s: picked %d, want %d\n%s", name, picked, c.picked, screen.String())
		}
	}
	var screen bytes.Buffer
	if _, ok := New(&screen, &screen, Options{}).Pick("Which?", few); ok || screen.Len() > 0 {
		t.Errorf("nobody was asked, and answered: %q", screen.String())
	}
}

// Somebody who never answers well is not asked for ever.
func TestPickGivesUp(t *testing.T) {
	var screen bytes.Buffer
	tty := New(&screen, &screen, Options{In: strings.NewReader(strings.Repeat("nobody\n", 1000))})
	if _, ok := tty.Pick("Which?", []string{"a"}); ok || strings.Count(screen.String(), "Which?") > 20 {
		t.Errorf("asked %d times", strings.Count(screen.String(), "Which?"))
	}
}
