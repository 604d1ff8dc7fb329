package scan

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

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
