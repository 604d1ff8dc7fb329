package scan

import (
	"cmp"
	"slices"
)

// window is the surroundings of a keyword, for a rule that no literal leads.
type window struct{ start, from, to int }

const nearby = 256

// search applies the rules that no literal leads to the surroundings of their
// keywords.
func (d *desk) search(v *view) error {
	slices.SortFunc(d.windows, func(a, b window) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.from, b.from))
	})
	for i := 0; i < len(d.windows); {
		w := d.windows[i]
		for i++; i < len(d.windows) && d.windows[i].start == w.start && d.windows[i].from <= w.to; i++ {
			w.to = d.windows[i].to
		}
		edits := v.editsIn(w.from, w.to)
		if v.copies() && len(edits) == 0 {
			continue // the parent's was searched
		}
		if err := d.searchIn(v, w.start, w.from, w.to); err != nil {
			return err
		}
		for _, e := range edits {
			if e.kind == decoded || int(e.at) == w.from {
				continue
			}
			if err := d.searchIn(v, w.start, w.from, int(e.at)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *desk) searchIn(v *view, start, from, to int) error {
	if d.spent.exact += to - from; d.spent.exact > d.spent.mostExact {
		return ErrTooDense
	}
	st := d.starts[start]
	for _, loc := range st.regexp().FindAllSubmatchIndex(v.text[from:to], -1) {
		for k := range loc {
			if loc[k] >= 0 {
				loc[k] += from
			}
		}
		if d.counts[st.rule.index] < mostOfARule {
			d.judge(v, st.rule, loc, nil)
		}
	}
	return nil
}
