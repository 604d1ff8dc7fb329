package merge

import "slices"

// Where lines repeat, one edit has several descriptions: which of the two blank
// lines around a paragraph went with it? Both sides must get the same description
// of the same edit, and no edit a description that clashes with the other side
// while another does not. Hence edits slide: down as far as the lines allow, but
// for clashes.

// slide moves every pure insertion and every pure removal among the pairs down.
func (d *differ) slide() {
	for _, h := range hunksOf(d.pairs, len(d.b)) {
		switch {
		case h.a0 == h.a1:
			for h.a0 < len(d.a) && d.pairs[h.a0] == h.b1 && d.b[h.b0] == d.b[h.b1] {
				d.pairs[h.a0] = h.b0
				h.a0, h.b0, h.b1 = h.a0+1, h.b0+1, h.b1+1
			}
		case h.b0 == h.b1:
			for h.a1 < len(d.a) && d.pairs[h.a1] == h.b0 && d.a[h.a0] == d.a[h.a1] {
				d.pairs[h.a0], d.pairs[h.a1] = h.b0, -1
				h.a0, h.a1, h.b0 = h.a0+1, h.a1+1, h.b0+1
			}
		}
	}
}

// slide does the same to what was found inside hunks, with an eye on the other
// side.
func (c *change) slide(base []string, other *change) {
	for from := 0; from < len(base); from++ {
		if len(c.gaps[from]) > 0 {
			c.slideAddition(from, base, other)
		}
		if c.fates[from] == removed {
			from = c.slideRemoval(from, base, other)
		}
	}
}

// slideAddition moves what was added in gap g past lines that equal its own first
// ones.
func (c *change) slideAddition(g int, base []string, other *change) {
	lines, down := c.gaps[g], g
	for down < len(base) && c.fates[down] == kept && other.fates[down] != blocked &&
		lines[(down-g)%len(lines)] == base[down] && len(c.gaps[down+1]) == 0 {
		down++
	}
	turned := (down - g) % len(lines)
	c.gaps[g] = nil
	c.gaps[down] = slices.Concat(lines[turned:], lines[:turned])
}

// slideRemoval moves a run of removed lines that begins at from to the lowest place
// where it takes no line that the other side rewrote, or the lowest of all, and
// gives its last line.
func (c *change) slideRemoval(from int, base []string, other *change) int {
	to := from
	clashes := 0
	clash := func(i int) int {
		if f := other.fates[i]; f == rewritten || f == blocked {
			return 1
		}
		return 0
	}
	for ; to < len(base) && c.fates[to] == removed && (to == from || len(c.gaps[to]) == 0); to++ {
		clashes += clash(to)
	}
	up := func() bool {
		return from > 0 && c.fates[from-1] == kept && len(c.gaps[from]) == 0 && base[from-1] == base[to-1]
	}
	down := func() bool {
		return to < len(base) && c.fates[to] == kept && len(c.gaps[to]) == 0 && base[from] == base[to]
	}
	move := func(step int) {
		if step < 0 {
			from, to = from-1, to-1
			c.fates[from], c.fates[to] = removed, kept
			clashes += clash(from) - clash(to)
			return
		}
		c.fates[from], c.fates[to] = kept, removed
		clashes += clash(to) - clash(from)
		from, to = from+1, to+1
	}
	for down() {
		move(1)
	}
	for lowest := to; clashes > 0; move(-1) {
		if !up() {
			for to < lowest {
				move(1)
			}
			break
		}
	}
	return to - 1
}
