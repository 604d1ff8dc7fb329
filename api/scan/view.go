package scan

import "sort"

// view is one reading of the text: the bytes that rules see, and the way back to
// the original.
type view struct {
	text []byte
	// parent is what the view was made from; nil means the original.
	parent *view
	spans  []span
	edits  []edit
	// step is how many bytes of the parent stand for three of ours, for decoded
	// base64; 0 otherwise.
	step int
	from int // where in the parent decoded base64 begins
	// tried are the leads that stand in it, in order of place.
	tried []tried
}

// tried is a lead that was found, and what became of it: whatever stands at or behind
// read had no say in it.
type tried struct {
	lead uint16
	word int32 // where its word begins
	read int32
}

// copies reports whether the view is a copy of its parent but for its edits.
func (v *view) copies() bool { return v.parent != nil && v.step == 0 }

// span says where in the parent a stretch of the view stands. With a width it is
// one character that width bytes of the parent stand for; otherwise it is a copy.
type span struct{ at, parent, width int32 }

// edit is a place where the view differs from its parent.
type edit struct {
	at   int32
	kind editKind
}

type editKind uint8

const (
	decoded editKind = iota // another spelling of a character
	removed                 // something invisible or Markdown was here: joined or not, both can be meant
	broken                  // a line break was here
)

// begin gives the place in the original of the byte at.
func (v *view) begin(at int) int {
	switch {
	case v.parent == nil:
		return at
	case v.step > 0:
		return v.parent.begin(v.from + at*v.step/3)
	}
	s := v.spanOf(at)
	if s.width > 0 {
		return v.parent.begin(int(s.parent))
	}
	return v.parent.begin(int(s.parent) + at - int(s.at))
}

// end gives the place in the original behind the byte before at.
func (v *view) end(at int) int {
	switch {
	case v.parent == nil || at == 0:
		return v.begin(at)
	case v.step > 0:
		return v.parent.end(min(v.from+(at*v.step+2)/3, len(v.parent.text)))
	}
	s := v.spanOf(at - 1)
	if s.width > 0 {
		return v.parent.end(int(s.parent + s.width))
	}
	return v.parent.end(int(s.parent) + at - int(s.at))
}

func (v *view) spanOf(at int) span {
	i := sort.Search(len(v.spans), func(i int) bool { return int(v.spans[i].at) > at })
	if i == 0 {
		return span{}
	}
	return v.spans[i-1]
}

// editsIn gives the edits in [from, to].
func (v *view) editsIn(from, to int) []edit {
	i := sort.Search(len(v.edits), func(i int) bool { return int(v.edits[i].at) >= from })
	j := i
	for j < len(v.edits) && int(v.edits[j].at) <= to {
		j++
	}
	return v.edits[i:j]
}

// reset makes v an empty view of parent, keeping its memory.
func (v *view) reset(parent *view) {
	*v = view{text: v.text[:0], parent: parent, spans: v.spans[:0], edits: v.edits[:0], tried: v.tried[:0]}
}

// trim lets go of the parent, and of memory beyond most bytes.
func (v *view) trim(most int) {
	v.parent = nil
	if cap(v.text) > most || cap(v.spans) > most/16 || cap(v.edits) > most/16 || cap(v.tried) > most/16 {
		*v = view{}
	}
}

// copyFrom appends the parent's bytes [from, to).
func (v *view) copyFrom(from, to int) {
	if from >= to {
		return
	}
	v.spans = append(v.spans, span{at: int32(len(v.text)), parent: int32(from)})
	v.text = append(v.text, v.parent.text[from:to]...)
}

// put appends one character that the parent's bytes [from, to) stand for.
func (v *view) put(c byte, from, to int) {
	v.mark(decoded)
	v.spans = append(v.spans, span{at: int32(len(v.text)), parent: int32(from), width: int32(to - from)})
	v.text = append(v.text, c)
	v.mark(decoded)
}

func (v *view) mark(kind editKind) {
	v.edits = append(v.edits, edit{int32(len(v.text)), kind})
}
