package tui

import (
	"errors"
	"strings"
)

// Detailed is an error that lists what it is made of, one line each.
type Detailed interface{ Details() []string }

// Hinted is an error that knows its cure.
type Hinted interface{ Hint() string }

// Error says what happened and then what to do, on standard error. The first line of
// the error is the message; further lines, and the details of a [Detailed] error,
// stand below it. Without a hint of the caller's, that of a [Hinted] error is shown.
func (t *Terminal) Error(err error, hint string) {
	message, details := split(err)
	if hinted := Hinted(nil); hint == "" && errors.As(err, &hinted) {
		hint = hinted.Hint()
	}
	if t.opts.JSON {
		t.writeErr(jsonLine(struct {
			Error   string   `json:"error"`
			Details []string `json:"details,omitempty"`
			Hint    string   `json:"hint,omitempty"`
		}{message, details, hint}))
		return
	}
	var b strings.Builder
	b.WriteString(t.paintErr(bad, "error:") + " " + Escape(message) + "\n")
	for _, line := range details {
		b.WriteString("  " + Escape(line) + "\n")
	}
	if hint != "" {
		b.WriteString(t.paintErr(strong, "hint:") + " " + Escape(hint) + "\n")
	}
	t.writeErr(b.String())
}

func split(err error) (message string, details []string) {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for _, line := range lines[1:] {
		if line = strings.TrimSpace(line); line != "" {
			details = append(details, line)
		}
	}
	if detailed := Detailed(nil); errors.As(err, &detailed) {
		details = append(details, detailed.Details()...)
	}
	return lines[0], details
}
