package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a value.
type Kind int

// The kinds. Numbers and the words true, false and null are all Other.
const (
	Object Kind = iota
	Array
	String
	Other
)

// Value is one value of a document, and where it stands.
type Value struct {
	Kind       Kind
	Start, End int // in the text
	Text       string
	Members    []*Member // of an object, in order
	Items      []*Value  // of an array
	comma      bool      // a comma stands behind the last part
}

// Member is one field of an object.
type Member struct {
	Key   string
	Start int // of the key
	Value *Value
}

// Member finds a field of an object; the last of one name counts, as for most readers.
func (v *Value) Member(key string) *Member {
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Key == key {
			return v.Members[i]
		}
	}
	return nil
}

// Document is a parsed text.
type Document struct {
	text []byte
	Root *Value
}

const bom = "\uFEFF"

// maxDepth bounds how deep values nest.
const maxDepth = 200

// SyntaxError says where a text is not what it should be.
type SyntaxError struct {
	Line int
	What string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// Parse reads JSON with comments and trailing commas. An empty text is an empty object.
func Parse(text []byte) (*Document, error) {
	p := &parser{text: text}
	if !utf8.Valid(text) {
		return nil, p.fail("is not UTF-8")
	}
	if bytes.HasPrefix(text, []byte(bom)) {
		p.at = len(bom)
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.at == len(text) {
		return &Document{text: text, Root: &Value{Kind: Object, Start: p.at, End: p.at}}, nil
	}
	root, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.at < len(text) {
		return nil, p.fail("something follows the end")
	}
	return &Document{text: text, Root: root}, nil
}

type parser struct {
	text []byte
	at   int
}

func (p *parser) fail(what string) error {
	return &SyntaxError{Line: 1 + bytes.Count(p.text[:min(p.at, len(p.text))], []byte("\n")), What: what}
}

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// space passes over white space and comments.
func (p *parser) space() error {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.at++
		case bytes.HasPrefix(p.text[p.at:], []byte("//")):
			end := bytes.IndexByte(p.text[p.at:], '\n')
			if end < 0 {
				p.at = len(p.text)
				return nil
			}
			p.at += end + 1
		case bytes.HasPrefix(p.text[p.at:], []byte("/*")):
			end := bytes.Index(p.text[p.at+2:], []byte("*/"))
			if end < 0 {
				return p.fail("a comment does not end")
			}
			p.at += 2 + end + 2
		default:
			return nil
		}
	}
	return nil
}

func (p *parser) value(depth int) (*Value, error) {
	if depth > maxDepth {
		return nil, p.fail("is nested too deep")
	}
	switch c := p.peek(); {
	case c == '{':
		return p.parts(Object, '}', depth)
	case c == '[':
		return p.parts(Array, ']', depth)
	case c == '"':
		return p.str()
	}
	return p.word()
}

// parts reads an object or an array.
func (p *parser) parts(kind Kind, end byte, depth int) (*Value, error) {
	v := &Value{Kind: kind, Start: p.at}
	p.at++
	for first := true; ; first = false {
		if err := p.space(); err != nil {
			return nil, err
		}
		if p.peek() == end {
			p.at++
			v.End = p.at
			return v, nil
		}
		if !first && !v.comma {
			return nil, p.fail("a comma is missing")
		}
		if err := p.part(v, depth); err != nil {
			return nil, err
		}
		if err := p.space(); err != nil {
			return nil, err
		}
		if v.comma = p.peek() == ','; v.comma {
			p.at++
		}
	}
}

func (p *parser) part(v *Value, depth int) error {
	if v.Kind == Array {
		item, err := p.value(depth + 1)
		v.Items = append(v.Items, item)
		return err
	}
	if p.peek() != '"' {
		return p.fail("a name in quotes is missing")
	}
	key, err := p.str()
	if err != nil {
		return err
	}
	if err := p.space(); err != nil {
		return err
	}
	if p.peek() != ':' {
		return p.fail("a colon is missing")
	}
	p.at++
	if err := p.space(); err != nil {
		return err
	}
	value, err := p.value(depth + 1)
	v.Members = append(v.Members, &Member{Key: key.Text, Start: key.Start, Value: value})
	return err
}

func (p *parser) str() (*Value, error) {
	v := &Value{Kind: String, Start: p.at}
	for p.at++; ; p.at++ {
		switch c := p.peek(); {
		case p.at >= len(p.text) || c == '\n':
			return nil, p.fail("a text in quotes does not end")
		case c == '\\':
			p.at++
		case c == '"':
			p.at++
			v.End = p.at
			if err := json.Unmarshal(p.text[v.Start:v.End], &v.Text); err != nil {
				return nil, p.fail("a text in quotes is not one")
			}
			return v, nil
		}
	}
}

func (p *parser) word() (*Value, error) {
	v := &Value{Kind: Other, Start: p.at}
	for p.at < len(p.text) && !strings.ContainsRune(" \t\r\n,]}:/\"{[", rune(p.text[p.at])) {
		p.at++
	}
	v.End = p.at
	if !json.Valid(p.text[v.Start:v.End]) {
		return nil, p.fail("a value is missing, or is none")
	}
	return v, nil
}
