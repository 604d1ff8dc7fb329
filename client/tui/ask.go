package tui

import (
	"bufio"
	"io"
	"strings"
)

// Ask asks a question that has a yes and a no. The default stands in capitals and is
// what an empty answer means. --yes answers yes without asking. Where nobody can
// answer it is safe, which the caller gives as the default: a question that destroys
// something has the default no.
func (t *Terminal) Ask(question string, usual bool) bool {
	if t.opts.Yes {
		return true
	}
	if t.opts.In == nil {
		return usual
	}
	choice := " [y/N] "
	if usual {
		choice = " [Y/n] "
	}
	for range 3 {
		t.writeErr(Escape(question) + choice)
		answer, err := t.line()
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return true
		case "n", "no":
			return false
		case "":
			if err != nil {
				t.writeErr("\n")
			}
			return usual
		}
		if err != nil {
			return usual
		}
		t.writeErr("y or n\n")
	}
	return usual
}

// CanAsk reports whether a question would reach a person, or --yes answers it.
func (t *Terminal) CanAsk() bool { return t.opts.Yes || t.opts.In != nil }

// line reads one line byte by byte: what follows belongs to the next question.
func (t *Terminal) line() (string, error) {
	var b strings.Builder
	r := bufio.NewReaderSize(onebyte{t.opts.In}, 16)
	for b.Len() < 1<<10 {
		c, err := r.ReadByte()
		if err != nil || c == '\n' {
			return b.String(), err
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}

// onebyte never reads ahead.
type onebyte struct{ r io.Reader }

func (o onebyte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }
