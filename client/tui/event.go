package tui

import (
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/teammem/teammem/api"
)

// Kind is what happened. Its text is the word a program reads.
type Kind string

// The kinds of event.
const (
	Pushed    Kind = "pushed"
	Pulled    Kind = "pulled"
	Merged    Kind = "merged"
	Deleted   Kind = "deleted"  // removed here, because it was deleted at the server
	Restored  Kind = "restored" // back from the server, the keep or the trash
	Held      Kind = "held"     // not sent, by the scanner or a policy
	Proposed  Kind = "proposed" // sent, and waits for approval
	Approved  Kind = "approved" // and everybody has it
	Rejected  Kind = "rejected"
	Withdrawn Kind = "withdrawn" // a proposal, by its author
	Kept      Kind = "kept"      // our text of a conflict went to the keep
	Skipped   Kind = "skipped"   // left out, named once
	Left      Kind = "left"      // not overwritten, because it differs
	Waiting   Kind = "waiting"   // the server cannot be reached
	Stopped   Kind = "stopped"   // a brake; a person is asked
	Info      Kind = "info"
)

// look is how a kind is shown. A person has to act on the urgent ones, so --quiet
// leaves them.
type look struct {
	sign   string
	style  lipgloss.Style
	urgent bool
}

var looks = map[Kind]look{
	Pushed:    {"↑", good, false},
	Pulled:    {"↓", good, false},
	Merged:    {"⊕", good, false},
	Deleted:   {"−", good, false},
	Restored:  {"↺", good, false},
	Held:      {"‖", warning, true},
	Proposed:  {"‖", waiting, false},
	Approved:  {"✓", good, false},
	Rejected:  {"✗", warning, false},
	Withdrawn: {"−", faint, false},
	Kept:      {"!", warning, true},
	Skipped:   {"·", warning, false},
	Left:      {"!", warning, true},
	Waiting:   {"…", waiting, false},
	Stopped:   {"■", bad, true},
	Info:      {"·", faint, false},
}

// Event is one thing that happened while syncing.
type Event struct {
	Time time.Time // zero: now
	Kind Kind
	Keys []api.Key
	From string // who the change came from
	Text string // what else there is to say
	Hint string // the command that helps
}

// Event writes one line: time, verb, names, and the cure last.
func (t *Terminal) Event(e Event) {
	if e.Time.IsZero() {
		e.Time = t.opts.Now()
	}
	l, known := looks[e.Kind]
	switch {
	case t.opts.Quiet && known && !l.urgent:
	case t.opts.JSON:
		t.writeOut(jsonLine(eventJSON(e)))
	case t.opts.OutTerminal:
		t.writeOut(t.terminalLine(e, l))
	default:
		t.writeOut(t.pipeLine(e))
	}
}

type eventObject struct {
	Time    api.Time  `json:"time"`
	Event   Kind      `json:"event"`
	Keys    []api.Key `json:"keys"`
	From    string    `json:"from"`
	Message string    `json:"message"`
	Hint    string    `json:"hint"`
}

func eventJSON(e Event) eventObject {
	keys := e.Keys
	if keys == nil {
		keys = []api.Key{} // an array for programs, even when empty
	}
	return eventObject{api.NewTime(e.Time), e.Kind, keys, e.From, e.Text, e.Hint}
}

// textColumns is the width of the middle of a line, so that what follows stands in
// one column. A longer middle pushes it on.
const textColumns = 41

func (t *Terminal) terminalLine(e Event, l look) string {
	verb := l.sign
	if !t.opts.UTF8 {
		verb = pad(string(e.Kind), len(Restored))
	}
	line := t.paint(faint, e.Time.In(t.opts.Location).Format("15:04:05")) + "  " + t.paint(l.style, verb) + " "
	middle, right := sentence(e, 3, !t.opts.UTF8)
	if right == "" {
		return line + middle + "\n"
	}
	return line + pad(middle, textColumns-2) + "  " + right + "\n"
}

// pipeLine names every key: what is read later cannot be asked.
func (t *Terminal) pipeLine(e Event) string {
	middle, right := sentence(e, len(e.Keys), true)
	return e.Time.In(t.opts.Location).Format(time.RFC3339) + " " + string(e.Kind) + " " + join(middle, "  ", right) + "\n"
}

// sentence is the middle of a line and what stands to its right. Where the verb is a
// word already it is not said again.
func sentence(e Event, names int, verbIsWord bool) (middle, right string) {
	middle = Names(e.Keys, names)
	if e.Kind == Held && middle != "" && !verbIsWord {
		middle += " held back"
	}
	if e.Kind == Proposed && middle != "" && !verbIsWord {
		middle += " proposed"
	}
	middle = join(middle, ": ", Escape(e.Text))
	switch {
	case e.Kind == Merged && e.Text == "":
		right = "merged with a change at the server"
		if e.From != "" {
			right = "merged with " + Escape(e.From) + "'s change"
		}
		if verbIsWord {
			right = strings.TrimPrefix(right, "merged ")
		}
	case e.From != "":
		right = "from " + Escape(e.From)
	}
	return middle, join(right, "   ", Escape(e.Hint))
}

func join(a, between, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + between + b
}

// Names lists keys, the first few of many.
func Names(keys []api.Key, most int) string {
	shown := make([]string, 0, min(len(keys), most)+1)
	for _, key := range keys[:min(len(keys), most)] {
		shown = append(shown, Escape(string(key)))
	}
	list := strings.Join(shown, ", ")
	if more := len(keys) - most; more > 0 {
		list += " and " + Number(more) + " more"
	}
	return list
}
