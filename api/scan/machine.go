package scan

import (
	"encoding/binary"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
)

// compiled is what a start turns into when its literal is first seen.
type compiled struct {
	once  sync.Once
	prog  *program
	exact struct {
		once sync.Once
		re   *regexp.Regexp
	}
}

func (st *start) program() *program {
	st.compiled.once.Do(func() { st.compiled.prog = newProgram(st.tree()) })
	return st.compiled.prog
}

// regexp is the expression itself, anchored at the start unless it is tried in
// the surroundings of a keyword.
func (st *start) regexp() *regexp.Regexp {
	c := &st.compiled.exact
	c.once.Do(func() {
		anchor := `\A`
		if st.near {
			anchor = ""
		}
		text := st.expression
		if text == "" {
			text = st.tree().String()
		}
		c.re = regexp.MustCompile(anchor + "(?:" + text + ")")
	})
	return c.re
}

// machine runs a program over bytes as a deterministic automaton that is built as
// far as it is needed. It belongs to one desk.
type machine struct {
	*program
	next   []int32    // state × class; 0 is not yet known
	accept []bool     // by state
	sets   [][]uint32 // by state: the instructions it stands for
	index  map[string]int32
	// generation counts how often the states were thrown away.
	generation int

	queue []uint32
	mark  []bool
	id    []byte
}

const (
	unknown    int32 = 0
	dead       int32 = 1
	initial    int32 = 2
	mostStates       = 4000
	// accepting is set in a transition to a state in which a match may end.
	accepting int32 = 1 << 30
)

func newMachine(p *program) *machine {
	m := &machine{program: p, mark: make([]bool, len(p.inst))}
	m.clear()
	return m
}

// clear forgets all states but the two fixed ones.
func (m *machine) clear() {
	m.next, m.accept, m.sets = m.next[:0], m.accept[:0], m.sets[:0]
	m.index = map[string]int32{}
	m.generation++
	m.add(nil, false)           // unknown
	m.add(nil, false)           // dead
	m.queue = m.queue[:0]       // initial
	accept := m.follow(m.first) // initial
	m.intern(accept)
	for c := range m.classes {
		m.next[int(dead)*m.classes+c] = dead
	}
}

func (m *machine) add(set []uint32, accept bool) int32 {
	end := len(m.next) + m.classes
	m.next = slices.Grow(m.next, m.classes)[:end]
	clear(m.next[end-m.classes:]) // all unknown
	m.accept, m.sets = append(m.accept, accept), append(m.sets, set)
	return int32(len(m.sets) - 1)
}

// follow adds pc and all it leads to without taking a character to the queue.
func (m *machine) follow(pc uint32) (accept bool) {
	if m.mark[pc] {
		return false
	}
	m.mark[pc] = true
	m.queue = append(m.queue, pc)
	in := &m.inst[pc]
	switch in.Op {
	case syntax.InstMatch:
		return true
	case syntax.InstAlt, syntax.InstAltMatch:
		a := m.follow(in.Out)
		b := m.follow(in.Arg)
		return a || b
	case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
		return m.follow(in.Out)
	}
	return false
}

// intern turns the queue into a state and empties it.
func (m *machine) intern(accept bool) int32 {
	var set []uint32
	for _, pc := range m.queue {
		m.mark[pc] = false
		if m.takes[pc] != nil {
			set = append(set, pc)
		}
	}
	m.queue = m.queue[:0]
	if len(set) == 0 && !accept {
		return dead
	}
	slices.Sort(set)
	m.id = m.id[:0]
	if accept {
		m.id = append(m.id, 1)
	}
	for _, pc := range set {
		m.id = binary.LittleEndian.AppendUint32(m.id, pc)
	}
	if state, ok := m.index[string(m.id)]; ok {
		return state
	}
	state := m.add(set, accept)
	m.index[string(m.id)] = state
	return state
}

// marked is a state as transitions hold it, so that a run need not look it up.
func (m *machine) marked(state int32) int32 {
	if m.accept[state] {
		return state | accepting
	}
	return state
}

// build finds where class leads from state, as next holds it.
func (m *machine) build(state int32, class int) int32 {
	m.queue = m.queue[:0]
	accept := false
	for _, pc := range m.sets[state] {
		if m.takes[pc][class] && m.follow(m.inst[pc].Out) {
			accept = true
		}
	}
	if len(m.sets) >= mostStates {
		// Start over with the states met from here on.
		queue := slices.Clone(m.queue)
		for _, pc := range queue {
			m.mark[pc] = false
		}
		m.clear()
		for _, pc := range queue {
			m.mark[pc] = true
		}
		m.queue = append(m.queue[:0], queue...)
		return m.marked(m.intern(accept))
	}
	to := m.marked(m.intern(accept))
	m.next[int(state)*m.classes+class] = to
	return to
}
