package tui

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Diff writes the changes from one text to another, line by line, in the unified
// form. Nothing is written for equal texts.
func (t *Terminal) Diff(fromName, toName, from, to string) {
	text := udiff.Unified(fromName, toName, from, to)
	if !t.opts.OutTerminal {
		t.writeOut(text)
		return
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, end := strings.CutSuffix(line, "\n")
		b.WriteString(t.diffLine(body))
		if end {
			b.WriteString("\n")
		}
	}
	t.writeOut(b.String())
}

// Unified gives the changes from one text to another in the unified form, "" for equal
// texts.
func Unified(fromName, toName, from, to string) string {
	return udiff.Unified(fromName, toName, from, to)
}

func (t *Terminal) diffLine(line string) string {
	shown := Escape(line)
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		return shown
	case strings.HasPrefix(line, "+"):
		return t.paint(good, shown)
	case strings.HasPrefix(line, "-"):
		return t.paint(bad, shown)
	}
	return shown
}
