package scan

import (
	"encoding/binary"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
	"unicode/utf8"
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

// program is an expression made ready for a [machine]: which instruction takes
// which class of characters. Assertions are taken to hold, and all characters
// beyond ASCII to be alike where one of them is taken, so a machine finds every
// match and some that are none.
type program struct {
	inst    []syntax.Inst
	first   uint32
	takes   [][]bool // by instruction, then by class; nil where nothing is taken
	class   [utf8.RuneSelf + 1]uint8
	classes int
}

// beyond is the index in program.class of all characters beyond ASCII.
const beyond = utf8.RuneSelf

func newProgram(tree *syntax.Regexp) *program {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		panic("scan: a parsed expression does not compile")
	}
	p := &program{inst: prog.Inst, first: uint32(prog.Start), takes: make([][]bool, len(prog.Inst))}
	p.classify()
	return p
}

// classify finds which characters no instruction tells apart. A counted repetition
// repeats its instruction, so equal ones are looked at once.
func (p *program) classify() {
	var sets []characters
	setOf := make([]int, len(p.inst)) // by instruction, from 1; 0: none
	before := -1
	for pc := range p.inst {
		in := &p.inst[pc]
		switch in.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		default:
			continue
		}
		if before >= 0 && same(&p.inst[before], in) {
			setOf[pc] = setOf[before]
			continue
		}
		before = pc
		set := charactersOf(in)
		at := slices.Index(sets, set)
		if at < 0 {
			at, sets = len(sets), append(sets, set)
		}
		setOf[pc] = at + 1
	}
	p.refine(sets)
	takes := make([]bool, len(sets)*p.classes)
	for c, class := range p.class {
		for i := range sets {
			takes[i*p.classes+int(class)] = sets[i].has(c)
		}
	}
	for pc, set := range setOf {
		if set > 0 {
			p.takes[pc] = takes[(set-1)*p.classes : set*p.classes]
		}
	}
}

// same reports whether two instructions take the same.
func same(a, b *syntax.Inst) bool {
	return a.Op == b.Op && a.Arg == b.Arg && slices.Equal(a.Rune, b.Rune)
}

// refine puts characters into one class that are in the same of the sets: each set
// splits the classes that it takes a part of.
func (p *program) refine(sets []characters) {
	p.classes = 1
	for i := range sets {
		var split [beyond + 1]uint8 // by class, what becomes of those in the set
		var in, out [beyond + 1]bool
		for c, class := range p.class {
			if sets[i].has(c) {
				in[class] = true
			} else {
				out[class] = true
			}
		}
		for class := range p.classes {
			if in[class] && out[class] {
				split[class] = uint8(p.classes)
				p.classes++
			}
		}
		for c, class := range p.class {
			if split[class] > 0 && sets[i].has(c) {
				p.class[c] = split[class]
			}
		}
	}
}

// characters is a set of ASCII characters, and whether any other is in it.
type characters struct {
	ascii [2]uint64
	other bool
}

func (s *characters) has(c int) bool {
	if c == beyond {
		return s.other
	}
	return s.ascii[c/64]&(1<<(c%64)) != 0
}

// charactersOf is which characters an instruction takes.
func charactersOf(in *syntax.Inst) (set characters) {
	if in.Op == syntax.InstRune && len(in.Rune) > 1 {
		for i := 0; i < len(in.Rune); i += 2 {
			for c := in.Rune[i]; c <= in.Rune[i+1] && c < utf8.RuneSelf; c++ {
				set.ascii[c/64] |= 1 << (c % 64)
			}
		}
		set.other = in.Rune[len(in.Rune)-1] >= utf8.RuneSelf
		return set
	}
	for c := range rune(utf8.RuneSelf) {
		if in.MatchRune(c) {
			set.ascii[c/64] |= 1 << (c % 64)
		}
	}
	switch in.Op {
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		set.other = true
	default:
		// A single rune may ignore case, and k and s have such relatives.
		set.other = in.Rune[len(in.Rune)-1] >= utf8.RuneSelf || in.MatchRune(0x17F) || in.MatchRune(0x212A)
	}
	return set
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
