package merge

import (
	"cmp"
	"slices"
	"strings"
)

// rules is by which rules lines are judged. The zero value is a topic file's.
type rules struct {
	// index: the file is a MEMORY.md, the targets of whose links count.
	index bool
	// listing: it is an index indeed, and not prose under an index's name.
	listing bool
}

// target is what the entry in a line points to, empty for a line that is no entry.
// An entry is a link at the beginning of a line, after an optional list mark and
// emphasis; its label may hold brackets. What follows the link (" — ", " -- ",
// " - ", or nothing) does not matter.
func target(line string) string {
	label, rest, found := strings.Cut(line, "](")
	if !found || !opensLink(label) {
		return ""
	}
	to, _, found := strings.Cut(rest, ")")
	if !found || strings.ContainsAny(to, " \t(") {
		return ""
	}
	return strings.TrimPrefix(to, "./")
}

// opensLink reports whether the text before "](" is a label and no more than a
// list mark and emphasis before it.
func opensLink(s string) bool {
	s = strings.TrimLeft(s, " \t")
	if item(s) && s[0] != '|' {
		_, s, _ = strings.Cut(s, " ")
	}
	return strings.HasPrefix(strings.TrimLeft(s, " *_"), "[")
}

// lists reports whether a text is an index: at least half of its lines, headings
// and blank lines aside, are entries.
func lists(lines []string) bool {
	entries, others := 0, 0
	for _, line := range lines {
		switch {
		case target(line) != "":
			entries++
		case wordy(line) && !heading(line):
			others++
		}
	}
	return entries >= others
}

// entry reports whether a line stands for itself under these rules: it may be
// taken out or put in without regard to its neighbours.
func (r rules) entry(line string) bool {
	return r.index && target(line) != "" || r.listing && (blank(line) || item(line))
}

// outlives reports whether the rewrite of a line is stronger than its removal.
func (r rules) outlives(line string) bool {
	return r.listing || r.index && target(line) != ""
}

// maybeSame reports whether one line may have been made of another. An entry that
// points elsewhere is another entry, unless nothing but the target changed: then a
// file was renamed.
func (r rules) maybeSame(old, fresh string) bool {
	if !r.index {
		return true
	}
	from, to := target(old), target(fresh)
	if from == "" || to == "" || from == to {
		return true
	}
	return strings.Replace(old, from, to, 1) == fresh
}

// either joins two versions of one line. In an index the longer one will do for an
// entry when it goes on from the shorter, with the same target: it says all that
// the shorter says.
func (r rules) either(x, y string) (string, bool) {
	if x == y {
		return x, true
	}
	if !r.index || target(x) == "" || target(x) != target(y) {
		return "", false
	}
	return longer(x, y)
}

func longer(x, y string) (string, bool) {
	if len(x) < len(y) {
		x, y = y, x
	}
	return x, strings.HasPrefix(x, strings.TrimRight(y, " \t."))
}

// place is a line that a side added: which gap, and where in it.
type place struct{ gap, at int }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.gap, q.gap), cmp.Compare(p.at, q.at))
}

// added finds the entries among a side's additions, by target.
func (c *change) added() map[string][]place {
	found := map[string][]place{}
	for g, lines := range c.gaps {
		for n, line := range lines {
			if t := target(line); t != "" {
				found[t] = append(found[t], place{g, n})
			}
		}
	}
	return found
}

func (c *change) at(p place) string { return c.gaps[p.gap][p.at] }

// put replaces an added line. The gap is copied: it may be a piece of the text
// that was read.
func (c *change) put(p place, line string) {
	c.gaps[p.gap] = slices.Clone(c.gaps[p.gap])
	c.gaps[p.gap][p.at] = line
}

// drop takes added lines out again, the last first, for each shifts the ones
// behind it.
func (c *change) drop(places []place) {
	slices.SortFunc(places, func(a, b place) int { return b.compare(a) })
	for _, p := range places {
		c.gaps[p.gap] = slices.Concat(c.gaps[p.gap][:p.at], c.gaps[p.gap][p.at+1:])
	}
}

// reconcile lets the targets decide what lines leave open in an index, before the
// lines are woven: an entry that one side moved and the other rewrote is rewritten
// where it went, and an entry that both added stands once.
func reconcile(base []string, x, y *change) *doubt {
	if in := followMoves(base, x, y); in != nil {
		return in
	}
	if in := followMoves(base, y, x); in != nil {
		return in
	}
	return addOnce(x, y)
}

// followMoves looks for entries that mover took out in one place and put in
// elsewhere while the writer rewrote them.
func followMoves(base []string, mover, writer *change) *doubt {
	moved := mover.added()
	for i, line := range base {
		if mover.fates[i] != removed || writer.fates[i] != rewritten {
			continue
		}
		places := moved[target(line)]
		if target(line) == "" || len(places) != 1 {
			continue
		}
		there, text := mover.at(places[0]), writer.text[i]
		if there == line {
			there = text
		}
		joined, ok := rules{index: true}.either(there, text)
		if !ok {
			return movedAndChanged(i)
		}
		mover.put(places[0], joined)
		writer.fates[i] = removed
	}
	return nil
}

// addOnce looks for entries that both sides added. Of two places the upper one is
// taken.
func addOnce(x, y *change) *doubt {
	ofX, ofY := x.added(), y.added()
	var dropX, dropY []place
	for _, t := range inOrder(ofX) {
		if len(ofX[t]) != 1 || len(ofY[t]) != 1 {
			continue
		}
		px, py := ofX[t][0], ofY[t][0]
		line, ok := rules{index: true}.either(x.at(px), y.at(py))
		if !ok {
			return linkTwice(t)
		}
		x.put(px, line)
		y.put(py, line)
		if px.gap < py.gap {
			dropY = append(dropY, py)
		} else if py.gap < px.gap {
			dropX = append(dropX, px)
		}
	}
	x.drop(dropX)
	y.drop(dropY)
	return nil
}

// inOrder lists targets by their first place.
func inOrder(found map[string][]place) []string {
	all := make([]string, 0, len(found))
	for t := range found {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b string) int { return found[a][0].compare(found[b][0]) })
	return all
}
