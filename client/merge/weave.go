package merge

import "slices"

// mergeLines joins two sides line by line. Both sides are treated alike but for
// the order of their additions in one place, which their contents decide.
func mergeLines(base, x, y []string, ru rules) ([]string, *doubt) {
	switch {
	case slices.Equal(x, y), slices.Equal(base, y):
		return x, nil
	case slices.Equal(base, x):
		return y, nil
	}
	var n numbers
	nb, nx, ny := n.of(base), n.of(x), n.of(y)
	toX, toY, xy := n.match(nb, nx), n.match(nb, ny), n.match(nx, ny)
	if holds(toX, toY, xy, y) {
		return y, nil
	}
	if holds(toY, toX, inverse(xy, len(y)), x) {
		return x, nil
	}
	hunksX := hunksOf(backed(toX, base, len(x)), len(x))
	hunksY := hunksOf(backed(toY, base, len(y)), len(y))
	r := &reader{rules: ru, base: base, budget: maxComparisons}
	w := &weaver{rules: ru, base: base, x: r.read(x, hunksX, hunksY), y: r.read(y, hunksY, hunksX)}
	w.x.slide(base, w.y)
	w.y.slide(base, w.x)
	if ru.index {
		if in := reconcile(base, w.x, w.y); in != nil {
			return nil, in
		}
	}
	out, in := w.weave()
	if in == nil && doubles(base, x, y, out, hunksX, hunksY) {
		in = wouldDouble()
	}
	if in != nil {
		return nil, in
	}
	return out, nil
}

// weaver walks down the base with both changes at its side.
type weaver struct {
	rules
	base []string
	x, y *change
	out  []string
}

func (w *weaver) weave() ([]string, *doubt) {
	for i := 0; ; {
		if in := w.gap(i); in != nil {
			return nil, in
		}
		if i == len(w.base) {
			return w.out, nil
		}
		next, in := w.line(i)
		if in != nil {
			return nil, in
		}
		i = next
	}
}

// gap writes what was added before line i.
func (w *weaver) gap(i int) *doubt {
	x, y := w.x.gaps[i], w.y.gaps[i]
	if len(x) == 0 && len(y) == 0 {
		return nil
	}
	if w.strays(w.x, w.y, i) || w.strays(w.y, w.x, i) {
		return addedInsideRemoved(i)
	}
	var above, below string
	if len(w.out) > 0 {
		above = w.out[len(w.out)-1]
	}
	if i < len(w.base) {
		below = w.base[i]
	}
	both, ok := unite(x, y, above, below)
	if !ok {
		return addedOverlapping(i)
	}
	w.out = append(w.out, both...)
	return nil
}

// strays reports whether what adder put before line i has lost its place, because
// the remover took the text around it. In an index entries stand for themselves,
// and text on what was a blank line is dealt with as a change of that line.
func (w *weaver) strays(adder, remover *change, i int) bool {
	return len(adder.gaps[i]) > 0 && !w.listing && !adder.onBlank(i, w.base) && remover.swallows(i, w.base)
}

// line writes what became of line i, or of the block that begins there, and gives
// the line to go on with.
func (w *weaver) line(i int) (int, *doubt) {
	x, y := w.x.fates[i], w.y.fates[i]
	switch {
	case x == blocked || y == blocked:
		return w.block(i)
	case x == kept && y == kept:
		w.out = append(w.out, w.base[i])
	case x == kept:
		w.follow(w.y, i)
	case y == kept:
		w.follow(w.x, i)
	case x == removed && y == removed:
	case x == removed:
		return i + 1, w.removedAndChanged(w.y, i)
	case y == removed:
		return i + 1, w.removedAndChanged(w.x, i)
	default:
		line, ok := w.either(w.x.text[i], w.y.text[i])
		if !ok {
			return i, bothChanged(i)
		}
		w.out = append(w.out, line)
	}
	return i + 1, nil
}

// follow writes what the only side that changed line i made of it.
func (w *weaver) follow(c *change, i int) {
	if c.fates[i] == rewritten {
		w.out = append(w.out, c.text[i])
	}
}

// removedAndChanged decides between a removal and the rewrite of c. In an index
// the rewrite stays: somebody still wants the entry. A blank line that became text
// stays too: with it went nothing.
func (w *weaver) removedAndChanged(c *change, i int) *doubt {
	if !w.outlives(w.base[i]) && !blank(w.base[i]) {
		return removedAndChanged(i)
	}
	w.out = append(w.out, c.text[i])
	return nil
}

// block writes the block that one side or both have at line i.
func (w *weaver) block(i int) (int, *doubt) {
	x, y := w.x.blocks[i], w.y.blocks[i]
	switch {
	case x != nil && y != nil && x.to == y.to:
		if !within(x.lines, y.lines) {
			x, y = y, x
		}
		if !within(x.lines, y.lines) {
			return i, bothChanged(i)
		}
		w.out = append(w.out, y.lines...)
		return y.to, nil
	case x != nil && y == nil:
		return w.blockBeside(x, w.y)
	case y != nil && x == nil:
		return w.blockBeside(y, w.x)
	}
	return i, bothChanged(i)
}

// blockBeside writes a block of one side where the other changed nothing. What it
// added between the lines that became the block follows the block.
func (w *weaver) blockBeside(b *block, other *change) (int, *doubt) {
	added, ok := other.aside(b.from, b.to, w.base)
	if !ok {
		return b.from, bothChanged(b.from)
	}
	w.out = append(append(w.out, b.lines...), added...)
	return b.to, nil
}

// within reports whether part stands in whole, in one piece.
func within(part, whole []string) bool {
	for at := 0; at+len(part) <= len(whole); at++ {
		if slices.Equal(part, whole[at:at+len(part)]) {
			return true
		}
	}
	return false
}

// doubles reports whether out holds a line of words more often than it ought to:
// more often than either text, or, where it is a label or something that the file
// said before, than both additions make it: such a line may well be meant twice.
// Only lines that somebody wrote can come twice.
func doubles(base, x, y, out []string, hunksX, hunksY []hunk) bool {
	type counts struct{ base, x, y, out int }
	seen := map[string]*counts{}
	watch := func(lines []string, hunks []hunk) {
		for _, h := range hunks {
			for _, line := range lines[h.b0:h.b1] {
				if seen[line] == nil && telling(line) {
					seen[line] = new(counts)
				}
			}
		}
	}
	watch(x, hunksX)
	watch(y, hunksY)
	tally := func(lines []string, count func(*counts)) {
		for _, line := range lines {
			if c := seen[line]; c != nil {
				count(c)
			}
		}
	}
	tally(base, func(c *counts) { c.base++ })
	tally(x, func(c *counts) { c.x++ })
	tally(y, func(c *counts) { c.y++ })
	tally(out, func(c *counts) { c.out++ })
	for line, c := range seen {
		may := max(c.base, c.x, c.y)
		if c.base > 0 || label(line) {
			may = max(may, c.x+c.y-c.base)
		}
		if c.out > may {
			return true
		}
	}
	return false
}
