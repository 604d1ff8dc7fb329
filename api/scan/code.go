package scan

import "bytes"

// codeRuns tells, for places asked in rising order, whether they are inside of
// Markdown's fenced code or a code span of one line. Indented code is not told
// apart from text.
type codeRuns struct {
	text  []byte
	line  int    // where the line that was looked at last begins
	end   int    // and ends
	fence []byte // what closes the open fence; nil outside
	begun bool
	// spanAt is how far the line was looked through for code spans, and open the
	// length of the run of backticks that opens the one it is in.
	spanAt, open int
}

// holds reports whether the place is in code.
func (c *codeRuns) holds(at int) bool {
	for !c.begun || at >= c.end && c.end < len(c.text) {
		c.advance()
	}
	return c.fence != nil || c.inSpan(at)
}

// advance goes to the next line.
func (c *codeRuns) advance() {
	c.begun, c.open = true, 0
	c.line = c.end
	if i := bytes.IndexByte(c.text[c.line:], '\n'); i >= 0 {
		c.end = c.line + i + 1
	} else {
		c.end = len(c.text)
	}
	mark := fenceMark(c.text[c.line:c.end])
	switch {
	case mark == nil:
	case c.fence == nil:
		c.fence = mark
	case mark[0] == c.fence[0] && len(mark) >= len(c.fence):
		c.fence = nil
	}
}

// fenceMark gives the run of backticks or tildes that opens or closes fenced code.
func fenceMark(line []byte) []byte {
	line = bytes.TrimLeft(line, " \t>")
	n := 0
	for n < len(line) && (line[n] == '`' || line[n] == '~') && line[n] == line[0] {
		n++
	}
	if n < 3 || line[0] == '`' && bytes.IndexByte(line[n:], '`') >= 0 {
		return nil
	}
	return line[:n]
}

// inSpan reports whether the place is in a code span: behind an odd one of a run of
// backticks, and before another.
func (c *codeRuns) inSpan(at int) bool {
	c.spanAt = max(c.spanAt, c.line)
	for c.spanAt < at {
		if c.text[c.spanAt] != '`' {
			c.spanAt++
			continue
		}
		n := 1
		for c.spanAt+n < at && c.text[c.spanAt+n] == '`' {
			n++
		}
		switch c.open {
		case 0:
			c.open = n
		case n:
			c.open = 0
		}
		c.spanAt += n
	}
	return c.open > 0 && bytes.IndexByte(c.text[at:c.end], '`') >= 0
}
