// Package lint says what is wrong with a directory of memories, by rule, place and
// cure: front matter that is read otherwise than it was meant, links that lead nowhere,
// an index that an agent is not told whole, twins, private things in the team's part,
// and claims that the checkout does not bear out.
//
// It is pure: texts, the time and a [Checkout] to ask come in, findings go out. A finding
// that can be mended with certainty carries the edits for it, by offset; nothing is ever
// mended by writing a file anew. Its rules are tripwires for people who look after a
// directory, and a finding may be wrong: that is why each shows its place.
//
// It holds the one door to a YAML library, which is a second opinion and never the
// reader. The command client memory lint calls it.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/client/curate"
)

// Severity says whether a finding fails a run.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // an agent misses or misreads something
	Warning Severity = "warning" // it is likely wrong, or will be
	Note    Severity = "note"    // worth a look; does not fail
)

// Finding is one thing found.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Key      api.Key  `json:"key"`
	Line     int      `json:"line"` // from 1; 0: the file as a whole
	Message  string   `json:"message"`
	Cure     string   `json:"cure"`
	Fixable  bool     `json:"fixable"`

	edits []edit
}

// edit replaces a piece of the file that a finding stands in, or of another.
type edit struct {
	key            api.Key
	offset, length int
	text           string
}

// Input is what is looked at.
type Input struct {
	Library curate.Library
	Now     time.Time
	// Scan finds what belongs to one machine or person.
	Scan func(key api.Key, text []byte) ([]scan.Finding, error)
	// Checkout holds claims against the project; nil where there is none.
	Checkout Checkout
}

// file is one text that is looked at.
type file struct {
	memory.Memory
	index bool
	text  []byte
	prose []byte
	lines []int // where each line begins
}

// linter is one run.
type linter struct {
	Input
	files    []*file
	keys     map[api.Key]*file
	folded   map[string][]api.Key // the memories, by their folded keys
	missed   map[api.Key]bool     // what could not be read: it is there
	names    memory.Names
	findings []Finding
}

// Run looks at everything. The findings are in the order of files and lines. An error
// means that a file could not be read or the checkout not be asked.
func Run(in Input) ([]Finding, error) {
	l := &linter{
		Input: in, names: memory.NewNames(in.Library.List.Memories),
		keys: map[api.Key]*file{}, folded: map[string][]api.Key{}, missed: map[api.Key]bool{},
	}
	if err := l.read(); err != nil {
		return nil, err
	}
	for _, f := range l.files {
		if f.index {
			l.indexFile(f)
		} else {
			l.topic(f)
		}
		l.links(f)
		if err := l.scope(f); err != nil {
			return nil, err
		}
	}
	l.orphans()
	l.twins()
	if err := l.claims(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(l.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return bearable(l.findings), nil
}

// mostOfARule is how many findings of one rule are told of one file. A text that breaks
// a rule on every line has one fault, and thousands of lines that say so hide the others.
const mostOfARule = 100

// bearable drops what goes beyond that, and says so in the last finding that stays. What
// can be mended always stays.
func bearable(findings []Finding) []Finding {
	type which struct {
		key  api.Key
		rule string
	}
	count, last, dropped := map[which]int{}, map[which]int{}, map[which]int{}
	kept := findings[:0]
	for _, f := range findings {
		w := which{f.Key, f.Rule}
		if count[w]++; count[w] <= mostOfARule {
			last[w] = len(kept)
		} else if !f.Fixable {
			dropped[w]++
			continue
		}
		kept = append(kept, f)
	}
	for w, n := range dropped {
		kept[last[w]].Message += fmt.Sprintf("; %d more of this rule in this file are not listed", n)
	}
	return kept
}

func (l *linter) read() error {
	for _, m := range l.Library.List.Missed {
		l.missed[m.Key] = true
	}
	add := func(m memory.Memory, index bool) error {
		text, err := l.Library.Read(m.Key)
		if err != nil {
			return fmt.Errorf("lint: %w", err)
		}
		f := &file{m, index, text, memory.Prose(text), beginnings(text)}
		l.files = append(l.files, f)
		l.keys[m.Key] = f
		if !index {
			folded := memory.Fold(string(m.Key))
			l.folded[folded] = append(l.folded[folded], m.Key)
		}
		return nil
	}
	for _, m := range l.Library.List.Memories {
		if err := add(m, false); err != nil {
			return err
		}
	}
	for _, key := range l.Library.List.Indexes {
		if err := add(memory.Memory{Key: key, Scope: l.Library.ScopeOf(key)}, true); err != nil {
			return err
		}
	}
	return nil
}

// find notes a finding. Edits make it fixable.
func (l *linter) find(f *file, rule string, severity Severity, line int, message, cure string, edits ...edit) {
	for i := range edits {
		if edits[i].key == "" {
			edits[i].key = f.Key
		}
	}
	l.findings = append(l.findings, Finding{rule, severity, f.Key, line, message, cure, len(edits) > 0, edits})
}

// beginnings are the offsets at which the lines of a text begin.
func beginnings(text []byte) []int {
	all := []int{0}
	for at, c := range text {
		if c == '\n' {
			all = append(all, at+1)
		}
	}
	return all
}

// lineOf is the line that an offset lies in, from 1.
func (f *file) lineOf(offset int) int {
	line, begins := slices.BinarySearch(f.lines, offset)
	if begins {
		line++
	}
	return line
}

// Fails reports whether a finding fails a run.
func (f Finding) Fails() bool { return f.Severity != Note }

// Fix works out what mending everything that is certain comes to.
func Fix(library curate.Library, findings []Finding) ([]curate.Change, error) {
	edits := map[api.Key][]edit{}
	for _, f := range findings {
		for _, e := range f.edits {
			edits[e.key] = append(edits[e.key], e)
		}
	}
	var changes []curate.Change
	for _, key := range api.SortedKeys(edits) {
		before, err := library.Read(key)
		if err != nil {
			return nil, fmt.Errorf("fix: %w", err)
		}
		changes = append(changes, curate.Change{Key: key, Before: before, After: mend(before, edits[key])})
	}
	return changes, nil
}

// mend carries out edits in the order of their places. Of two that overlap the first
// stands; the other is found again by the next run.
func mend(text []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.offset, b.offset) })
	out := []byte{} // nil would say that the file goes
	at := 0
	for _, e := range edits {
		if e.offset < at {
			continue
		}
		out = append(append(out, text[at:e.offset]...), e.text...)
		at = e.offset + e.length
	}
	return append(out, text[at:]...)
}
