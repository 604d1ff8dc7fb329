package scan

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"
)

// literal is a word to look for, lower case ASCII, and the number reported for it.
type literal struct {
	word string
	id   int
}

// literals finds all words of a set in one pass, with ASCII letters of either case
// alike. Most places of a text begin no word, and three bytes tell: a bit for each
// triple of classes of bytes, the newest shifted in, so that no byte waits for what
// the one before it led to. Where the bit is set the words are walked in a tree.
// An automaton that is never left (Aho and Corasick, 1975) reads the same text at a
// third of the rate, because each of its steps waits for the memory of the last.
type literals struct {
	class   [256]uint8 // 0: bytes that occur in no word
	width   uint       // bits of a class
	triples []uint64   // a bit set
	classes int
	next    []uint16 // state × class; 0: no word goes on so
	out     [][]uint16
	// shortest is the length of the shortest word. All words have the byte anchor, none
	// of a word of prose, at offset; 0: there is no such.
	shortest, offset int
	anchor           byte
}

// triple is how many bytes tell whether a word can begin.
const triple = 3

// newLiterals builds the tables. Empty words are not allowed.
func newLiterals(words []literal) *literals {
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(a, b literal) int { return strings.Compare(a.word, b.word) })
	l := &literals{classes: 1}
	for _, w := range words {
		for _, c := range []byte(w.word) {
			if l.class[c] == 0 {
				l.class[c] = uint8(l.classes)
				l.classes++
			}
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		l.class[c-'a'+'A'] = l.class[c]
	}
	l.width = uint(bits.Len(uint(l.classes - 1)))
	l.triples = make([]uint64, max(1, 1<<(triple*l.width)/64))
	states := statesOf(words)
	l.next, l.out = make([]uint16, 0, states*l.classes), make([][]uint16, 0, states)
	l.grow()
	for _, w := range words {
		l.add(w)
		if l.shortest == 0 || len(w.word) < l.shortest {
			l.shortest = len(w.word)
		}
	}
	l.findAnchor(words)
	return l
}

// statesOf is how many states the tree of sorted words has.
func statesOf(words []literal) int {
	states, before := 1, ""
	for _, w := range words {
		same := 0
		for same < min(len(w.word), len(before)) && w.word[same] == before[same] {
			same++
		}
		states, before = states+len(w.word)-same, w.word
	}
	return states
}

func (l *literals) findAnchor(words []literal) {
	for i := range l.shortest {
		c := words[0].word[i]
		if !isAlnum(c) && c > ' ' && !slices.ContainsFunc(words, func(w literal) bool { return w.word[i] != c }) {
			l.anchor, l.offset = c, i
			return
		}
	}
}

func (l *literals) grow() uint16 {
	l.next, l.out = l.next[:len(l.next)+l.classes], append(l.out, nil)
	return uint16(len(l.out) - 1)
}

func (l *literals) add(w literal) {
	at := uint16(0)
	for _, c := range []byte(w.word) {
		place := int(at)*l.classes + int(l.class[c])
		if l.next[place] == 0 {
			to := l.grow()
			l.next[place] = to
		}
		at = l.next[place]
	}
	if id := uint16(w.id); !slices.Contains(l.out[at], id) {
		l.out[at] = append(l.out[at], id)
	}
	l.mark(w.word, 0, 0)
}

// mark sets the bits of the triples that begin with a word; of a short one whatever
// follows it.
func (l *literals) mark(word string, bit uint, n int) {
	switch {
	case n == triple:
		l.triples[bit/64] |= 1 << (bit % 64)
	case n < len(word):
		l.mark(word, bit<<l.width|uint(l.class[word[n]]), n+1)
	default:
		for c := range uint(l.classes) {
			l.mark(word, bit<<l.width|c, n+1)
		}
	}
}

// find calls hit for each word that begins in text[from:to], with the place behind its
// last byte, in order of where they begin. It stops when hit says so.
func (l *literals) find(text []byte, from, to int, hit func(end int, ids []uint16) bool) {
	width, mask := l.width, uint(1)<<(triple*l.width)-1
	last := uint(0)
	for at := from; at < from+triple-1; at++ {
		last <<= width
		if at < len(text) {
			last |= uint(l.class[text[at]])
		}
	}
	// at is where a word would begin, and in what is ahead of it its third byte. The
	// end is padded with what occurs in none.
	ahead := text[min(from+triple-1, len(text)):]
	ahead = ahead[:max(0, min(len(ahead), to-from))]
	at := from
	for _, c := range ahead {
		last = (last<<width | uint(l.class[c])) & mask
		if l.triples[last/64]&(1<<(last%64)) != 0 && !l.walk(text, at, hit) {
			return
		}
		at++
	}
	for ; at < to; at++ {
		last = last << width & mask
		if l.triples[last/64]&(1<<(last%64)) != 0 && !l.walk(text, at, hit) {
			return
		}
	}
}

// walk reports the words that begin at.
func (l *literals) walk(text []byte, at int, hit func(end int, ids []uint16) bool) bool {
	state := 0
	for i := at; i < len(text); i++ {
		state = int(l.next[state*l.classes+int(l.class[text[i]])])
		if state == 0 {
			break
		}
		if ids := l.out[state]; ids != nil && !hit(i+1, ids) {
			return false
		}
	}
	return true
}

// first is where a word ends that stands at or behind at, and none begins before it;
// -1: there is none.
func (l *literals) first(text []byte, at int) (end int) {
	end = -1
	found := func(behind int, _ []uint16) bool {
		end = behind
		return false
	}
	if l.anchor == 0 {
		l.find(text, at, len(text), found)
		return end
	}
	for i := at + l.offset; i < len(text); i++ {
		next := bytes.IndexByte(text[i:], l.anchor)
		if next < 0 {
			break
		}
		if i += next; !l.walk(text, i-l.offset, found) {
			break
		}
	}
	return end
}
