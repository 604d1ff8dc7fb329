package merge

import "fmt"

// doubt is why a merge is not clean: nil for one that is.
type doubt struct {
	line int    // counted from 1 in the base, 0 for none
	text string // may hold one %d for the line
}

func (d *doubt) reason() string {
	if d.line == 0 {
		return d.text
	}
	return fmt.Sprintf(d.text, d.line)
}

// below moves a doubt of a part to where the part begins in the file.
func (d *doubt) below(lines int) *doubt {
	if d.line > 0 {
		d.line += lines
	}
	return d
}

// The doubts, by what makes them. Base lines come in counted from 0.

func bothChanged(i int) *doubt { return &doubt{i + 1, "both changed line %d"} }

func removedAndChanged(i int) *doubt {
	return &doubt{i + 1, "one side removed line %d and the other changed it"}
}

func addedInsideRemoved(i int) *doubt {
	return &doubt{i + 1, "one side removed or rewrote the text around line %d and the other added to it"}
}

func addedOverlapping(i int) *doubt {
	return &doubt{i + 1, "both added some of the same lines before line %d, in different company"}
}

func movedAndChanged(i int) *doubt {
	return &doubt{i + 1, "both changed line %d, and one side moved it"}
}

func wouldDouble() *doubt {
	return &doubt{text: "the same text was added or moved by both, to different places"}
}

func linkTwice(target string) *doubt {
	return &doubt{text: fmt.Sprintf("both added a link to %s, with different words", target)}
}

func fieldChanged(path string) *doubt {
	return &doubt{text: fmt.Sprintf("both changed the field %s", path)}
}

func fieldRemoved(path string) *doubt {
	return &doubt{text: fmt.Sprintf("one side removed the field %s and the other changed it", path)}
}

func headRemoved() *doubt {
	return &doubt{text: "one side removed the front matter and the other changed it"}
}

func unknownBase() *doubt {
	return &doubt{text: "the texts differ and what they both started from is not known"}
}
