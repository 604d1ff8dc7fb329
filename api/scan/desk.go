package scan

import (
	"bytes"
)

// desk is what one scan works with. Desks are kept in a pool, so that a busy
// server does not build its machines anew, and a client at rest gives them back.
type desk struct {
	*Scanner
	machines []*machine // by start
	met      map[meeting]standing
	trail    []step         // of the run that is under way
	needed   map[int]needed // by start, in this view
	spent    effort
	found    []Finding
	counts   []int // findings by rule, in this scan
	behind   []int // by rule: where its last finding of this view ends
	windows  []window
	// By depth of encoding: the text, and what became of it.
	plain     [deepest + 1]view
	unescaped [deepest + 1][unescapings]view
	quoted    [deepest + 1]view
	joined    [deepest + 1]view
	decoded   [deepest + 1][]byte
	key       bool
	depth     int
}

// effort is the work of one scan, and its bound.
type effort struct {
	steps, mostSteps int // of machines, in characters
	exact, mostExact int // bytes given to regular expressions
}

// The bounds, per byte of content and at the least. A character costs a machine
// some nanoseconds, a regular expression some sixty; so a line of 250,000 bytes ends
// within 100 ms. Notes take eight steps a byte at the most, and hardly any exact ones.
const (
	stepsPerByte, leastSteps = 28, 1 << 20
	exactPerByte, leastExact = 1, 256 << 10
)

// mostOfARule bounds how often one rule is reported of one entry: who has read
// hundreds needs no more, and none of them passes for that.
const mostOfARule = 500

// unescapings is how often a text is unescaped: escapes are put into one another.
const unescapings = 3

func newDesk(s *Scanner) *desk {
	return &desk{
		Scanner: s, machines: make([]*machine, len(s.starts)), met: map[meeting]standing{}, needed: map[int]needed{},
		counts: make([]int, len(s.rules)), behind: make([]int, len(s.rules)),
	}
}

// needed is where a start's needs were found: searched from, a word's end. -1: there is
// none. A word may begin as late as least bytes before its end.
type needed struct{ from, end, least int }

// machine is that of a start.
func (d *desk) machine(start int) *machine {
	if d.machines[start] == nil {
		d.machines[start] = newMachine(d.starts[start].program())
	}
	return d.machines[start]
}

// scan reads the key and the content.
func (d *desk) scan(key string, content []byte) ([]Finding, error) {
	clear(d.counts)
	d.found, d.depth = nil, 0
	d.spent = effort{
		mostSteps: leastSteps + stepsPerByte*(len(content)+len(key)),
		mostExact: leastExact + exactPerByte*(len(content)+len(key)),
	}
	inKey, err := d.scanText([]byte(key), true)
	if err != nil {
		return nil, err
	}
	found, err := d.scanText(content, false)
	if err != nil {
		return nil, err
	}
	d.trim()
	return append(inKey, found...), nil
}

// scanText reads one of the two texts of an entry.
func (d *desk) scanText(text []byte, key bool) ([]Finding, error) {
	d.key, d.found = key, []Finding{}
	readings := [][]byte{text}
	if key {
		// In a name underscores and dots separate as well as belong.
		readings = append(readings, bytes.Map(func(r rune) rune {
			if r == '_' || r == '.' {
				return ' '
			}
			return r
		}, text))
	}
	for _, reading := range readings {
		if err := d.read(view{text: reading}); err != nil {
			return nil, err
		}
	}
	d.found = append(d.found, hiddenIn(d.Scanner, text, key)...)
	found := settle(d.found)
	place(found, text, key)
	return found, nil
}

// trim gives back what an unusually large text needed.
func (d *desk) trim() {
	const most = 1 << 20
	for depth := range d.joined {
		d.plain[depth].text = nil
		d.plain[depth].trim(most)
		d.quoted[depth].trim(most)
		d.joined[depth].trim(most)
		for level := range d.unescaped[depth] {
			d.unescaped[depth][level].trim(most)
		}
		if cap(d.decoded[depth]) > most {
			d.decoded[depth] = nil
		}
	}
	if len(d.met) > most/256 {
		d.met = map[meeting]standing{}
	}
	d.found = nil
}

// read applies the rules to a text, to what it says unescaped, as a mail's text and
// joined, and to what is encoded in any of these.
func (d *desk) read(text view) error {
	plain := &d.plain[d.depth]
	text.tried = plain.tried[:0]
	*plain = text
	if err := d.consider(plain); err != nil {
		return err
	}
	v := plain
	for level := range unescapings {
		next := &d.unescaped[d.depth][level]
		next.reset(v)
		if !unescape(next) {
			break
		}
		if err := d.consider(next); err != nil {
			return err
		}
		v = next
	}
	readings := append(make([]*view, 0, 3), plain)
	if v != plain {
		readings = append(readings, v)
	}
	quoted := &d.quoted[d.depth]
	if quoted.reset(plain); quotedPrintable(quoted) {
		if err := d.consider(quoted); err != nil {
			return err
		}
		readings = append(readings, quoted)
	}
	joined := &d.joined[d.depth]
	for _, w := range readings {
		if joined.reset(w); join(joined) {
			if err := d.consider(joined); err != nil {
				return err
			}
		}
	}
	return nil
}

// consider applies the rules to one view and reads what is encoded in it.
func (d *desk) consider(v *view) error {
	if err := d.match(v); err != nil {
		return err
	}
	if d.depth == deepest {
		return nil
	}
	return d.decode(v)
}

// decode reads what is base64 in the view.
func (d *desk) decode(v *view) (err error) {
	done := 0
	eachEncoded(v, func(from, to int) bool {
		if from < done {
			return true // inside of what was decoded
		}
		buf, used := decodeText(d.decoded[d.depth][:0], v.text[from:to])
		d.decoded[d.depth] = buf
		d.spent.steps += used
		if len(buf) < shortestDecoded || !mostlyText(buf) {
			return true
		}
		done = from + used
		text := append([]byte(nil), buf...)
		d.depth++
		err = d.read(view{text: text, parent: v, step: 4, from: from})
		d.depth--
		return err == nil
	})
	return err
}
