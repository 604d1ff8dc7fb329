package scan

import "math"

// matchEdited applies the rules to a view that is a copy of its parent but for its
// edits. Of the leads in it those that touch an edit are looked for, in the windows
// round the edits; the others stand in the parent, where they were tried, and are tried
// again only if what was read then goes as far as an edit.
func (d *desk) matchEdited(v *view) (err error) {
	d.begin(v)
	c := carrier{Scanner: d.Scanner, view: v, from: v.parent.tried}
	// at is where the next word may begin: none is looked for twice.
	at := 0
	for i := 0; i < len(v.edits) && err == nil; i++ {
		e := int(v.edits[i].at)
		from := max(at, e-longestLead)
		if at = e + 1; from > e {
			continue
		}
		d.literals.find(v.text, from, min(at, len(v.text)), func(end int, ids []uint16) bool {
			if end < e {
				return true // it touches none
			}
			word := end - len(d.leads[ids[0]].word)
			if err = d.carry(&c, word); err != nil {
				return false
			}
			for _, id := range ids {
				if err = d.try(v, id, word); err != nil {
					return false
				}
			}
			return true
		})
	}
	if err == nil {
		err = d.carry(&c, len(v.text))
	}
	if err != nil {
		return err
	}
	return d.search(v)
}

// carry goes through the parent's leads that begin before the place in the view.
func (d *desk) carry(c *carrier, before int) error {
	for {
		t, again, ok := c.next(before)
		switch {
		case !ok:
			return nil
		case !again:
			c.view.tried = append(c.view.tried, t)
		default:
			if err := d.try(c.view, t.lead, int(t.word)); err != nil {
				return err
			}
		}
	}
}

// carrier finds where in a view the parent's leads stand.
type carrier struct {
	*Scanner
	view *view
	from []tried // those that are left
	span int     // where the last one stood
	edit int     // where the last one was looked for
}

// next gives the next lead that stands in the view as it did in the parent and begins
// before the place; again says that what was read of it then is another text now.
func (c *carrier) next(before int) (t tried, again, ok bool) {
	for len(c.from) > 0 {
		t = c.from[0]
		word, copied := c.place(int(t.word))
		if copied && word >= before {
			break
		}
		c.from = c.from[1:]
		if !copied {
			continue
		}
		lead := c.leads[t.lead]
		first, own := c.editsFrom(word-lead.width+len(lead.word)), c.editsFrom(word)
		if own <= word+len(lead.word) {
			continue // it touches an edit, so it is looked for
		}
		read := int(t.read-t.word) + word
		return tried{t.lead, int32(word), int32(read)}, first <= max(read, word) || c.starts[lead.start].near, true
	}
	return t, false, false
}

// editsFrom is the place of the first edit at or behind a place, which may be a little
// before the one that was asked for last.
func (c *carrier) editsFrom(at int) int {
	edits := c.view.edits
	for c.edit > 0 && int(edits[c.edit-1].at) >= at {
		c.edit--
	}
	for c.edit < len(edits) && int(edits[c.edit].at) < at {
		c.edit++
	}
	if c.edit == len(edits) {
		return math.MaxInt
	}
	return int(edits[c.edit].at)
}

// place is where a byte of the parent stands in the view. It is asked in rising order.
func (c *carrier) place(at int) (place int, copied bool) {
	spans := c.view.spans
	for c.span+1 < len(spans) && int(spans[c.span+1].parent) <= at {
		c.span++
	}
	if c.span == len(spans) || int(spans[c.span].parent) > at {
		return 0, false
	}
	s, end := spans[c.span], len(c.view.text)
	if c.span+1 < len(spans) {
		end = int(spans[c.span+1].at)
	}
	place = int(s.at) + at - int(s.parent)
	return place, s.width == 0 && place < end
}
