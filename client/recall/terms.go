package recall

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
)

// count is how often a term stands in the parts of a note; what is more than fits
// counts as much as fits, which is more than a ranking tells apart.
type count struct {
	term              uint32 // its hash
	name, description uint8  // mostHead at most
	body              uint8
}

const (
	mostHead = 15
	mostBody = 255
)

// terms are the counts of a note, by term, in the form in which the cache keeps them:
// a new process reads a file, and makes nothing of it that no question asks for.
// The hash, the lowest byte first; the body; name and description, four bits each.
type terms []byte

const countBytes = 6

func termsOf(counts []count) terms {
	packed := make(terms, 0, len(counts)*countBytes)
	for _, c := range counts {
		packed = binary.LittleEndian.AppendUint32(packed, c.term)
		packed = append(packed, c.body, c.name<<4|c.description)
	}
	return packed
}

func (t terms) len() int { return len(t) / countBytes }

func (t terms) term(i int) uint32 { return binary.LittleEndian.Uint32(t[i*countBytes:]) }

func (t terms) at(i int) count {
	c := t[i*countBytes : (i+1)*countBytes]
	return count{term: t.term(i), body: c[4], name: c[5] >> 4, description: c[5] & mostHead}
}

func (t terms) find(term uint32) (count, bool) {
	i, ok := sort.Find(t.len(), func(i int) int { return cmp.Compare(term, t.term(i)) })
	if !ok {
		return count{}, false
	}
	return t.at(i), true
}

// sorted reports whether they can be searched.
func (t terms) sorted() bool {
	for i := 1; i < t.len(); i++ {
		if t.term(i) <= t.term(i-1) {
			return false
		}
	}
	return len(t)%countBytes == 0
}

// together sorts counts and adds up those of one term.
func together(found []count) []count {
	slices.SortFunc(found, func(a, b count) int { return cmp.Compare(a.term, b.term) })
	out := found[:0]
	for _, c := range found {
		if n := len(out); n > 0 && out[n-1].term == c.term {
			last := &out[n-1]
			last.name = min(last.name+c.name, mostHead)
			last.description = min(last.description+c.description, mostHead)
			last.body = max(last.body, last.body+c.body)
			continue
		}
		out = append(out, c)
	}
	return out
}

// hash is FNV-1a of 64 bits, folded: the same in every process, since it is kept on
// disk. Of 100,000 words a question's word is taken for another once in 40,000 times.
func hash(text []byte) uint32 {
	h := uint64(14695981039346656037)
	for _, c := range text {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return uint32(h ^ h>>32)
}
