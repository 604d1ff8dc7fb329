package memory

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
)

// What of an index an agent is told: the first lines, and of these no more than so
// many bytes.
const (
	IndexLines = 200
	IndexBytes = 25_000
)

// Cut is the part of an index that is loaded, and what is said of the rest.
type Cut struct {
	Text    string // valid UTF-8, whole lines but where one alone is too long
	Lines   int    // of the whole file
	Bytes   int    // of the whole file
	Kept    int    // lines that are in Text, a broken one included
	ByLines bool   // the file has more than IndexLines lines
	ByBytes bool   // the file has more than IndexBytes bytes
}

// CutIndex cuts an index as it is loaded: at 200 lines, then at the last end of a line
// within 25,000 bytes, or between two characters where the first line is longer.
func CutIndex(content []byte) Cut {
	text := strings.ToValidUTF8(string(content), "\uFFFD")
	c := Cut{Lines: countLines(content), Bytes: len(content)}
	c.ByLines, c.ByBytes = c.Lines > IndexLines, c.Bytes > IndexBytes
	if c.ByLines {
		text = text[:endOfLine(text, IndexLines)]
	}
	if len(text) > IndexBytes {
		// Bytes that were no text may have grown on the way.
		c.ByBytes = true
		text = cutBytes(text, IndexBytes)
	}
	c.Text, c.Kept = text, countLines([]byte(text))
	return c
}

// Over reports whether anything was cut.
func (c Cut) Over() bool { return c.ByLines || c.ByBytes }

// Warning is what follows the kept text, empty when nothing was cut. It counts the
// whole file and names the limit that was passed.
func (c Cut) Warning() string {
	var over []string
	if c.ByLines {
		over = append(over, fmt.Sprintf("%d lines, limit %d", c.Lines, IndexLines))
	}
	if c.ByBytes {
		over = append(over, fmt.Sprintf("%d bytes, limit %d: its entries are too long", c.Bytes, IndexBytes))
	}
	if len(over) == 0 {
		return ""
	}
	return fmt.Sprintf("WARNING: %s is too large (%s). Only the first %d lines were loaded. "+
		"Keep each entry to one line under about 200 characters, and move detail into topic files.", api.IndexKey, strings.Join(over, "; "), c.Kept)
}

// countLines counts lines; the last may have no end.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// endOfLine is the offset behind the n-th line.
func endOfLine(text string, n int) int {
	at := 0
	for range n {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return len(text)
		}
		at += next + 1
	}
	return at
}

func cutBytes(text string, limit int) string {
	if end := strings.LastIndexByte(text[:limit], '\n'); end >= 0 {
		return text[:end+1]
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
