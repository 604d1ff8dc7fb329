package scan

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"
)

// desk is what one scan works with. Desks are kept in a pool, so that a busy
// server does not build its machines anew, and a client at rest gives them back.
type desk struct {
	*Scanner
	machines []*machine // by start
	met      map[meeting]standing
	trail    []step // of the run that is under way
	spent    effort
	found    []Finding
	counts   []int // findings by rule, in this scan
	behind   []int // by rule: where its last finding of this view ends
	windows  []window
	// By depth of encoding: what became of the text.
	unescaped [deepest + 1][unescapings]view
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
// some nanoseconds, a regular expression some sixty.
const (
	stepsPerByte, leastSteps = 40, 1 << 20
	exactPerByte, leastExact = 2, 256 << 10
)

// mostOfARule bounds how often one rule is reported of one entry: who has read
// hundreds needs no more, and none of them passes for that.
const mostOfARule = 500

// extra is how far beyond the first end of a match a longer one is looked for, and
// extraLong the same for values of many lines.
const (
	extra     = 512
	extraLong = 8 << 10
)

// meeting is a place in a view and a machine. Of a run that found nothing the states
// at some places are remembered: another run that comes to one of them in the same
// state has the same future, and ends there. So runs without an end of their own cost
// no more together than the text is long.
type meeting struct{ start, at int32 }

// standing is a state of a machine, whose numbers mean something within one
// generation only.
type standing struct {
	state      int32
	generation int
}

// step is where a run was at a place.
type step struct {
	place meeting
	standing
}

const meetEvery = 64

// unescapings is how often a text is unescaped: escapes are put into one another.
const unescapings = 3

// window is the surroundings of a keyword, for a rule that no literal leads.
type window struct{ start, from, to int }

const nearby = 256

func newDesk(s *Scanner) *desk {
	return &desk{
		Scanner: s, machines: make([]*machine, len(s.starts)), met: map[meeting]standing{},
		counts: make([]int, len(s.rules)), behind: make([]int, len(s.rules)),
	}
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
		if err := d.read(&view{text: reading}); err != nil {
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

// read applies the rules to a text, to what it says unescaped and joined, and to
// what is encoded in any of these.
func (d *desk) read(v *view) error {
	if err := d.consider(v); err != nil {
		return err
	}
	plain := v
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
	joined := &d.joined[d.depth]
	for _, w := range []*view{plain, v} {
		if joined.reset(w); join(joined) {
			if err := d.consider(joined); err != nil {
				return err
			}
		}
		if v == plain {
			break
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
		err = d.read(&view{text: text, parent: v, step: 4, from: from})
		d.depth--
		return err == nil
	})
	return err
}

// match applies the rules to one view.
func (d *desk) match(v *view) (err error) {
	clear(d.met)
	clear(d.behind)
	d.windows = d.windows[:0]
	d.literals.find(v.text, func(end int, ids []uint16) bool {
		for _, id := range ids {
			lead := d.leads[id]
			if err = d.try(v, lead, end-lead.width); err != nil {
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	return d.search(v)
}

// try looks for a match of the lead's rule that begins at.
func (d *desk) try(v *view, lead lead, at int) error {
	st := d.starts[lead.start]
	r := st.rule
	switch {
	case at < 0 || at < d.behind[r.index] || d.counts[r.index] >= mostOfARule || r.values.keyOnly && !d.key:
		return nil
	case st.near:
		d.windows = append(d.windows, window{lead.start, max(0, at-nearby), min(len(v.text), at+nearby)})
		return nil
	case st.left != noBoundary && at > 0 && glued(v, at, st.left):
		return nil
	}
	last, stop := d.run(v.text, lead.start, at)
	if d.spent.steps > d.spent.mostSteps {
		return ErrTooDense
	}
	if last < 0 {
		return nil
	}
	if v.parent == nil || v.step > 0 {
		_, err := d.confirm(v, st, at, min(stop, last+8), nil)
		return err
	}
	edits := v.editsIn(at, last)
	if len(edits) == 0 {
		return nil // it stands in the parent as it is
	}
	found, err := d.confirm(v, st, at, min(stop, last+8), edits)
	for i := len(edits) - 1; i >= 0 && !found && err == nil; i-- {
		if e := edits[i]; e.kind != decoded && int(e.at) > at {
			found, err = d.confirm(v, st, at, int(e.at), edits[:i])
		}
	}
	return err
}

// glued reports whether what stands before at belongs to the same word or token.
func glued(v *view, at int, left boundary) bool {
	c := v.text[at-1]
	if !isWord(c) && (left == wordBoundary || c != '.' && c != '-' && c != '~') {
		return false
	}
	return !slices.ContainsFunc(v.editsIn(at, at), func(e edit) bool { return e.kind != decoded })
}

// run lets the start's machine read from at. last is the end of the longest match
// seen, or -1, and stop where it ended reading.
func (d *desk) run(text []byte, start, at int) (last, stop int) {
	m := d.machines[start]
	if m == nil {
		m = newMachine(d.starts[start].program())
		d.machines[start] = m
	}
	beyondFirst := extra
	if d.starts[start].rule.long {
		beyondFirst = extraLong
	}
	last = -1
	state, limit := initial, len(text)
	i, trail := at, d.trail[:0]
	for i < limit {
		class, width := int(m.class[beyond]), 1
		if c := text[i]; c < beyond {
			class = int(m.class[c])
		} else {
			_, width = utf8.DecodeRune(text[i:])
		}
		to := m.next[int(state)*m.classes+class]
		if to == unknown {
			to = m.build(state, class)
		}
		i += width
		if state = to; state == dead {
			break
		}
		if m.accept[state] {
			if last < 0 {
				limit = min(limit, i+beyondFirst)
			}
			last = i
		}
		if i%meetEvery == 0 && last < 0 && i-at > meetEvery {
			here := step{meeting{int32(start), int32(i)}, standing{state, m.generation}}
			if d.met[here.place] == here.standing {
				break
			}
			trail = append(trail, here)
		}
	}
	if last < 0 {
		for _, s := range trail {
			d.met[s.place] = s.standing
		}
	}
	d.trail = trail[:0]
	d.spent.steps += i - at + 8
	return last, i
}

// confirm asks the regular expression itself about text[at:to], judges the value
// and records the finding.
func (d *desk) confirm(v *view, st *start, at, to int, edits []edit) (found bool, err error) {
	if st.rule.values.needsDigit && !bytes.ContainsFunc(v.text[at:to], isDigit) {
		return false, nil
	}
	if d.spent.exact += to - at + 8; d.spent.exact > d.spent.mostExact {
		return false, ErrTooDense
	}
	loc := st.regexp().FindSubmatchIndex(v.text[at:to])
	if loc == nil {
		return false, nil
	}
	for i := range loc {
		if loc[i] >= 0 {
			loc[i] += at
		}
	}
	return d.judge(v, st.rule, loc, edits), nil
}

// search applies the rules that no literal leads to the surroundings of their
// keywords.
func (d *desk) search(v *view) error {
	slices.SortFunc(d.windows, func(a, b window) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.from, b.from))
	})
	for i := 0; i < len(d.windows); {
		w := d.windows[i]
		for i++; i < len(d.windows) && d.windows[i].start == w.start && d.windows[i].from <= w.to; i++ {
			w.to = d.windows[i].to
		}
		if err := d.searchIn(v, w.start, w.from, w.to); err != nil {
			return err
		}
		for _, e := range v.editsIn(w.from, w.to) {
			if e.kind == decoded || int(e.at) == w.from {
				continue
			}
			if err := d.searchIn(v, w.start, w.from, int(e.at)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *desk) searchIn(v *view, start, from, to int) error {
	if d.spent.exact += to - from; d.spent.exact > d.spent.mostExact {
		return ErrTooDense
	}
	st := d.starts[start]
	for _, loc := range st.regexp().FindAllSubmatchIndex(v.text[from:to], -1) {
		for k := range loc {
			if loc[k] >= 0 {
				loc[k] += from
			}
		}
		if d.counts[st.rule.index] < mostOfARule {
			d.judge(v, st.rule, loc, nil)
		}
	}
	return nil
}
