package memory

import "bytes"

// Prose is the text with its front matter, code blocks and code spans turned into
// spaces. Every other byte stands at the offset where it stood, so that a link that is
// found here can be looked up, or edited, there.
func Prose(text []byte) []byte {
	b, opened := cutBlock(text)
	if !opened || !b.closed {
		b.body = 0
	}
	out := bytes.Clone(text)
	blank(out[:b.body])
	var code []byte // the fence that is open
	paragraph := b.body
	for at := b.body; at < len(out); {
		line, next := lineAt(out, at)
		mark := codeFence(line)
		switch {
		case code != nil:
			if closesFence(line, code) {
				code = nil
			}
			blank(out[at:next])
			paragraph = next
		case mark != nil:
			blankSpans(out[paragraph:at])
			code = bytes.Clone(mark)
			blank(out[at:next])
		case len(bytes.TrimSpace(line)) == 0:
			blankSpans(out[paragraph:at])
			paragraph = next
		}
		at = next
	}
	blankSpans(out[min(paragraph, len(out)):])
	return out
}

// codeFence is the run of backticks or tildes that opens a block of code in a line, at
// any depth of a list.
func codeFence(line []byte) []byte {
	line = bytes.TrimLeft(line, " \t")
	if len(line) == 0 || line[0] != '`' && line[0] != '~' {
		return nil
	}
	n := run(line)
	if n < 3 || line[0] == '`' && bytes.IndexByte(line[n:], '`') >= 0 {
		return nil
	}
	return line[:n]
}

// closesFence reports whether the line is a fence of the same kind, at least as long,
// and nothing else.
func closesFence(line, opened []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) >= len(opened) && line[0] == opened[0] && run(line) == len(line)
}

// run counts how often the first byte stands there.
func run(s []byte) int {
	n := 0
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

// blankSpans blanks the code spans of a paragraph: from a run of backticks to the next
// run of the same length. A run that nothing closes is text.
func blankSpans(text []byte) {
	closers := map[int][]int{} // by length, the offsets of runs, ascending
	for at := 0; at < len(text); at++ {
		if text[at] == '`' {
			n := run(text[at:])
			closers[n] = append(closers[n], at)
			at += n - 1
		}
	}
	for at := 0; len(closers) > 0 && at < len(text); at++ {
		if text[at] != '`' {
			continue
		}
		n := run(text[at:])
		later := closers[n]
		for len(later) > 0 && later[0] <= at {
			later = later[1:]
		}
		closers[n] = later
		if len(later) == 0 {
			at += n - 1
			continue
		}
		blank(text[at : later[0]+n])
		at = later[0] + n - 1
	}
}

// blank leaves the ends of lines where they are.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' && c != '\r' {
			text[i] = ' '
		}
	}
}
