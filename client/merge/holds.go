package merge

import "slices"

// holds reports whether side y already has all that x did to the base, so that the
// merge is y: all that x has and y lacks is base lines that y took out, all that y
// has and x lacks is lines of y's own, and none of these may stand for a line that
// x plainly removed. It is what makes a merge stable when its result is merged once
// more, after a reply was lost, say.
func holds(toX, toY, xy []int, y []string) bool {
	fromX, fromY := inverse(toX, len(xy)), inverse(toY, len(y))
	for u, v := range xy {
		if v < 0 && (fromX[u] < 0 || toY[fromX[u]] >= 0) {
			return false
		}
	}
	hunksX, yx := hunksOf(toX, len(xy)), inverse(xy, len(y))
	for v, u := range yx {
		if u < 0 && fromY[v] >= 0 && !(amidOwn(v, y, yx) || !wordy(y[v]) && replaced(hunksX, fromY[v])) {
			return false
		}
	}
	var own []hunk // where y put lines of its own
	for _, h := range hunksOf(toY, len(y)) {
		if h.a0 < h.a1 && slices.Contains(yx[h.b0:h.b1], -1) {
			own = append(own, h)
		}
	}
	for _, h := range hunksX {
		if h.b0 == h.b1 && touched(own, h.a0+1, h.a1-1) {
			return false
		}
	}
	return true
}

// replaced reports whether base line i lies in a hunk that put something in its
// place.
func replaced(hunks []hunk, i int) bool {
	n, _ := slices.BinarySearchFunc(hunks, i, func(h hunk, i int) int { return h.a1 - 1 - i })
	return n < len(hunks) && hunks[n].a0 <= i && hunks[n].b0 < hunks[n].b1
}

// amidOwn reports whether a line says nothing and the lines around it that do are
// all a side's own: then so is this one, whatever it was paired with.
func amidOwn(v int, lines []string, pairs []int) bool {
	up, down := v, v
	for up >= 0 && !wordy(lines[up]) {
		up--
	}
	for down < len(lines) && !wordy(lines[down]) {
		down++
	}
	return up >= 0 && up < v && pairs[up] < 0 && down < len(lines) && pairs[down] < 0
}

// inverse turns pairs about; m is the number of lines on the far side.
func inverse(pairs []int, m int) []int {
	out := make([]int, m)
	for j := range out {
		out[j] = -1
	}
	for i, j := range pairs {
		if j >= 0 {
			out[j] = i
		}
	}
	return out
}
