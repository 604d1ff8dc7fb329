package merge

import "slices"

// hunk is a stretch of the base, lines a0 to a1, that became the lines b0 to b1 of
// one side. It has no end in common with its surroundings.
type hunk struct{ a0, a1, b0, b1 int }

// hunksOf reads the hunks off paired lines; m is the number of lines of the side.
func hunksOf(pairs []int, m int) []hunk {
	var hunks []hunk
	a, b := 0, 0
	for i := 0; i <= len(pairs); i++ {
		j := m
		if i < len(pairs) {
			if j = pairs[i]; j < 0 {
				continue
			}
		}
		if a < i || b < j {
			hunks = append(hunks, hunk{a, i, b, j})
		}
		a, b = i+1, j+1
	}
	return hunks
}

// backed drops pairs of lines that say nothing and stand next to no paired line of
// words. Such lines, blank ones mostly, get their place when it is known what
// became of the lines around them. m is the number of lines of the side.
func backed(pairs []int, base []string, m int) []int {
	out := slices.Clone(pairs)
	for from, to := 0, 0; from < len(pairs); from = to + 1 {
		at := pairs[from]
		if to = from; at < 0 {
			continue
		}
		backing := from == 0 && at == 0
		for ; to < len(pairs) && pairs[to] == at+to-from; to++ {
			backing = backing || wordy(base[to])
		}
		backing = backing || to == len(pairs) && at+to-from == m
		for i := from; i < to && !backing; i++ {
			out[i] = -1
		}
		to--
	}
	return out
}

// touched reports whether a sorted list of hunks has one that meets the base lines
// from to to, ends included.
func touched(hunks []hunk, from, to int) bool {
	lo, hi := 0, len(hunks)
	for lo < hi {
		if mid := (lo + hi) / 2; hunks[mid].a1 < from {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(hunks) && hunks[lo].a0 <= to
}
