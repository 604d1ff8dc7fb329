package merge

import "slices"

// unite joins what both sides added in one gap: what is equal once, the rest of
// both, in an order that does not depend on which side is which. above and below
// are the lines around the gap. It reports false where the additions share lines
// in a way that leaves open what belongs where.
func unite(x, y []string, above, below string) ([]string, bool) {
	switch {
	case len(x) == 0 || inside(x, y):
		return y, true
	case len(y) == 0 || inside(y, x):
		return x, true
	case !shareWords(x, y):
		return stack(x, y, above, below), true
	}
	if out, ok := stackBetween(x, y, above, below); ok {
		return out, true
	}
	if all(x, loose) && all(y, loose) {
		return shuffle(x, y, above, below)
	}
	return nil, false
}

// inside reports whether every line of part stands in whole, in the same order.
func inside(part, whole []string) bool {
	for _, line := range whole {
		if len(part) > 0 && part[0] == line {
			part = part[1:]
		}
	}
	return len(part) == 0
}

func shareWords(x, y []string) bool {
	has := make(map[string]bool, len(x))
	for _, line := range x {
		has[line] = telling(line)
	}
	return slices.ContainsFunc(y, func(line string) bool { return has[line] })
}

func loose(line string) bool { return item(line) || blank(line) }

// stackBetween joins additions that begin or end alike: the same heading with
// different items below it, say. Nothing else may be shared, and no block of code
// may be cut in two.
func stackBetween(x, y []string, above, below string) ([]string, bool) {
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	for n > 0 && !telling(x[n-1]) {
		n--
	}
	head := x[:n]
	x, y = x[n:], y[n:]

	n = 0
	for n < min(len(x), len(y)) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	for n > 0 && !telling(x[len(x)-n]) {
		n--
	}
	tail := x[len(x)-n:]
	x, y = x[:len(x)-n], y[:len(y)-n]

	if shareWords(x, y) || fences(head)%2 != 0 || fences(tail)%2 != 0 {
		return nil, false
	}
	if len(head) > 0 {
		above = head[len(head)-1]
	}
	if len(tail) > 0 {
		below = tail[0]
	}
	return slices.Concat(head, stack(x, y, above, below), tail), true
}

func fences(lines []string) int {
	n := 0
	for _, line := range lines {
		if fence(line) {
			n++
		}
	}
	return n
}

// shuffle joins additions whose lines stand for themselves, in the order that both
// sides agree on. Where they disagree it reports false.
func shuffle(x, y []string, above, below string) ([]string, bool) {
	var out, onlyX, onlyY []string
	add := func(x, y []string, below string) {
		out = append(out, stack(x, y, above, below)...)
		onlyX, onlyY = append(onlyX, x...), append(onlyY, y...)
	}
	i, j := 0, 0
	for n, m := range match(x, y) {
		if m < 0 {
			continue
		}
		add(x[i:n], y[j:m], x[n])
		out = append(out, x[n])
		above, i, j = x[n], n+1, m+1
	}
	add(x[i:], y[j:], below)
	return out, !shareWords(onlyX, onlyY)
}

// stack puts two additions that have nothing in common one after the other. One
// that continues the text above comes first, one that leads on to the text below
// comes last; then one without a heading comes first, so that it does not end up
// in a section of the other's; then the contents decide.
func stack(x, y []string, above, below string) []string {
	if slices.Equal(x, y) {
		return x
	}
	order := pull(x, above, below) - pull(y, above, below)
	if order == 0 {
		order = headings(x) - headings(y)
	}
	if order == 0 {
		order = slices.Compare(x, y)
	}
	if order > 0 {
		x, y = y, x
	}
	return slices.Concat(x, y)
}

// pull says where an addition leans: -1 to the line above, 1 to the line below, 0
// to neither or both. A blank line in between keeps it away.
func pull(lines []string, above, below string) int {
	if len(lines) == 0 {
		return 0
	}
	lean := 0
	if !blank(above) && !blank(lines[0]) {
		lean--
	}
	if !blank(below) && !blank(lines[len(lines)-1]) {
		lean++
	}
	return lean
}

// headings is 1 for lines with a heading among them.
func headings(lines []string) int {
	if slices.ContainsFunc(lines, heading) {
		return 1
	}
	return 0
}
