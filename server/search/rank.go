package search

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/teammem/teammem/server/store"
)

// The constants of BM25, as usual, and how often a word in the head counts.
const (
	saturation = 1.2
	lengths    = 0.75
	inHead     = 4
)

// Rank puts what was found in order, best first. weights says how much each term
// counts, see [Weight]; nil: all the same. It gives the same order for the same hits
// in the same order, and nothing else plays a part.
func Rank(terms []store.SearchTerm, weights []float64, hits []store.SearchHit) {
	type ranked struct {
		hit   store.SearchHit
		score float64
	}
	all, total := make([]ranked, len(hits)), 0.0
	sizes := make([]float64, len(hits))
	for i := range hits {
		all[i].hit = hits[i]
		sizes[i] = float64(strings.Count(hits[i].Words, " "))
		total += sizes[i]
	}
	mean := math.Max(1, total/math.Max(1, float64(len(hits))))
	for i := range all {
		for n, term := range terms {
			weight := 1.0
			if weights != nil {
				weight = weights[n]
			}
			text := textOf(term)
			// Only what stands in the text counts less in a long one.
			often := float64(count(hits[i].Words, text))/(1-lengths+lengths*sizes[i]/mean) + float64(inHead*count(hits[i].Head, text))
			all[i].score += weight * often * (saturation + 1) / (often + saturation)
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	for i := range all {
		hits[i] = all[i].hit
	}
}

// Weight is how much a term counts of which so many documents were counted, at most
// so many: the rarer, the more.
func Weight(found, most int) float64 {
	return math.Log(1 + float64(most)/float64(max(1, found)))
}

// textOf is a term as it stands among spaced words.
func textOf(term store.SearchTerm) string {
	text := " " + strings.Join(term.Words, " ")
	if term.Prefix {
		return text
	}
	return text + " "
}

// count is how often a term stands among spaced words. Two in a row share a space.
func count(words, text string) (n int) {
	for {
		at := strings.Index(words, text)
		if at < 0 {
			return n
		}
		n++
		words = words[at+len(text)-1:]
	}
}
