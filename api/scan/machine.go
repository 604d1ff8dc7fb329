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
		c.re = regexp.MustCompile(anchor + "(?:" + st.tree().String() + ")")
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
	seen := map[string][]bool{}
	for pc := range p.inst {
		in := &p.inst[pc]
		switch in.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		default:
			continue
		}
		id := string(rune(in.Op)) + string(rune(in.Arg)) + string(in.Rune)
		if seen[id] == nil {
			seen[id] = charactersOf(in)
		}
		p.takes[pc] = seen[id]
	}
	classOf := map[string]uint8{}
	sets := make([][]bool, 0, len(seen))
	for _, set := range seen {
		sets = append(sets, set)
	}
	classSets := make(map[*bool][]bool, len(sets))
	signature := make([]byte, len(sets))
	for c := range p.class {
		for i, set := range sets {
			signature[i] = 0
			if set[c] {
				signature[i] = 1
			}
		}
		class, ok := classOf[string(signature)]
		if !ok {
			class = uint8(len(classOf))
			classOf[string(signature)] = class
			for i, set := range sets {
				classSets[&set[0]] = append(classSets[&set[0]], signature[i] == 1)
			}
		}
		p.class[c] = class
	}
	p.classes = len(classOf)
	for pc, set := range p.takes {
		if set != nil {
			p.takes[pc] = classSets[&set[0]]
		}
	}
}

// charactersOf lists which ASCII characters an instruction takes, and at the end
// whether it takes any other.
func charactersOf(in *syntax.Inst) []bool {
	set := make([]bool, utf8.RuneSelf+1)
	for c := range rune(utf8.RuneSelf) {
		set[c] = in.MatchRune(c)
	}
	switch in.Op {
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		set[beyond] = true
	default:
		// A single rune may ignore case, and k and s have such relatives.
		set[beyond] = in.Rune[len(in.Rune)-1] >= utf8.RuneSelf || in.MatchRune(0x17F) || in.MatchRune(0x212A)
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
	for range m.classes {
		m.next = append(m.next, unknown)
	}
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
