package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// The weights of the ranking. k1 and the b of a text are the usual ones; names and
// descriptions are short by nature, so their length says less.
const (
	k1 = 1.2
	// near is the share of a question that the best note must hold.
	near = 0.4
	// telling is how much more of a question a note holds by a word of its name or
	// description than by one of its text.
	telling = 1.15
	// enough is how many of the rarest words stand for a long question: a page
	// of text asks no more than a sentence does. A pair of characters is half a
	// word.
	enough = 5
	// beside is the least score of the others, as a share of the best one's.
	beside = 0.2
	// mostUnits bounds the words of a question that are looked up.
	mostUnits = 64
)

var (
	boost = [fields]float64{inName: 2.5, inDescription: 2, inBody: 1}
	flat  = [fields]float64{inName: 0.3, inDescription: 0.4, inBody: 0.75}
)

// unit is a word of a question: one term, or a compound with its pieces.
type unit struct {
	start, end int // in the prepared text
	pair       bool
	weight     float64
	rarity     float64 // weight times how rare it is
	terms      []uint32
	found      [][]posting // for each term
}

// standing is how a note stands to the question.
type standing struct {
	doc          int
	score, share float32 // share: of the question's rarity
}

// scratch is what one search adds up, by note.
type scratch struct {
	score, share []float32
	worth, part  []float32 // of one compound
	in           []field
	touched      []int32
}

// Search answers a question, best first. Notes of one score are ordered by their
// time, the newest first, then by path.
func (x *Index) Search(q Query) []Match {
	x.mu.RLock()
	defer x.mu.RUnlock()
	limit := q.Limit
	if limit <= 0 {
		limit = Most
	}
	text := prepare(q.Text)
	units := x.ask(text)
	best := x.best(units, limit, x.leftOut(q))
	if len(best) == 0 || float64(best[0].share) < near*wholeOf(units) {
		return nil
	}
	matches := make([]Match, 0, len(best))
	for _, s := range best {
		if s.score < beside*best[0].score {
			break
		}
		matches = append(matches, Match{
			Note:   x.docs[s.doc].note,
			Score:  math.Round(float64(s.score)*1000) / 1000,
			Reason: reason(text, units, s.doc),
		})
	}
	return matches
}

// ask takes a question apart and looks its words up.
func (x *Index) ask(text string) []unit {
	var units []unit
	seen := map[uint32]bool{}
	newSplitter().split(text, func(t term) {
		h := hash(t.text)
		if t.part {
			last := &units[len(units)-1]
			last.terms = append(last.terms, h)
			return
		}
		units = append(units, unit{start: t.start, end: t.end, pair: t.pair, weight: weakness(string(t.text)), terms: []uint32{h}})
	})
	units = slices.DeleteFunc(units, func(u unit) bool {
		before := seen[u.terms[0]]
		seen[u.terms[0]] = true
		return before
	})
	for i := range units {
		x.lookUp(&units[i])
	}
	x.bridge(units)
	if len(units) > mostUnits {
		slices.SortStableFunc(units, func(a, b unit) int { return cmp.Compare(b.rarity, a.rarity) })
		units = units[:mostUnits]
		slices.SortFunc(units, func(a, b unit) int { return cmp.Compare(a.start, b.start) })
	}
	return units
}

// bridge makes little of the pairs that stand across the seam of two words, as in a
// question in Chinese: nothing holds them, and what they touch is found, or holds the
// sentence together.
func (x *Index) bridge(units []unit) {
	touches := func(i, j int) bool {
		return i >= 0 && j < len(units) && units[j].start < units[i].end && len(units[i].terms) == 1
	}
	across := make([]bool, len(units))
	for i, u := range units {
		if len(u.found[0]) > 0 {
			continue
		}
		left, right := touches(i-1, i), touches(i, i+1)
		glued := left && units[i-1].weight <= glueWeight || right && units[i+1].weight <= glueWeight
		between := left && right && len(units[i-1].found[0]) > 0 && len(units[i+1].found[0]) > 0
		across[i] = glued || between
	}
	for i := range units {
		if across[i] {
			units[i].weight *= glueWeight
			units[i].rarity *= glueWeight
		}
	}
}

func (x *Index) lookUp(u *unit) {
	u.found = make([][]posting, len(u.terms))
	u.found[0] = x.find(u.terms[0])
	rare := x.rarity(len(u.found[0]))
	if len(u.terms) > 1 {
		// A compound is as rare as its pieces are together, but for one that is
		// known as it is written.
		pieces := 0.0
		for i, t := range u.terms[1:] {
			u.found[i+1] = x.find(t)
			pieces = max(pieces, x.rarity(len(u.found[i+1])))
		}
		if len(u.found[0]) == 0 {
			rare = pieces
		}
	}
	u.rarity = u.weight * rare
}

// rarity is the weight of a term that stands in so many notes. One that stands in
// none weighs as much as one that stands in a single note.
func (x *Index) rarity(notes int) float64 {
	notes = max(notes, 1)
	return math.Log(1 + (float64(len(x.byPath)-notes)+0.5)/(float64(notes)+0.5))
}

// best scores every note that holds a word of the question, and gives the best of
// those that are not left out.
func (x *Index) best(units []unit, limit int, leftOut func(*document) bool) []standing {
	s, ok := x.pool.Get().(*scratch)
	if !ok || len(s.score) < len(x.docs) {
		n := len(x.docs) + len(x.docs)/8
		s = &scratch{make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n), make([]field, n), nil}
	}
	defer x.pool.Put(s)
	clear(s.score[:len(x.docs)])
	clear(s.share[:len(x.docs)])
	for i := range units {
		s.add(&units[i])
	}
	best := make([]standing, 0, limit+1)
	for doc, score := range s.score[:len(x.docs)] {
		if score <= 0 || len(best) == limit && score < best[limit-1].score || leftOut(&x.docs[doc]) {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, standing{doc: doc, score: score}, x.order)
		best = slices.Insert(best, at, standing{doc, score, s.share[doc]})
		best = best[:min(len(best), limit)]
	}
	return best
}

// order puts the better before the worse.
func (x *Index) order(a, b standing) int {
	if by := cmp.Compare(b.score, a.score); by != 0 {
		return by
	}
	p, q := &x.docs[a.doc].note, &x.docs[b.doc].note
	return cmp.Or(q.Modified.Compare(p.Modified), strings.Compare(p.Path, q.Path))
}

// add gives each note that holds a unit what that is worth, once. A compound counts
// whole where it stands whole, else by the share of its pieces.
func (s *scratch) add(u *unit) {
	rarity := float32(u.rarity)
	if len(u.terms) == 1 {
		for _, p := range u.found[0] {
			s.score[p.doc] += rarity * p.worth
			s.share[p.doc] += rarity * p.in.tells()
		}
		return
	}
	piece := 1 / float32(len(u.terms)-1)
	for i, found := range u.found {
		for _, p := range found {
			if s.part[p.doc] == 0 {
				s.touched = append(s.touched, p.doc)
				s.in[p.doc] = p.in
			}
			switch {
			case i == 0:
				s.worth[p.doc], s.part[p.doc] = p.worth, 1
			case s.part[p.doc] < 1:
				s.worth[p.doc] += p.worth * piece
				s.part[p.doc] = min(s.part[p.doc]+piece, almost)
			}
		}
	}
	for _, doc := range s.touched {
		s.score[doc] += rarity * s.worth[doc]
		s.share[doc] += rarity * s.part[doc] * s.in[doc].tells()
		s.worth[doc], s.part[doc] = 0, 0
	}
	s.touched = s.touched[:0]
}

// almost is the share of a compound whose pieces are all there.
const almost = 0.999

// tells is how much of a question a word says in a field.
func (f field) tells() float32 {
	if f == inBody {
		return 1
	}
	return telling
}

// wholeOf is what a note would have to hold to hold all of a question.
func wholeOf(units []unit) float64 {
	rarest := slices.SortedStableFunc(slices.Values(units), func(a, b unit) int { return cmp.Compare(b.rarity, a.rarity) })
	whole, words := 0.0, 0.0
	for _, u := range rarest {
		size := 1.0
		if u.pair {
			size = 0.5
		}
		if words+size > enough {
			break
		}
		words += size
		whole += u.rarity
	}
	return whole
}

// post says what a term's counts in a note are worth, between 0 and k1+1, and which
// field gives most of it.
func (x *Index) post(doc int, c count) posting {
	d, n := &x.docs[doc], float64(len(x.byPath))
	counts := [fields]float64{float64(c.name), float64(c.description), float64(c.body)}
	sum, most, in := 0.0, 0.0, inBody
	for f := range fields {
		if counts[f] == 0 {
			continue
		}
		long := float64(d.lengths[f]) * n / float64(max(x.total[f], 1))
		part := boost[f] * counts[f] / (1 - flat[f] + flat[f]*long)
		if sum += part; part > most {
			most, in = part, f
		}
	}
	return posting{int32(doc), float32(sum * (k1 + 1) / (k1 + sum)), in}
}

// place is where a unit was found in a note.
type place struct {
	unit  *unit
	score float64
	in    field // the strongest
}

// placesOf looks up again what was found in one note.
func placesOf(units []unit, doc int) []place {
	var all []place
	for i := range units {
		u := &units[i]
		var best *posting
		for _, found := range u.found {
			at, ok := slices.BinarySearchFunc(found, int32(doc), func(p posting, doc int32) int { return cmp.Compare(p.doc, doc) })
			if ok && (best == nil || found[at].worth > best.worth) {
				best = &found[at]
			}
		}
		if best != nil {
			all = append(all, place{u, u.rarity * float64(best.worth), best.in})
		}
	}
	return all
}

// reason says which words were found where, in the question's order.
func reason(text string, units []unit, doc int) string {
	const most = 6
	kept := placesOf(units, doc)
	slices.SortStableFunc(kept, func(a, b place) int { return cmp.Compare(b.score, a.score) })
	kept = kept[:min(len(kept), most)]
	slices.SortFunc(kept, func(a, b place) int { return cmp.Compare(a.unit.start, b.unit.start) })
	var parts []string
	for f := range fields {
		var words []string
		end := -1
		for _, p := range kept {
			if p.in != f {
				continue
			}
			u := p.unit
			if n := len(words); n > 0 && u.start < end {
				words[n-1] += text[end:u.end] // overlapping pairs are one word
			} else {
				words = append(words, text[u.start:u.end])
			}
			end = u.end
		}
		if len(words) > 0 {
			parts = append(parts, f.String()+": "+strings.Join(words, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
