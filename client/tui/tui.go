// Package tui is the client's voice in the terminal: event lines, the status table,
// progress, questions, and errors with their hints.
//
// One [Terminal] owns standard output and standard error; nothing else writes there.
// Results and events go to standard output, progress, questions and errors to
// standard error. How a line looks depends on where it goes:
//
//   - a terminal that shows UTF-8 gets the time of day and a sign for the verb,
//   - another terminal gets the verb as a word,
//   - a pipe gets an RFC 3339 time and the verb as a word,
//   - --json gives one object a line for a program.
//
// --quiet leaves only what a person has to act on. Colour is laid over the signs and
// words and never carries anything alone; NO_COLOR turns it off. Names of files and
// people come as they are written, but for control characters, which are escaped
// before they reach a terminal: a file name must not be able to move the cursor.
//
// It keeps nothing. The commands and the loop of cmd/client call it.
package tui

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"golang.org/x/term"
)

// Options say where the output goes and what a person asked for.
type Options struct {
	OutTerminal bool // standard output is a terminal
	ErrTerminal bool // standard error is one
	UTF8        bool // the terminal shows UTF-8
	Colour      bool // where there is a terminal
	JSON        bool
	Quiet       bool
	Yes         bool // --yes: questions are answered
	// In is where answers come from; nil when nobody can answer.
	In  io.Reader
	Now func() time.Time
	// Location is the zone of times; nil is the machine's.
	Location *time.Location
	// Home is written as ~ in paths; empty leaves them whole.
	Home string
}

// Detect looks at the process's files and environment. OS is as runtime.GOOS.
func Detect(getenv func(string) string, in, out, err *os.File, goos string) Options {
	o := Options{
		OutTerminal: term.IsTerminal(int(out.Fd())),
		ErrTerminal: term.IsTerminal(int(err.Fd())),
		UTF8:        showsUTF8(getenv, goos),
		Now:         time.Now,
	}
	dumb := getenv("TERM") == "dumb" || goos != "windows" && getenv("TERM") == ""
	if dumb {
		o.ErrTerminal = o.ErrTerminal && goos == "windows" // no progress line there
	}
	o.Colour = !dumb && getenv("NO_COLOR") == ""
	if term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(err.Fd())) {
		o.In = in
	}
	return o
}

// showsUTF8 asks the locale, in the order POSIX looks at its variables. Windows and
// macOS terminals show UTF-8 unless a locale says otherwise.
func showsUTF8(getenv func(string) string, goos string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return goos == "windows" || goos == "darwin"
}

// Terminal writes for one process. It is safe for concurrent use.
type Terminal struct {
	opts Options

	mu       sync.Mutex
	out, err io.Writer
	running  *Progress // drawn now, if any
}

// New writes results to out and the rest to err.
func New(out, err io.Writer, opts Options) *Terminal {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Location == nil {
		opts.Location = time.Local
	}
	return &Terminal{opts: opts, out: out, err: err}
}

// JSON reports whether the caller asked for objects instead of text.
func (t *Terminal) JSON() bool { return t.opts.JSON }

// OutIsTerminal reports whether results go to a terminal.
func (t *Terminal) OutIsTerminal() bool { return t.opts.OutTerminal }

// signs reports whether standard output takes signs.
func (t *Terminal) signs() bool { return t.opts.OutTerminal && t.opts.UTF8 }

// writeOut writes whole lines to standard output, above a progress line if one is
// drawn.
func (t *Terminal) writeOut(text string) { t.write(t.out, text) }

func (t *Terminal) writeErr(text string) { t.write(t.err, text) }

func (t *Terminal) write(w io.Writer, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running != nil {
		t.running.erase()
		defer t.running.draw()
	}
	// A pipe that is closed takes no line; there is nobody to tell.
	_, _ = io.WriteString(w, text)
}

// Print writes one line of a result. With --json it writes nothing: a program reads
// what [Terminal.Value] writes.
func (t *Terminal) Print(line string) {
	if !t.opts.JSON {
		t.writeOut(line + "\n")
	}
}

// Raw writes a result as it is, for output that is a file's own bytes. A terminal gets
// them line by line with what would steer it escaped: the file may be a stranger's.
func (t *Terminal) Raw(content []byte) {
	if !t.opts.OutTerminal {
		t.writeOut(string(content))
		return
	}
	var b strings.Builder
	for line := range strings.Lines(string(content)) {
		body, end := strings.CutSuffix(line, "\n")
		body = strings.TrimSuffix(body, "\r")
		for i, part := range strings.Split(body, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(Escape(part))
		}
		if end {
			b.WriteByte('\n')
		}
	}
	t.writeOut(b.String())
}

// Note writes one line for people to standard error; nothing with --quiet or --json.
func (t *Terminal) Note(line string) {
	if !t.opts.JSON && !t.opts.Quiet {
		t.writeErr(line + "\n")
	}
}

// Warn writes one line that begins with "warning: " to standard error, whatever the
// options.
func (t *Terminal) Warn(text, hint string) {
	if t.opts.JSON {
		t.writeErr(jsonLine(struct {
			Warning string `json:"warning"`
			Hint    string `json:"hint,omitempty"`
		}{text, hint}))
		return
	}
	lines := t.paintErr(warning, "warning:") + " " + Escape(text) + "\n"
	if hint != "" {
		lines += "hint: " + Escape(hint) + "\n"
	}
	t.writeErr(lines)
}

// Value writes v as one line of JSON to standard output.
func (t *Terminal) Value(v any) { t.writeOut(jsonLine(v)) }

// jsonLine leaves <, > and & alone, since nothing of this goes into a page, and
// escapes what a terminal would act on or hide, since somebody may look.
func jsonLine(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		// Only a value that JSON cannot carry comes here, which is a fault of
		// the caller's; saying so is better than silence.
		b.Reset()
		_ = json.NewEncoder(&b).Encode(map[string]string{"error": err.Error()})
	}
	return escapeJSON(b.String())
}

// escapeJSON writes hidden characters as JSON's own escapes. They can stand in
// strings only, so the value stays the same.
func escapeJSON(line string) string {
	line = strings.TrimSuffix(line, "\n")
	if !strings.ContainsFunc(line, hidden) {
		return line + "\n"
	}
	var b strings.Builder
	for _, r := range line {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String() + "\n"
}
