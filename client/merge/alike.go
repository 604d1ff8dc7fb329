package merge

import (
	"slices"
	"strings"
)

// alike pairs old lines with the new ones that were made of them, in order: the
// i-th number is the index of the new line, or -1. In an index equal targets pair
// first.
func (r *reader) alike(old, fresh []string) []int {
	if !r.index {
		return r.similar(old, fresh)
	}
	pairs := match(targets(old, "old"), targets(fresh, "new"))
	i, j := 0, 0
	for n := 0; n <= len(old); n++ {
		m := len(fresh)
		if n < len(old) {
			if m = pairs[n]; m < 0 {
				continue
			}
		}
		for k, likeness := range r.similar(old[i:n], fresh[j:m]) {
			if likeness >= 0 {
				pairs[i+k] = j + likeness
			}
		}
		i, j = n+1, m+1
	}
	return pairs
}

// targets replaces each line by the target of its link; a line without one turns
// into something that equals nothing.
func targets(lines []string, side string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		if out[i] = target(line); out[i] == "" {
			out[i] = "\x00" + side
		}
	}
	return out
}

// enough is how alike two lines must be to be one line rewritten, from 0 to 1.
const enough = 0.5

// similar finds, in order, the pairs with the greatest sum of likeness.
func (r *reader) similar(old, fresh []string) []int {
	pairs := make([]int, len(old))
	for i := range pairs {
		pairs[i] = -1
	}
	n, m := len(old), len(fresh)
	if n == 0 || m == 0 || n*m > r.budget {
		return pairs
	}
	r.budget -= n * m

	like := r.likenesses(old, fresh)
	best := make([][]float64, n+1) // best[i][j]: the sum for old[i:] and fresh[j:]
	for i := range best {
		best[i] = make([]float64, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if like[i][j] >= enough {
				best[i][j] = max(best[i][j], best[i+1][j+1]+like[i][j])
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case like[i][j] >= enough && best[i][j] == best[i+1][j+1]+like[i][j]:
			pairs[i] = j
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
	}
	return pairs
}

func (r *reader) likenesses(old, fresh []string) [][]float64 {
	ofFresh := make([][]uint64, len(fresh))
	for j, line := range fresh {
		ofFresh[j] = bigrams(line)
	}
	like := make([][]float64, len(old))
	for i, line := range old {
		like[i] = make([]float64, len(fresh))
		ofOld := bigrams(line)
		for j := range fresh {
			if r.maybeSame(line, fresh[j]) {
				like[i][j] = likeness(ofOld, ofFresh[j])
			}
		}
	}
	return like
}

// maxCompared bounds how much of a line is looked at, in bytes.
const maxCompared = 512

// bigrams is the sorted pairs of neighbouring characters of a line: a likeness by
// them needs no notion of a word, which not every script has.
func bigrams(line string) []uint64 {
	line = strings.TrimSpace(line[:min(len(line), maxCompared)])
	var out []uint64
	var last uint64
	for i, c := range line {
		if i > 0 {
			out = append(out, last<<32|uint64(c))
		}
		last = uint64(c)
	}
	slices.Sort(out)
	return out
}

// likeness is Dice's coefficient of two sorted lists: 0 for nothing in common, 1
// for the same.
func likeness(a, b []uint64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	both := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			both, i, j = both+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return 2 * float64(both) / float64(len(a)+len(b))
}
