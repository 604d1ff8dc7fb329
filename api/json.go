package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxJSONDepth is how deep objects and arrays may nest. The contract itself
// needs three.
const MaxJSONDepth = 100

// ParseJSON reads one JSON text strictly. It gives map[string]any, []any, string,
// [json.Number], bool and nil. What encoding/json lets pass or mends in silence is
// refused: a name twice in one object, invalid UTF-8, a lone surrogate, anything
// behind the value, nesting beyond [MaxJSONDepth]; and so is a byte order mark.
//
// Every error is an *[Error] with the code [InvalidRequest], whose Details name
// the place by JSON pointer and byte. It may name keys, and never shows contents.
func ParseJSON(data []byte) (any, error) {
	r := jsonReader{data: data}
	var v any
	err := r.text(func() (err error) {
		v, err = r.value()
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// jsonReader walks one JSON text. Its methods read one value each and leave the
// position behind it; callers that know the shape they want read it directly, so
// that what nobody asked for is checked and never built.
type jsonReader struct {
	data  []byte
	at    int
	path  []jsonStep
	depth int
}

// jsonStep is one token of a JSON pointer: a name, or an index where name is
// empty and index is not negative.
type jsonStep struct {
	name  string
	index int
}

// text reads the whole input: one value by read, and nothing else but space.
func (r *jsonReader) text(read func() error) error {
	if err := read(); err != nil {
		return err
	}
	if r.space(); r.at < len(r.data) {
		return r.fail(r.at, "something follows the value")
	}
	return nil
}

// value reads any value and builds it.
func (r *jsonReader) value() (any, error) {
	switch r.peek() {
	case '{':
		members := map[string]any{}
		err := r.object(func(name string) (err error) {
			members[name], err = r.value()
			return err
		})
		return members, err
	case '[':
		elements := []any{}
		err := r.array(func() error {
			v, err := r.value()
			elements = append(elements, v)
			return err
		})
		return elements, err
	case '"':
		return r.str(false)
	case 't':
		return true, r.literal("true")
	case 'f':
		return false, r.literal("false")
	case 'n':
		return nil, r.literal("null")
	}
	return r.number()
}

// skip reads any value, as strictly, without building it.
func (r *jsonReader) skip() (err error) {
	switch r.peek() {
	case '{':
		return r.object(func(string) error { return r.skip() })
	case '[':
		return r.array(r.skip)
	case '"':
		_, err = r.str(false)
	case 't':
		err = r.literal("true")
	case 'f':
		err = r.literal("false")
	case 'n':
		err = r.literal("null")
	default:
		_, err = r.number()
	}
	return err
}

// object reads an object; member reads the value of the name it is given.
func (r *jsonReader) object(member func(name string) error) error {
	if err := r.open(); err != nil {
		return err
	}
	var seen nameSet
	for first := true; ; first = false {
		switch c := r.peek(); {
		case c == '}':
			r.close()
			return nil
		case first:
		case c == ',':
			r.at++
		default:
			return r.unexpected("a comma or the end of the object")
		}
		if r.peek() != '"' {
			return r.unexpected("a name in quotes")
		}
		r.path = append(r.path, jsonStep{index: -1})
		from := r.at
		name, err := r.str(true)
		if err != nil {
			return err
		}
		r.path[len(r.path)-1].name = name
		if !seen.add(name) {
			return r.fail(from, "this name stands twice in its object")
		}
		if r.peek() != ':' {
			return r.unexpected("a colon")
		}
		r.at++
		if err := member(name); err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
	}
}

// array reads an array; element reads one element.
func (r *jsonReader) array(element func() error) error {
	if err := r.open(); err != nil {
		return err
	}
	if r.peek() == ']' {
		r.close()
		return nil
	}
	for i := 0; ; i++ {
		r.path = append(r.path, jsonStep{index: i})
		if err := element(); err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
		switch r.peek() {
		case ',':
			r.at++
		case ']':
			r.close()
			return nil
		default:
			return r.unexpected("a comma or the end of the array")
		}
	}
}

func (r *jsonReader) open() error {
	if r.depth == MaxJSONDepth {
		return r.fail(r.at, fmt.Sprintf("nested deeper than %d", MaxJSONDepth))
	}
	r.depth++
	r.at++
	return nil
}

func (r *jsonReader) close() {
	r.depth--
	r.at++
}

// str reads a string. Of a name that cannot be read, the path is given as much
// as can be shown.
func (r *jsonReader) str(isName bool) (string, error) {
	from := r.at + 1
	end, escaped, ascii := from, false, true
	data := r.data // kept at hand: this loop sees every byte
scan:
	for ; end < len(data); end++ {
		c := data[end]
		if plainBytes[c] {
			continue
		}
		switch {
		case c == '"':
			break scan
		case c == '\\':
			escaped = true
			end++ // whatever it is, it does not end the string
		case c >= utf8.RuneSelf:
			ascii = false
		default:
			return "", r.failString(isName, from, end, end, "a control character stands in a string as it is, without an escape")
		}
	}
	if end >= len(r.data) {
		return "", r.failString(isName, from, len(r.data), len(r.data), "the text ends within a string")
	}
	raw := r.data[from:end]
	if !ascii && !utf8.Valid(raw) {
		return "", r.failString(isName, from, end, from+invalidAt(raw), "a string is not valid UTF-8")
	}
	if !escaped {
		r.at = end + 1
		return string(raw), nil
	}
	s, bad, why := unescape(raw)
	if why != "" {
		return "", r.failString(isName, from, end, from+bad, why)
	}
	r.at = end + 1
	return s, nil
}

func (r *jsonReader) failString(isName bool, from, end, at int, why string) error {
	if isName {
		r.path[len(r.path)-1].name = strings.ToValidUTF8(string(r.data[from:end]), "\uFFFD")
	}
	return r.fail(at, why)
}

// plainBytes are those that need no thought within a string.
var plainBytes = func() (plain [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()

func invalidAt(raw []byte) int {
	for i := 0; i < len(raw); {
		c, size := utf8.DecodeRune(raw[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(raw)
}

// plainEscapes are the escapes of one character.
var plainEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape gives what stands between the quotes; why is not empty when the
// escape at byte bad cannot be read.
func unescape(raw []byte) (s string, bad int, why string) {
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			run := bytes.IndexByte(raw[i:], '\\')
			if run < 0 {
				run = len(raw) - i
			}
			b.Write(raw[i : i+run])
			i += run
			continue
		}
		// A backslash is never last: the scan went over what follows it.
		if c := plainEscapes[raw[i+1]]; c != 0 {
			b.WriteByte(c)
			i += 2
			continue
		}
		c, ok := hexEscape(raw, i)
		if !ok {
			return "", i, "a string holds an escape that JSON does not have"
		}
		size := 6
		if utf16.IsSurrogate(c) {
			low, _ := hexEscape(raw, i+6)
			if c = utf16.DecodeRune(c, low); c == utf8.RuneError {
				return "", i, "a string holds half of a surrogate pair"
			}
			size = 12
		}
		b.WriteRune(c)
		i += size
	}
	return b.String(), 0, ""
}

// hexEscape reads \uXXXX at byte i.
func hexEscape(raw []byte, i int) (rune, bool) {
	if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
		return 0, false
	}
	v, ok := hexValue(string(raw[i+2:i+6]), 0, 4)
	return rune(v), ok
}

func (r *jsonReader) literal(word string) error {
	if len(r.data)-r.at < len(word) || string(r.data[r.at:r.at+len(word)]) != word {
		return r.unexpected("a value")
	}
	r.at += len(word)
	return nil
}

// number reads a number and keeps its spelling.
func (r *jsonReader) number() (json.Number, error) {
	from := r.at
	r.one('-')
	switch {
	case r.one('0'): // no digit may follow
	case r.digits() == 0:
		return "", r.unexpected("a value")
	}
	if r.one('.') && r.digits() == 0 {
		return "", r.unexpected("a digit")
	}
	if r.one('e') || r.one('E') {
		if !r.one('+') {
			r.one('-')
		}
		if r.digits() == 0 {
			return "", r.unexpected("a digit")
		}
	}
	return json.Number(r.data[from:r.at]), nil
}

func (r *jsonReader) one(c byte) bool {
	if r.at < len(r.data) && r.data[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *jsonReader) digits() (n int) {
	for r.at < len(r.data) && '0' <= r.data[r.at] && r.data[r.at] <= '9' {
		r.at++
		n++
	}
	return n
}

func (r *jsonReader) space() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// peek goes over space and gives the next byte, 0 at the end of the text.
func (r *jsonReader) peek() byte {
	if r.space(); r.at < len(r.data) {
		return r.data[r.at]
	}
	return 0
}

func (r *jsonReader) unexpected(want string) error {
	switch {
	case len(r.data) == 0:
		return r.fail(0, "it is empty")
	case r.at >= len(r.data):
		return r.fail(r.at, "the text ends where "+want+" is due")
	}
	return r.fail(r.at, "want "+want)
}

// fail is the error for a text that is not the JSON we take.
func (r *jsonReader) fail(at int, why string) error {
	return r.refuse(ErrorCodeBadJSON, int64(at), fmt.Sprintf("cannot read the JSON %s, byte %d: %s", r.where(), at, why))
}

// shape is the error for JSON that is not what was asked for at this place.
func (r *jsonReader) shape(why string) error {
	return r.refuse(ErrorCodeBadBody, int64(r.at), fmt.Sprintf("the JSON %s: %s", r.where(), why))
}

func (r *jsonReader) refuse(code string, at int64, message string) error {
	return &Error{Code: InvalidRequest, Message: message, Details: Details{
		ErrorCode: code, Place: r.pointer(), Offset: at,
	}}
}

// where is the place for people.
func (r *jsonReader) where() string {
	if len(r.path) == 0 {
		return "at the top"
	}
	return fmt.Sprintf("at %q", r.pointer())
}

// pointer is the place as a JSON pointer (RFC 6901). Long names are cut.
func (r *jsonReader) pointer() string {
	var b strings.Builder
	for _, step := range r.path {
		b.WriteByte('/')
		if step.name == "" && step.index >= 0 {
			b.WriteString(strconv.Itoa(step.index))
			continue
		}
		b.WriteString(pointerEscapes.Replace(clip(step.name)))
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// nameSet is a set of names that costs nothing while it is small.
type nameSet struct {
	few  []string
	many map[string]struct{}
}

// add reports whether the name is new.
func (s *nameSet) add(name string) bool {
	const most = 16
	if s.many == nil {
		if slices.Contains(s.few, name) {
			return false
		}
		if s.few = append(s.few, name); len(s.few) > most {
			s.many = make(map[string]struct{}, 8*most)
			for _, n := range s.few {
				s.many[n] = struct{}{}
			}
		}
		return true
	}
	before := len(s.many)
	s.many[name] = struct{}{}
	return len(s.many) > before
}
