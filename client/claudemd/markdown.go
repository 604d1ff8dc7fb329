package claudemd

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/teammem/teammem/api/memory"
)

// span is a part of a text.
type span struct{ start, end int }

// shape is what matters of a Markdown text: where no import is meant, and the comments
// that an agent does not get.
type shape struct {
	dead     []bool // code, comments and tags, byte by byte
	comments []span // block comments, marks included
	open     int    // offset of a comment that nothing closes; -1
}

// What the parser is given: it takes time that grows faster than the text, and with the
// depth of quotes and lists most of all. Longer than this no instructions are read well.
const (
	maxParsed = 64 << 10
	maxNested = 16
)

// shapeOf reads a text as CommonMark does. One that is too long or too deep for that is
// read by its fences, backticks and comments alone.
func shapeOf(source []byte) shape {
	s := shape{dead: make([]bool, len(source)), open: -1}
	if len(source) > maxParsed || isDeep(source) {
		s.plainly(source)
		return s
	}
	document := newParser().Parse(text.NewReader(source))
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			s.node(source, n)
		}
		return ast.WalkContinue, nil
	})
	return s
}

// newParser reads blocks, code spans and tags, and neither links nor emphasis: they
// tell nothing here, and brackets and stars can be arranged to keep a parser busy.
func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewRawHTMLParser(), 400),
		),
	)
}

// isDeep knows lines that open many quotes or lists, by their marks or by how far they
// are indented.
func isDeep(source []byte) bool {
	for line := range bytes.Lines(source) {
		rest := bytes.TrimLeft(line, " \t>-+*.)0123456789")
		opening := line[:len(line)-len(rest)]
		if len(bytes.TrimLeft(line, " \t")) < len(line)-8*maxNested {
			return true
		}
		if marks := len(opening) - bytes.Count(opening, []byte(" ")) - bytes.Count(opening, []byte("\t")); marks > maxNested && !isRule(line) {
			return true
		}
	}
	return false
}

// isRule knows a line of one mark, which parts a text and opens nothing.
func isRule(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] != '>' && len(bytes.Trim(line, string(line[:1]))) == 0
}

// plainly is for texts that the parser is not given.
func (s *shape) plainly(source []byte) {
	for i, c := range memory.Prose(source) {
		s.dead[i] = c == ' ' && source[i] != ' '
	}
	for at := 0; ; {
		n := bytes.Index(source[at:], []byte("<!--"))
		if n < 0 {
			return
		}
		from := at + n
		at = from + len("<!--")
		if s.dead[from] {
			continue
		}
		closed := bytes.Index(source[at:], []byte("-->"))
		if closed < 0 {
			s.open = from
			s.kill(text.NewSegment(from, len(source)))
			return
		}
		at += closed + len("-->")
		s.kill(text.NewSegment(from, at))
		lineStart := bytes.LastIndexByte(source[:from], '\n') + 1
		if len(bytes.TrimSpace(source[lineStart:from])) == 0 {
			s.comments = append(s.comments, span{from, at})
		}
	}
}

func (s *shape) node(source []byte, n ast.Node) {
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		if n.Info != nil {
			s.kill(n.Info.Segment)
		}
		s.lines(n.Lines())
	case *ast.CodeBlock:
		s.lines(n.Lines())
	case *ast.CodeSpan:
		for child := n.FirstChild(); child != nil; child = child.NextSibling() {
			if t, ok := child.(*ast.Text); ok {
				s.kill(t.Segment)
			}
		}
	case *ast.RawHTML:
		s.lines(n.Segments)
	case *ast.HTMLBlock:
		s.html(source, n)
	}
}

func (s *shape) lines(lines *text.Segments) {
	for i := range lines.Len() {
		s.kill(lines.At(i))
	}
}

func (s *shape) kill(part text.Segment) {
	for i := max(part.Start, 0); i < min(part.Stop, len(s.dead)); i++ {
		s.dead[i] = true
	}
}

// html looks at a block of HTML: comments go, the contents of pre, script, style and
// textarea are code, and other tags stand round text.
func (s *shape) html(source []byte, n *ast.HTMLBlock) {
	if n.Lines().Len() == 0 && !n.HasClosure() {
		return
	}
	var all span
	if n.Lines().Len() > 0 {
		all = span{n.Lines().At(0).Start, n.Lines().At(n.Lines().Len() - 1).Stop}
	}
	if n.HasClosure() {
		all.end = n.ClosureLine.Stop
		if n.Lines().Len() == 0 {
			all.start = n.ClosureLine.Start
		}
	}
	switch n.HTMLBlockType {
	case ast.HTMLBlockType1:
		s.kill(text.NewSegment(all.start, all.end))
	case ast.HTMLBlockType2:
		s.comment(source, all)
	}
}

func (s *shape) comment(source []byte, block span) {
	opened := bytes.Index(source[block.start:block.end], []byte("<!--"))
	if opened < 0 {
		return
	}
	from := block.start + opened
	closed := bytes.Index(source[from:block.end], []byte("-->"))
	if closed < 0 {
		if s.open < 0 {
			s.open = from
		}
		s.kill(text.NewSegment(from, block.end))
		return
	}
	to := from + closed + len("-->")
	s.kill(text.NewSegment(from, to))
	s.comments = append(s.comments, span{from, to})
	if bytes.Contains(source[to:block.end], []byte("<!--")) {
		s.comment(source, span{to, block.end})
	}
}

// withoutComments is the text that an agent gets. A line that held nothing but a
// comment goes with it.
func (s *shape) withoutComments(source []byte) []byte {
	if len(s.comments) == 0 {
		return source
	}
	var out []byte
	at := 0
	for _, c := range s.comments {
		start, end := c.start, c.end
		lineStart := bytes.LastIndexByte(source[:start], '\n') + 1
		lineEnd := len(source)
		if n := bytes.IndexByte(source[end:], '\n'); n >= 0 {
			lineEnd = end + n + 1
		}
		if len(bytes.TrimSpace(source[lineStart:start])) == 0 && len(bytes.TrimSpace(source[end:lineEnd])) == 0 {
			start, end = lineStart, lineEnd
		}
		if start > at {
			out = append(out, source[at:start]...)
		}
		at = max(at, end)
	}
	return append(out, source[at:]...)
}
