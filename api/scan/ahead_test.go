package scan

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestNothingIsRuledOutThatMatches holds the looks ahead against the machines that
// they spare: over every lead, and what stands behind it in matches and in prose.
func TestNothingIsRuledOutThatMatches(t *testing.T) {
	s := newScanner(t)
	d := newDesk(s)
	var texts []string
	for _, sample := range samples(t) {
		texts = append(texts, sample.text, "- **a**: `"+sample.text+"`, b\n")
	}
	rng := seeded("ahead")
	for range 300 {
		texts = append(texts, prose(rng, 20)+string(rune(rng.IntN(128)))+paragraph(rng), mixed(rng, s))
	}
	ruledOut, matched := 0, 0
	for _, text := range texts {
		text := []byte(text)
		clear(d.needed)
		s.literals.find(text, 0, len(text), func(end int, ids []uint16) bool {
			for _, id := range ids {
				lead := s.leads[id]
				st, at := s.starts[lead.start], end-lead.width
				if at < 0 || st.near {
					continue
				}
				clear(d.met)
				lead.met.Store(aheadAfter)
				out, _ := d.ruledOut(text[end:], lead)
				last, _ := d.run(text, lead.start, at)
				needless := st.needs != nil && d.needless(text, st, at)
				if last >= 0 && (out || needless) {
					t.Errorf("%s: %q is ruled out (behind the lead: %v, by its needs: %v)", st.rule.id, text[at:last], out, needless)
				}
				if last >= 0 {
					matched++
				} else if out || needless {
					ruledOut++
				}
			}
			return true
		})
	}
	if matched < 500 || ruledOut < 5000 {
		t.Errorf("%d matched, %d were ruled out: too few to say anything", matched, ruledOut)
	}
}

// mixed is leads with all manner of things behind them.
func mixed(rng *rand.Rand, s *Scanner) string {
	const glue = " =:'\"-_./,\n\tKké"
	var b strings.Builder
	for range 30 {
		word := s.leads[rng.IntN(len(s.leads))].word
		if rng.IntN(2) == 0 {
			word = strings.ToUpper(word)
		}
		b.WriteString(word)
		for range rng.IntN(4) {
			b.WriteByte(glue[rng.IntN(len(glue))])
		}
		b.WriteString(hexes(rng, rng.IntN(3)*rng.IntN(30)))
	}
	return b.String()
}
