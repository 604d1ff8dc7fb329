package merge

import (
	"slices"
	"sort"
)

// Bounds of the work of a diff. Past them lines stay unpaired, which makes a
// larger change and at worst a conflict, never a wrong merge.
const (
	maxDepth = 24  // of anchors within anchors
	maxEdits = 256 // of the search between anchors
)

// numbers gives equal lines equal numbers, so that comparing them is cheap.
type numbers struct {
	ids   map[string]int32
	wordy []bool // by number
}

func (n *numbers) of(lines []string) []int32 {
	if n.ids == nil {
		n.ids = make(map[string]int32, len(lines))
	}
	out := make([]int32, len(lines))
	for i, line := range lines {
		id, ok := n.ids[line]
		if !ok {
			id = int32(len(n.ids))
			n.ids[line] = id
			n.wordy = append(n.wordy, wordy(line))
		}
		out[i] = id
	}
	return out
}

// match pairs equal lines of a and b in order: the i-th number is the index in b
// of the line that a's line i became, or -1. Lines of words that stand once on both
// sides are the anchors, as in a patience diff; what lies between is searched for
// the shortest edit, first among lines of words, then among all: a blank line must
// never be paired at the cost of one that says something.
func (n *numbers) match(a, b []int32) []int {
	d := &differ{a: a, b: b, wordy: n.wordy, pairs: make([]int, len(a)), seen: make([]sighting, len(n.wordy))}
	for i := range d.pairs {
		d.pairs[i] = -1
	}
	d.between(span{0, len(a), 0, len(b)}, 0)
	d.loosen()
	d.slide()
	return d.pairs
}

// match does the same to lines that have no numbers yet.
func match(a, b []string) []int {
	var n numbers
	na, nb := n.of(a), n.of(b)
	return n.match(na, nb)
}

// common is the lines that two texts share, in order.
func common(a, b []string) []string {
	var shared []string
	for i, j := range match(a, b) {
		if j >= 0 {
			shared = append(shared, a[i])
		}
	}
	return shared
}

// span is a stretch of both texts, ends excluded.
type span struct{ a0, a1, b0, b1 int }

type differ struct {
	a, b  []int32
	wordy []bool
	pairs []int
	seen  []sighting // by number, zero between uses
}

// sighting is how often a line stands in the halves of a span, and where in b it
// did last.
type sighting struct{ a, b, at int32 }

// look counts the lines of a span; forget takes that back.
func (d *differ) look(s span) {
	for _, id := range d.a[s.a0:s.a1] {
		d.seen[id].a++
	}
	for j := s.b0; j < s.b1; j++ {
		d.seen[d.b[j]].b++
		d.seen[d.b[j]].at = int32(j)
	}
}

func (d *differ) forget(s span) {
	for _, id := range d.a[s.a0:s.a1] {
		d.seen[id] = sighting{}
	}
	for _, id := range d.b[s.b0:s.b1] {
		d.seen[id] = sighting{}
	}
}

// between pairs the lines of one span.
func (d *differ) between(s span, depth int) {
	for s.a0 < s.a1 && s.b0 < s.b1 && d.a[s.a0] == d.b[s.b0] {
		d.pairs[s.a0] = s.b0
		s.a0, s.b0 = s.a0+1, s.b0+1
	}
	for s.a0 < s.a1 && s.b0 < s.b1 && d.a[s.a1-1] == d.b[s.b1-1] {
		s.a1, s.b1 = s.a1-1, s.b1-1
		d.pairs[s.a1] = s.b1
	}
	if s.a0 == s.a1 || s.b0 == s.b1 {
		return
	}
	var anchors [][2]int
	if depth < maxDepth {
		anchors = d.anchors(s)
	}
	if len(anchors) == 0 {
		anchors = d.search(s, func(id int32) bool { return d.wordy[id] })
	}
	if len(anchors) == 0 {
		for _, p := range d.search(s, func(int32) bool { return true }) {
			d.pairs[p[0]] = p[1]
		}
		return
	}
	for _, p := range anchors {
		d.between(span{s.a0, p[0], s.b0, p[1]}, depth+1)
		d.pairs[p[0]] = p[1]
		s.a0, s.b0 = p[0]+1, p[1]+1
	}
	d.between(s, depth+1)
}

// anchors finds the lines of words that stand once in either half of a span, and of
// these the longest run that is in order on both sides.
func (d *differ) anchors(s span) [][2]int {
	d.look(s)
	var once [][2]int
	for i := s.a0; i < s.a1; i++ {
		if p := d.seen[d.a[i]]; p.a == 1 && p.b == 1 && d.wordy[d.a[i]] {
			once = append(once, [2]int{i, int(p.at)})
		}
	}
	d.forget(s)
	return rising(once)
}

// rising is the longest subsequence of pairs whose second numbers rise, by
// patience sorting.
func rising(pairs [][2]int) [][2]int {
	var tops []int // index of the pair on top of each pile
	before := make([]int, len(pairs))
	for k, p := range pairs {
		pile := sort.Search(len(tops), func(t int) bool { return pairs[tops[t]][1] >= p[1] })
		before[k] = -1
		if pile > 0 {
			before[k] = tops[pile-1]
		}
		if pile == len(tops) {
			tops = append(tops, k)
		} else {
			tops[pile] = k
		}
	}
	out := make([][2]int, len(tops))
	if len(tops) == 0 {
		return out
	}
	for n, k := len(tops)-1, tops[len(tops)-1]; k >= 0; n, k = n-1, before[k] {
		out[n] = pairs[k]
	}
	return out
}

// search pairs those lines of a span that count, by Myers' greedy algorithm, which
// finds the shortest edit. Lines that the other half does not have are left out
// before: they cost edits and cannot be paired.
func (d *differ) search(s span, counts func(id int32) bool) [][2]int {
	d.look(s)
	var as, bs []int
	for i := s.a0; i < s.a1; i++ {
		if id := d.a[i]; d.seen[id].b > 0 && counts(id) {
			as = append(as, i)
		}
	}
	for j := s.b0; j < s.b1; j++ {
		if id := d.b[j]; d.seen[id].a > 0 && counts(id) {
			bs = append(bs, j)
		}
	}
	d.forget(s)
	if len(as) == 0 {
		return nil
	}
	pairs := shortest(len(as), len(bs), func(i, j int) bool { return d.a[as[i]] == d.b[bs[j]] })
	for k, p := range pairs {
		pairs[k] = [2]int{as[p[0]], bs[p[1]]}
	}
	return pairs
}

// loosen parts lines that say nothing from each other again where nothing holds
// them: a line beside the one is gone, and the lines on both sides of the other are
// new. The blank line after a paragraph that was removed is not the one inside a
// section that was added.
func (d *differ) loosen() {
	back := inverse(d.pairs, len(d.b))
	lone := func(pairs []int, i int) bool { return i >= 0 && i < len(pairs) && pairs[i] < 0 }
	for from := 0; from < len(d.pairs); from++ {
		at := d.pairs[from]
		if at < 0 {
			continue
		}
		to, held := from, false
		for ; to < len(d.pairs) && d.pairs[to] == at+to-from; to++ {
			held = held || d.wordy[d.a[to]]
		}
		gone := lone(d.pairs, from-1) || lone(d.pairs, to)
		if !held && gone && lone(back, at-1) && lone(back, at+to-from) {
			for i := from; i < to; i++ {
				d.pairs[i] = -1
			}
		}
		from = to - 1
	}
}

// shortest is the pairs of a shortest edit of n lines into m, nil when it takes
// more than maxEdits.
func shortest(n, m int, equal func(i, j int) bool) [][2]int {
	limit := min(n+m, maxEdits)
	far := make([]int, 2*limit+3) // far[k+limit+1]: how far diagonal k (i-j) is reached
	var trace [][]int             // far as each round found it, diagonals -e-1 to e+1
	for e := 0; e <= limit; e++ {
		mid := limit + 1
		trace = append(trace, slices.Clone(far[mid-e-1:mid+e+2]))
		for k := -e; k <= e; k += 2 {
			i := far[mid+k-1] + 1
			if k == -e || (k != e && far[mid+k+1] > far[mid+k-1]) {
				i = far[mid+k+1]
			}
			j := i - k
			for i < n && j < m && j >= 0 && equal(i, j) {
				i, j = i+1, j+1
			}
			far[mid+k] = i
			if i >= n && j >= m {
				return walkBack(trace, n, m)
			}
		}
	}
	return nil
}

// walkBack reads the pairs off the trace, from the end.
func walkBack(trace [][]int, n, m int) [][2]int {
	var pairs [][2]int
	i, j := n, m
	for e := len(trace) - 1; e >= 0; e-- {
		at := func(k int) int { return trace[e][k+e+1] }
		k := i - j
		before := k - 1
		if k == -e || (k != e && at(k+1) > at(k-1)) {
			before = k + 1
		}
		i0, j0 := at(before), at(before)-before
		if e == 0 {
			i0, j0 = 0, 0
		}
		for i > i0 && j > j0 {
			i, j = i-1, j-1
			pairs = append(pairs, [2]int{i, j})
		}
		i, j = i0, j0
	}
	slices.Reverse(pairs)
	return pairs
}
