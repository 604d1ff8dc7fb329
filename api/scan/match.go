package scan

import (
	"slices"
	"unicode/utf8"
)

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

// match applies the rules to one view. In one that was made from another by edits, a
// match that has none stands in the other as well; so only what an edit can have
// changed is looked at.
func (d *desk) match(v *view) error {
	if v.copies() {
		return d.matchEdited(v)
	}
	return d.matchWhole(v)
}

// matchWhole looks for the leads in all of the text.
func (d *desk) matchWhole(v *view) (err error) {
	d.begin(v)
	d.literals.find(v.text, 0, len(v.text), func(end int, ids []uint16) bool {
		for _, id := range ids {
			if err = d.try(v, id, end-len(d.leads[id].word)); err != nil {
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

// begin makes the desk ready for another view.
func (d *desk) begin(v *view) {
	clear(d.met)
	clear(d.needed)
	clear(d.behind)
	d.windows, v.tried = d.windows[:0], v.tried[:0]
}

// try looks for a match of a lead's rule; word is where the lead's word begins. How
// far it read to find none is noted in the view.
func (d *desk) try(v *view, id uint16, word int) error {
	lead := d.leads[id]
	st := d.starts[lead.start]
	if st.rule.values.keyOnly && !d.key {
		return nil
	}
	read, err := d.tryAt(v, lead, word-st.back)
	v.tried = append(v.tried, tried{id, int32(word), int32(min(read, len(v.text)))})
	return err
}

// tryAt looks for a match that begins at. Whatever stands at or behind the place that
// it returns had no say in the outcome.
func (d *desk) tryAt(v *view, lead *lead, at int) (read int, err error) {
	st := d.starts[lead.start]
	all := len(v.text) + 1 // nobody knows
	switch {
	case at < 0 || at < d.behind[st.rule.index] || d.counts[st.rule.index] >= mostOfARule:
		return all, nil
	case st.near:
		d.windows = append(d.windows, window{lead.start, max(0, at-nearby), min(len(v.text), at+nearby)})
		return all, nil
	}
	if out, read := d.ruledOut(v.text[at+lead.width:], lead); out {
		return at + lead.width + read, nil
	}
	switch {
	case st.left != noBoundary && at > 0 && glued(v, at, st.left):
		return at, nil
	case st.needs != nil && d.needless(v.text, st, at):
		return all, nil
	}
	last, stop := d.run(v.text, lead.start, at)
	if d.spent.steps > d.spent.mostSteps {
		return all, ErrTooDense
	}
	if last >= 0 {
		err = d.ask(v, st, at, last, min(stop, last+8))
	}
	return stop, err
}

// ask has the regular expression tell whether there is a match, up to the place to.
// The machine has seen one up to last.
func (d *desk) ask(v *view, st *start, at, last, to int) error {
	if !v.copies() {
		_, err := d.confirm(v, st, at, to, nil)
		return err
	}
	edits := v.editsIn(at, last)
	if len(edits) == 0 {
		return nil // it stands in the parent as it is
	}
	found, err := d.confirm(v, st, at, to, edits)
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

// ruledOut reports whether the bytes behind a lead end every match that could begin
// with it, and how many of them tell.
func (d *desk) ruledOut(behind []byte, lead *lead) (out bool, read int) {
	ahead := lead.ahead.Load()
	if ahead == nil {
		if lead.met.Add(1) < aheadAfter {
			return false, 0
		}
		ahead = d.machine(lead.start).look(lead.word, lead.width-len(lead.word))
		lead.ahead.Store(ahead)
	}
	return ahead.rulesOut(behind)
}

// needless reports whether what every match of the start ends with is nowhere behind
// at. The place found is remembered, so that a view is searched once.
func (d *desk) needless(text []byte, st *start, at int) bool {
	need, ok := d.needed[st.index]
	if !ok || at < need.from || need.end >= 0 && at > need.from && need.end-at < need.least {
		words := st.needs.literals()
		need = needed{from: at, end: words.first(text, at), least: words.shortest}
		d.spent.steps += len(text) - at
		if need.end >= 0 {
			d.spent.steps -= len(text) - need.end
		}
		d.needed[st.index] = need
	}
	return need.end < 0
}

// run lets the start's machine read from at. last is the end of the longest match
// seen, or -1, and stop where it ended reading, the text's length where that is
// further than it went itself.
func (d *desk) run(text []byte, start, at int) (last, stop int) {
	m := d.machine(start)
	beyondFirst := extra
	if d.starts[start].rule.long {
		beyondFirst = extraLong
	}
	last = -1
	state, limit := initial, len(text)
	// The tables in hand; build may replace the one that grows.
	classOf, classes, next := &m.class, m.classes, m.next
	i, trail := at, d.trail[:0]
	for i < limit {
		c, width := text[i], 1
		if c >= beyond {
			_, width = utf8.DecodeRune(text[i:])
			c = beyond
		}
		class := int(classOf[c])
		to := next[int(state)*classes+class]
		if to == unknown {
			to = m.build(state, class)
			next = m.next
		}
		i += width
		if state = to &^ accepting; state == dead {
			break
		}
		if to&accepting != 0 {
			if last < 0 {
				limit = min(limit, i+beyondFirst)
			}
			last = i
		}
		if i%meetEvery == 0 && last < 0 && i-at > meetEvery {
			here := step{meeting{int32(start), int32(i)}, standing{state, m.generation}}
			if d.met[here.place] == here.standing {
				d.spent.steps += i - at + 8
				d.remember(trail)
				return -1, len(text)
			}
			trail = append(trail, here)
		}
	}
	if last < 0 {
		d.remember(trail)
	}
	d.trail = trail[:0]
	d.spent.steps += i - at + 8
	return last, i
}

// remember keeps where a run was that found nothing.
func (d *desk) remember(trail []step) {
	for _, s := range trail {
		d.met[s.place] = s.standing
	}
	d.trail = trail[:0]
}

// confirm asks the regular expression itself about text[at:to], judges the value
// and records the finding.
func (d *desk) confirm(v *view, st *start, at, to int, edits []edit) (found bool, err error) {
	if st.rule.values.needsDigit && !hasDigit(v.text[at:to]) {
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
