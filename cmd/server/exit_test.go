package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/server"
)

func TestExitStatus(t *testing.T) {
	tests := []struct {
		err    error
		status int
		says   string
	}{
		{nil, 0, ""},
		{errors.New("it broke"), 1, "error: it broke\n"},
		{server.WithHint(errors.New("it broke"), "mend it"), 1, "error: it broke\nhint: mend it\n"},
		{usagef("not so"), 2, "error: not so\nhint: add --help to see what the command takes\n"},
		{fmt.Errorf("deep: %w", server.WithHint(usagef("which?"), "give one")), 2, "error: deep: which?\nhint: give one\n"},
	}
	for _, test := range tests {
		var said strings.Builder
		p := &program{err: &said}
		if status := p.report(test.err); status != test.status || said.String() != test.says {
			t.Errorf("%v: status %d, says %q", test.err, status, said.String())
		}
	}
}

// The admin's token is shown to a person, and never where a log may keep it.
func TestTheFirstTokenIsShownOnATerminalOnly(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		data := t.TempDir()
		var said strings.Builder
		p := &program{out: io.Discard, err: &said, terminal: terminal, getenv: func(string) string { return "" }, now: time.Now}
		cfg := server.DefaultConfig(data)
		cfg.Listen = "127.0.0.1:0"
		s, err := server.New(t.Context(), p.quietLogger(), cfg, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		p.announce(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		token, err := os.ReadFile(filepath.Join(data, "admin.token"))
		if err != nil {
			t.Fatal(err)
		}
		if shown := strings.Contains(said.String(), strings.TrimSpace(string(token))); shown != terminal {
			t.Errorf("terminal %v: %s", terminal, said.String())
		}
	}
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"never":                     {},
		"90d":                       now.Add(90 * 24 * time.Hour),
		"12h":                       now.Add(12 * time.Hour),
		"2027-03-01T00:00:00+01:00": time.Date(2027, 2, 28, 23, 0, 0, 0, time.UTC),
	} {
		if got, err := parseExpiry(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0d", "-1d", "1", "99999999d", "2026-11-30T12:00:00Z", "tomorrow"} {
		if got, err := parseExpiry(text, now); err == nil {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}
