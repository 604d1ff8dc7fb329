package scan

import "slices"

// ahead is what may stand behind a lead: for the first bytes what each may be, and in
// how many at the most the first must come that is no part of prose. It errs on the
// side of matching, like a machine, and costs a fraction of one: most leads in prose
// are words that go on otherwise.
type ahead struct {
	may [beyond + 1]uint16 // by byte: a bit for each place, and mayBreak
	// reach is how many bytes of prose may come; 0: nobody knows.
	reach int
}

const (
	// lookahead is how many bytes are looked at one by one.
	lookahead = 8
	// aheadAfter is how often a lead must be met before it pays to find out: a program
	// that reads a few hundred files should not.
	aheadAfter = 400
	// mayBreak: it may be the first that is no part of prose.
	mayBreak = 1 << 15
	// longestReach bounds how far that is looked for.
	longestReach = 64
)

// prosaic are the bytes of words and what stands between them.
var prosaic = func() (set [256]bool) {
	for c := range set[:beyond] {
		set[c] = isAlnum(byte(c)) || c == ' ' || c == '_' || c == '-' || c == '.'
	}
	return set
}()

// rulesOut reports whether what stands behind a lead ends every match that could
// begin with it, and how many bytes tell.
func (a *ahead) rulesOut(behind []byte) (out bool, read int) {
	for k, c := range behind[:min(len(behind), lookahead)] {
		if c >= beyond {
			return false, 0
		}
		if a.may[c]&(1<<k) == 0 {
			return true, k + 1
		}
	}
	if a.reach == 0 {
		return false, 0
	}
	for k, c := range behind[:min(len(behind), a.reach)] {
		if !prosaic[c] {
			return a.may[min(c, beyond)]&mayBreak == 0, k + 1
		}
	}
	return true, a.reach // the text ends in prose, or goes on as such for too long
}

// look finds what may stand behind a lead: the word, with back characters of any kind
// before it.
func (m *machine) look(word string, back int) *ahead {
	a := &ahead{}
	all := func([]bool) bool { return true }
	set, accept := m.closure([]uint32{m.first})
	for range back {
		set, _ = m.after(set, all)
	}
	for _, c := range []byte(word) {
		lower, upper := m.class[c], m.class[c]
		if 'a' <= c && c <= 'z' {
			upper = m.class[c-'a'+'A']
		}
		set, accept = m.after(set, func(takes []bool) bool { return takes[lower] || takes[upper] })
	}
	a.stretch(m, set, accept)
	for k := range lookahead {
		a.allow(m, set, accept, 1<<k, func(int) bool { return true })
		more := false
		set, more = m.after(set, all)
		accept = accept || more
	}
	return a
}

// allow gives the bit to the bytes that the set takes, or to all where a match has
// ended by then.
func (a *ahead) allow(m *machine, set []uint32, accept bool, bit uint16, of func(c int) bool) {
	var takes [beyond + 1]bool // by class
	for class := range m.classes {
		takes[class] = accept || slices.ContainsFunc(set, func(pc uint32) bool { return m.takes[pc][class] })
	}
	for c := range a.may {
		if takes[m.class[c]] && of(c) {
			a.may[c] |= bit
		}
	}
}

// stretch finds how long a match can go on in prose, and what ends that.
func (a *ahead) stretch(m *machine, set []uint32, accept bool) {
	var classes []uint8
	for c := range m.class {
		if prosaic[c] && !slices.Contains(classes, m.class[c]) {
			classes = append(classes, m.class[c])
		}
	}
	prose := func(takes []bool) bool {
		return slices.ContainsFunc(classes, func(class uint8) bool { return takes[class] })
	}
	n := 0
	for ; len(set) > 0; n++ {
		if accept || n > longestReach {
			return // it needs no other byte, or one far away
		}
		a.allow(m, set, false, mayBreak, func(c int) bool { return !prosaic[c] })
		set, accept = m.after(set, prose)
	}
	if !accept {
		a.reach = n
	}
}

// after is where the instructions of a set lead, those that takes says.
func (m *machine) after(set []uint32, takes func([]bool) bool) (next []uint32, accept bool) {
	var out []uint32
	for _, pc := range set {
		if takes(m.takes[pc]) {
			out = append(out, m.inst[pc].Out)
		}
	}
	return m.closure(out)
}

// closure is what a set leads to without taking a character: the instructions that
// take one, and whether a match can end.
func (m *machine) closure(from []uint32) (set []uint32, accept bool) {
	m.queue = m.queue[:0]
	for _, pc := range from {
		if m.follow(pc) {
			accept = true
		}
	}
	for _, pc := range m.queue {
		m.mark[pc] = false
		if m.takes[pc] != nil {
			set = append(set, pc)
		}
	}
	m.queue = m.queue[:0]
	return set, accept
}
