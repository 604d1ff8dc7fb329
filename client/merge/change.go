package merge

// fate is what became of one base line on one side.
type fate byte

const (
	kept fate = iota
	removed
	rewritten // one new line stands for it
	blocked   // it belongs to a block
)

// block is a stretch of base lines that one side replaced by others without
// anything that tells which came from which. It is taken or left as one.
type block struct {
	from, to int
	lines    []string
}

// change is one side as seen from the base: the fate of each base line and what
// was added in each gap between them. Gap i lies before line i, the last one at
// the end.
type change struct {
	fates  []fate
	text   []string // of a rewritten line
	gaps   [][]string
	blocks map[int]*block // by their first line
}

// reader makes changes out of paired lines. It decides, inside a hunk, which new
// line stands for which old one.
type reader struct {
	rules
	base   []string
	budget int // of line comparisons left
}

// maxComparisons bounds how many pairs of lines one merge weighs for likeness;
// beyond them a hunk is one block.
const maxComparisons = 1 << 14

// read describes a side. other is the hunks of the other side: a hunk that they do
// not touch is taken as a whole, and nobody needs to know how it came about.
func (r *reader) read(side []string, hunks, other []hunk) *change {
	c := &change{
		fates:  make([]fate, len(r.base)),
		text:   make([]string, len(r.base)),
		gaps:   make([][]string, len(r.base)+1),
		blocks: map[int]*block{},
	}
	for _, h := range hunks {
		fresh := side[h.b0:h.b1]
		if r.index || touched(other, h.a0, h.a1) {
			r.fill(c, h.a0, h.a1, fresh)
		} else {
			r.settle(c, h.a0, h.a1, fresh)
		}
	}
	return c
}

// settle records that the base lines from to to became fresh, with no further
// insight. Blank lines around are nothing that one could rewrite: they go.
func (r *reader) settle(c *change, from, to int, fresh []string) {
	if len(fresh) == 0 || all(r.base[from:to], blank) {
		c.gaps[from] = fresh
		c.remove(from, to)
		return
	}
	for ; blank(r.base[from]); from++ {
		c.remove(from, from+1)
	}
	for ; blank(r.base[to-1]); to-- {
		c.remove(to-1, to)
	}
	if to-from == 1 && len(fresh) == 1 && r.maybeSame(r.base[from], fresh[0]) {
		c.rewrite(from, r.base[from], fresh[0])
		return
	}
	c.blocks[from] = &block{from, to, fresh}
	for i := from; i < to; i++ {
		c.fates[i] = blocked
	}
}

func (c *change) remove(from, to int) {
	for i := from; i < to; i++ {
		c.fates[i] = removed
	}
}

func (c *change) rewrite(i int, old, fresh string) {
	if old != fresh {
		c.fates[i], c.text[i] = rewritten, fresh
	}
}

// fill records a hunk with insight: lines that are alike are one line rewritten,
// and what lies between such pairs is looked at by itself.
func (r *reader) fill(c *change, from, to int, fresh []string) {
	if to-from < 2 && len(fresh) < 2 {
		r.fillBetween(c, from, to, fresh) // the usual, and nothing to choose
		return
	}
	i, j := from, 0
	for n, m := range r.alike(r.base[from:to], fresh) {
		if m < 0 {
			continue
		}
		r.fillBetween(c, i, from+n, fresh[j:m])
		c.rewrite(from+n, r.base[from+n], fresh[m])
		i, j = from+n+1, m+1
	}
	r.fillBetween(c, i, to, fresh[j:])
}

// fillBetween records a stretch whose lines are not alike. As many new lines as
// old ones are taken for the old ones rewritten, in order. Entries of an index
// that point elsewhere are other entries: the old go and the new are additions.
func (r *reader) fillBetween(c *change, from, to int, fresh []string) {
	old := r.base[from:to]
	if len(old) == len(fresh) && r.inStep(old, fresh) {
		for n, line := range fresh {
			c.rewrite(from+n, old[n], line)
		}
		return
	}
	// What is equal here are lines without words.
	for _, h := range hunksOf(match(old, fresh), len(fresh)) {
		i := from + h.a0
		old, fresh := old[h.a0:h.a1], fresh[h.b0:h.b1]
		if all(old, r.entry) && all(fresh, r.entry) {
			c.gaps[i] = fresh
			c.remove(i, i+len(old))
		} else {
			r.settle(c, i, i+len(old), fresh)
		}
	}
}

// inStep reports whether each new line may stand for the old one in its place.
func (r *reader) inStep(old, fresh []string) bool {
	for i := range old {
		if blank(old[i]) != blank(fresh[i]) || !r.maybeSame(old[i], fresh[i]) {
			return false
		}
	}
	return true
}

// all reports whether every line has a property.
func all(lines []string, has func(string) bool) bool {
	for _, line := range lines {
		if !has(line) {
			return false
		}
	}
	return true
}

// swallows reports whether gap g lies inside a run of lines that this side removed,
// with words lost above and below it: what the other side adds there has lost its
// place. Not so where a line beside the gap equals the one that was kept above or
// below the run: then it may as well be this one that was kept.
func (c *change) swallows(g int, base []string) bool {
	from, to := g, g
	above, below := false, false
	for ; from > 0 && c.fates[from-1] == removed; from-- {
		above = above || wordy(base[from-1])
	}
	for ; to < len(base) && c.fates[to] == removed; to++ {
		below = below || wordy(base[to])
	}
	if !above || !below {
		return false
	}
	stayed := func(i int) bool {
		return i >= 0 && i < len(base) && c.fates[i] == kept && (base[i] == base[g-1] || base[i] == base[g])
	}
	return !stayed(from-1) && !stayed(to)
}

// onBlank reports whether what this side added before line i took the place of a
// blank line.
func (c *change) onBlank(i int, base []string) bool {
	return i < len(base) && c.fates[i] == removed && blank(base[i])
}

// aside gives what this side added among the base lines from to to, and false when
// it changed one of them. That a blank line went is nothing.
func (c *change) aside(from, to int, base []string) (added []string, ok bool) {
	for i := from; i < to; i++ {
		if c.fates[i] != kept && !c.onBlank(i, base) {
			return nil, false
		}
		if i > from {
			added = append(added, c.gaps[i]...)
		}
	}
	return added, true
}
