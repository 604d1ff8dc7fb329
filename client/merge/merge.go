// Package merge joins two edits of one memory file that started from the same
// text. It is a pure function of its three texts: no I/O, no clock, no state. The
// syncer calls it when a file changed here and at the server, and `client merge`
// puts it on the command line.
//
// It promises that a clean result holds every line that either side added and
// lacks every line that either removed, that no line is doubled or dropped
// without being asked for, that no conflict marker is ever written, and that the
// result does not depend on which side is called mine: two clients that merge the
// same pair get the same bytes and have nothing more to say to each other. Where
// that cannot be had the answer is "not clean", with a reason, and the caller
// keeps both texts.
//
// A file is taken apart into what concerns the whole of it (byte order mark, line
// ends, final newline), its front matter, merged by field, and its body, merged by
// line. In an index (MEMORY.md) the target of a link decides what the lines leave
// open. DESIGN.md, beside this file, has the terms, the rules and what was
// rejected.
package merge

import (
	"bytes"
	"slices"

	"github.com/teammem/teammem/api"
)

// Result is the outcome of a merge.
type Result struct {
	// Text is the merged file. It is nil when the merge is not clean, and not nil
	// otherwise. It may share memory with the texts that went in.
	Text []byte
	// Clean reports whether the two edits could be joined.
	Clean bool
	// Reason says for people why the merge is not clean, in one clause in lower
	// case: "both changed line 14". Lines are counted in the text that both sides
	// started from. It quotes no contents beyond the name of a field or of a link's
	// target.
	Reason string
	// Line is the line that Reason speaks of, counted from 1 in the text both
	// started from; 0 when it speaks of none.
	Line int
}

// Merge joins mine and theirs, which both came from base. A nil base means that
// it is not known, or that both sides added the file; an empty one means a file
// without contents. key decides by which rules: an index has its own.
func Merge(key api.Key, base, mine, theirs []byte) Result {
	known := base != nil
	switch {
	case bytes.Equal(mine, theirs):
		return clean(mine)
	case known && bytes.Equal(base, mine):
		return clean(theirs)
	case known && bytes.Equal(base, theirs):
		return clean(mine)
	}
	// From here on neither side is preferred, so that they may be put in an order
	// that both clients agree on. All else follows from it.
	if bytes.Compare(mine, theirs) > 0 {
		mine, theirs = theirs, mine
	}
	b, x, y, whole := open(base, mine, theirs)
	lines, in := mergeFile(key, known, b, x, y)
	if in != nil {
		return Result{Reason: in.reason(), Line: in.line}
	}
	return clean(whole.join(lines))
}

func clean(text []byte) Result {
	if text == nil {
		text = []byte{}
	}
	return Result{Text: text, Clean: true}
}

// mergeFile merges front matter and body, each by its own rules.
func mergeFile(key api.Key, known bool, base, x, y []string) ([]string, *doubt) {
	headBase, bodyBase := cutHead(base)
	headX, bodyX := cutHead(x)
	headY, bodyY := cutHead(y)

	head, in := mergeHeads(headBase, headX, headY)
	if in != nil {
		return nil, in
	}
	body, in := mergeBody(key, known, bodyBase, bodyX, bodyY)
	if in != nil {
		return nil, in.below(len(base) - len(bodyBase))
	}
	return append(head, body...), nil
}

// mergeBody chooses the rules for a body.
func mergeBody(key api.Key, known bool, base, x, y []string) ([]string, *doubt) {
	if !key.IsIndex() {
		if !known && !slices.Equal(x, y) {
			return nil, unknownBase()
		}
		return mergeLines(base, x, y, rules{})
	}
	if known {
		return mergeLines(base, x, y, rules{index: true, listing: lists(base)})
	}
	// Nobody knows what either removed, so nothing was: what both have is the base
	// and the rest are additions. Of prose that would keep two drafts of one
	// paragraph, hence only of an index that is one.
	if !lists(x) || !lists(y) {
		if !slices.Equal(x, y) {
			return nil, unknownBase()
		}
		return x, nil
	}
	return mergeLines(common(x, y), x, y, rules{index: true, listing: true})
}
