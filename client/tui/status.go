package tui

import (
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/teammem/teammem/api"
)

// OpeningView is what `client sync` begins with.
type OpeningView struct {
	Repo    api.RepoSlug
	Server  string
	User    string
	Dir     string
	Entries int
}

// Opening writes the two lines above the events. A pipe gets one event in their
// stead, and a program another.
func (t *Terminal) Opening(v OpeningView) {
	switch {
	case t.opts.Quiet:
	case t.opts.JSON || !t.opts.OutTerminal:
		t.Event(Event{Kind: Info, Text: "watching " + v.Dir + " (" + Count(v.Entries, "entry", "entries") + ") for " +
			string(v.Repo) + " at " + v.Server + " as " + v.User})
	default:
		arrows := "<->"
		if t.opts.UTF8 {
			arrows = "⇄"
		}
		t.writeOut(t.paint(strong, "teammem") + "  " + Escape(string(v.Repo)) + "  " + arrows + "  " + Escape(v.Server) + "   as " + Escape(v.User) + "\n" +
			"watching " + t.Path(v.Dir) + "  (" + Count(v.Entries, "entry", "entries") + ")\n\n")
	}
}

// State is how a directory stands with its server, in one word.
type State string

// The states. What is configured has no part in them: only what happened does.
const (
	InSync      State = "in sync"
	Syncing     State = "syncing"     // edits wait for their turn
	Unreachable State = "unreachable" // the last try failed
	Halted      State = "stopped"     // a brake; a person is asked
	NeverSynced State = "never synced"
)

// late is the age at which the last good round is a fault whatever the state says.
const late = 10 * time.Minute

// StatusView is the answer of `client status`.
type StatusView struct {
	Repo     api.RepoSlug `json:"repo"`
	Server   string       `json:"server"`
	Dir      string       `json:"dir"`
	State    State        `json:"state"`
	Synced   time.Time    `json:"synced,omitzero"` // last round that ended well
	Running  bool         `json:"running"`         // a client watches the directory now
	Watcher  *Watcher     `json:"watcher,omitempty"`
	Service  *Service     `json:"service,omitempty"`
	Version  api.Version  `json:"version"`
	Entries  int          `json:"entries"`
	ToPush   int          `json:"toPush"`
	Held     int          `json:"held"`
	Proposed int          `json:"proposed"` // sent, and wait for approval
	Kept     int          `json:"kept"`
	Lines    []StatusLine `json:"lines"`
	// Findings are what a scan finds in the directory; asked for by programs only.
	Findings any `json:"findings,omitempty"`
	// Proposals are what one proposed and what became of it; absent where the server did
	// not say.
	Proposals any    `json:"proposals,omitempty"`
	Message   string `json:"message,omitempty"` // why it stopped or cannot be reached
	Hint      string `json:"hint,omitempty"`
	// TokenEnds is set in the last week of the token, RepoNow where the repo was
	// given another name, each with a note.
	TokenEnds time.Time    `json:"tokenEnds,omitzero"`
	RepoNow   api.RepoSlug `json:"repoNow,omitempty"`
	Notes     []Note       `json:"notes,omitempty"`
}

// Service is how a client is started here by the system.
type Service struct {
	Installed bool   `json:"installed"`
	Name      string `json:"name,omitempty"`
	File      string `json:"file,omitempty"`
}

// Note is something to know that keeps nothing from working yet.
type Note struct {
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// Watcher is how the client that is at work notices edits.
type Watcher struct {
	Mode    string `json:"mode"`          // "inotify", or "polling" where that is not to be had
	Why     string `json:"why,omitempty"` // it is polling
	Folders int    `json:"folders"`       // watched by the system
}

// StatusLine is one entry that needs a word.
type StatusLine struct {
	Kind Kind    `json:"kind"`
	Key  api.Key `json:"key"`
	Name string  `json:"name,omitempty"` // of a file that is no entry
	Text string  `json:"text"`
	Hint string  `json:"hint,omitempty"`
}

// Status writes the table: how it stands, what is counted, what needs a word.
func (t *Terminal) Status(v StatusView) {
	if t.opts.JSON {
		if v.Lines == nil {
			v.Lines = []StatusLine{}
		}
		t.Value(v)
		return
	}
	var b strings.Builder
	b.WriteString(t.paint(strong, Escape(string(v.Repo))) + "   " + t.stateText(v) + "     version " + Number(v.Version) + "\n")
	counts := []string{
		Count(v.Entries, "entry", "entries"), Number(v.ToPush) + " to push", Number(v.Held) + " held",
		Count(v.Kept, "kept conflict", "kept conflicts"),
	}
	if v.Proposed > 0 {
		counts = append(counts, Number(v.Proposed)+" proposed")
	}
	b.WriteString("  " + strings.Join(counts, "   ") + "\n")
	if w := v.Watcher; w != nil && w.Why == "" {
		b.WriteString("  " + Escape(w.Mode) + ", " + Count(w.Folders, "folder", "folders") + " watched\n")
	} else if w != nil {
		b.WriteString("  " + t.paint(warning, Escape(w.Mode)) + ": " + Escape(w.Why) + "\n")
	}
	switch s := v.Service; {
	case s != nil && s.Installed:
		b.WriteString("  started by " + Escape(s.Name) + "\n")
	case s != nil && !v.Running:
		b.WriteString("  no service starts a client here   client install\n")
	}
	if v.Message != "" {
		b.WriteString("  " + t.paint(bad, Escape(v.Message)) + "\n")
	}
	if v.Hint != "" {
		b.WriteString("  " + t.arrow() + Escape(v.Hint) + "\n")
	}
	for _, note := range v.Notes {
		b.WriteString("  " + t.paint(warning, Escape(note.Text)) + "\n  " + t.arrow() + Escape(note.Hint) + "\n")
	}
	t.statusLines(&b, v.Lines)
	t.writeOut(b.String())
}

func (t *Terminal) statusLines(b *strings.Builder, lines []StatusLine) {
	rows := make([][]string, 0, len(lines))
	for _, line := range lines {
		name := line.Name
		if name == "" {
			name = string(line.Key)
		}
		l := looks[line.Kind]
		verb := pad(string(line.Kind), len(Withdrawn))
		if t.signs() {
			verb = l.sign
		}
		rows = append(rows, []string{t.paint(l.style, verb) + " " + Escape(name), Escape(line.Text), Escape(line.Hint)})
	}
	for _, row := range columns(rows) {
		b.WriteString("  " + row + "\n")
	}
}

// stateText is the state and the age of the last good round, which says more than
// any configuration does.
func (t *Terminal) stateText(v StatusView) string {
	if v.Synced.IsZero() {
		return t.paint(warning, string(NeverSynced))
	}
	age := t.opts.Now().Sub(v.Synced)
	style, text := good, string(v.State)+", "+Age(age)
	switch {
	case v.State == Halted || age >= late:
		style = bad
	case v.State != InSync:
		style = waiting
	}
	if v.State != InSync || age >= late {
		text = string(v.State) + ", last in sync " + Age(age)
		if v.State == InSync {
			text = "last in sync " + Age(age)
		}
	}
	return t.paint(style, text)
}

// Row is one line of a table such as that of `client where` or `client doctor`.
type Row struct {
	Level Level // "" without one
	Label string
	Text  string
	Note  string
	Cure  string // on a line of its own, behind an arrow
}

// Level is the verdict of a check.
type Level string

// The levels.
const (
	OK     Level = "ok"
	Warn   Level = "warn"
	Failed Level = "fail"
)

var levels = map[Level]lipgloss.Style{OK: good, Warn: warning, Failed: bad}

// Rows writes lines with their parts in columns.
func (t *Terminal) Rows(rows []Row) {
	if t.opts.JSON {
		return
	}
	table := make([][]string, 0, len(rows))
	graded := false
	for _, r := range rows {
		graded = graded || r.Level != ""
	}
	for _, r := range rows {
		cells := []string{Escape(r.Label), Escape(r.Text), Escape(r.Note)}
		if graded {
			cells = append([]string{t.paint(levels[r.Level], string(r.Level))}, cells...)
		}
		table = append(table, cells)
	}
	indent := strings.Repeat(" ", t.cureColumn(rows, graded))
	var b strings.Builder
	for i, line := range columns(table) {
		b.WriteString(line + "\n")
		if rows[i].Cure != "" {
			b.WriteString(indent + t.arrow() + Escape(rows[i].Cure) + "\n")
		}
	}
	t.writeOut(b.String())
}

// arrow opens a cure.
func (t *Terminal) arrow() string {
	if t.signs() {
		return "→ "
	}
	return "-> "
}

// cureColumn is where the text begins.
func (t *Terminal) cureColumn(rows []Row, graded bool) int {
	labels, grades := 0, 0
	for _, r := range rows {
		labels = max(labels, lipgloss.Width(Escape(r.Label)))
		grades = max(grades, len(r.Level))
	}
	if graded {
		return grades + 2 + labels + 2
	}
	return labels + 2
}

// columns pads the cells of all but the last column in use. Very wide cells push
// only their own line.
func columns(rows [][]string) []string {
	const widest = 60
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if n := lipgloss.Width(cell); n <= widest {
				widths[i] = max(widths[i], n)
			}
		}
	}
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += pad(cell, widths[i]) + "  "
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}
