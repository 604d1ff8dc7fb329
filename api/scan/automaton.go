package scan

import "slices"

// literal is a word to look for, lower case ASCII, and the number reported for it.
type literal struct {
	word string
	id   int
}

// automaton finds all literals of a set in one pass (Aho and Corasick, 1975), with
// ASCII letters of either case alike. It is a dense table over classes of bytes:
// on these rules several times as fast as the libraries, which walk single bytes
// of a text that had to be lowered first (../shared/measurements.md).
type automaton struct {
	class   [256]uint8
	classes int
	next    []uint16 // state × class
	// States from firstOut on report something: the numbers out[state-firstOut].
	firstOut int
	out      [][]uint16
}

// newAutomaton builds the table. Empty words are not allowed.
func newAutomaton(words []literal) *automaton {
	a := &automaton{classes: 1} // class 0: bytes that occur in no word
	for _, w := range words {
		for _, c := range []byte(w.word) {
			if a.class[c] == 0 {
				a.class[c] = uint8(a.classes)
				a.classes++
			}
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		a.class[c-'a'+'A'] = a.class[c]
	}
	t := newTrie(words, a)
	t.link(a.classes)
	a.renumber(t)
	return a
}

// trie is the automaton while it is built.
type trie struct {
	next [][]int
	out  [][]uint16
}

func newTrie(words []literal, a *automaton) *trie {
	t := &trie{}
	t.grow(a.classes)
	for _, w := range words {
		at := 0
		for _, c := range []byte(w.word) {
			class := a.class[c]
			if t.next[at][class] < 0 {
				t.next[at][class] = t.grow(a.classes)
			}
			at = t.next[at][class]
		}
		if id := uint16(w.id); !slices.Contains(t.out[at], id) {
			t.out[at] = append(t.out[at], id)
		}
	}
	return t
}

func (t *trie) grow(classes int) int {
	row := make([]int, classes)
	for i := range row {
		row[i] = -1
	}
	t.next, t.out = append(t.next, row), append(t.out, nil)
	return len(t.next) - 1
}

// link fills in the transitions of mismatches, breadth first, and adds to each
// state what its longest proper suffix reports.
func (t *trie) link(classes int) {
	fail := make([]int, len(t.next))
	var queue []int
	for c := range classes {
		if child := t.next[0][c]; child > 0 {
			queue = append(queue, child)
		} else {
			t.next[0][c] = 0
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		t.out[at] = append(t.out[at], t.out[fail[at]]...)
		for c := range classes {
			child := t.next[at][c]
			if child < 0 {
				t.next[at][c] = t.next[fail[at]][c]
				continue
			}
			fail[child] = t.next[fail[at]][c]
			queue = append(queue, child)
		}
	}
}

// renumber puts the reporting states last, so that the loop over a text asks one
// comparison a byte.
func (a *automaton) renumber(t *trie) {
	number := make([]int, len(t.next))
	var order []int
	for _, reports := range []bool{false, true} {
		if reports {
			a.firstOut = len(order)
		}
		for at := range t.next {
			if (len(t.out[at]) > 0) == reports {
				number[at] = len(order)
				order = append(order, at)
			}
		}
	}
	a.next = make([]uint16, 0, len(order)*a.classes)
	for i, at := range order {
		for _, to := range t.next[at] {
			a.next = append(a.next, uint16(number[to]))
		}
		if i >= a.firstOut {
			a.out = append(a.out, t.out[at])
		}
	}
}

// find calls hit for each literal found, with the place behind its last byte.
// It stops when hit says so.
func (a *automaton) find(text []byte, hit func(end int, ids []uint16) bool) {
	state, classes, next := 0, a.classes, a.next
	for i, c := range text {
		state = int(next[state*classes+int(a.class[c])])
		if state >= a.firstOut && !hit(i+1, a.out[state-a.firstOut]) {
			return
		}
	}
}
