package rest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	typeJSON = "application/json"
	typeYAML = "application/yaml"
)

var headerJSON = []string{typeJSON}

// writeJSON answers with a small value.
func writeJSON(c *call, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return writeBody(c, status, typeJSON, body)
}

func writeBody(c *call, status int, contentType string, body []byte) error {
	header := c.w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	c.begun = true
	c.w.WriteHeader(status)
	_, err := c.w.Write(body)
	return err
}

const (
	// pieceSize is when a piece goes out, where the answer is not kept whole.
	pieceSize = 64 << 10
	// keptSize bounds the buffers that wait for the next answer.
	keptSize = 1 << 20
)

// pieces puts JSON together by hand: encoding/json would need the whole answer
// as a value, and then once more as text. The first error stays and ends it.
type pieces struct {
	buf   []byte
	whole bool // nothing is sent before flush
	send  func([]byte) error
	err   error
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, pieceSize+4096); return &b }}

func (p *pieces) take() { p.buf = (*buffers.Get().(*[]byte))[:0] }

func (p *pieces) giveBack() {
	if cap(p.buf) <= keptSize {
		buffers.Put(&p.buf)
	}
}

func (p *pieces) flush() error {
	if p.err == nil && len(p.buf) > 0 {
		p.err = p.send(p.buf)
	}
	p.buf = p.buf[:0]
	return p.err
}

func (p *pieces) ready() {
	if !p.whole && len(p.buf) >= pieceSize {
		_ = p.flush() // kept in err
	}
}

// text adds JSON as it is.
func (p *pieces) text(s string) { p.buf = append(p.buf, s...) }

// plain adds a string that needs no escapes.
func (p *pieces) plain(s string) {
	p.buf = append(p.buf, '"')
	p.buf = append(p.buf, s...)
	p.buf = append(p.buf, '"')
}

func (p *pieces) str(s string) { p.buf = appendString(p.buf, s) }

// content adds a text of any length.
func (p *pieces) content(text []byte) {
	p.buf = appendString(p.buf, text)
	p.ready()
}

func (p *pieces) int(n int64) { p.buf = strconv.AppendInt(p.buf, n, 10) }

func (p *pieces) time(t api.Time) {
	p.buf = append(p.buf, '"')
	p.buf = t.AppendFormat(p.buf, api.TimeFormat)
	p.buf = append(p.buf, '"')
}

// checksums adds an object of the rows' checksums.
func (p *pieces) checksums(rows []store.Row) {
	p.text(`{`)
	for i := range rows {
		if i > 0 {
			p.text(`,`)
		}
		p.str(string(rows[i].Key))
		p.text(`:`)
		p.plain(string(rows[i].Checksum))
		p.ready()
	}
	p.text(`}`)
}

// modified adds an object of the files' own times, as far as they are known.
func (p *pieces) modified(rows []store.Row) {
	p.text(`{`)
	first := true
	for i := range rows {
		if rows[i].Modified.IsZero() {
			continue
		}
		if !first {
			p.text(`,`)
		}
		first = false
		p.str(string(rows[i].Key))
		p.text(`:`)
		p.time(api.NewTime(rows[i].Modified))
		p.ready()
	}
	p.text(`}`)
}

// mustEscape are the bytes that cannot stand in a JSON string as they are.
var mustEscape = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	// The first byte of U+2028 and U+2029, which end a line in JavaScript.
	t[0xE2] = true
	return t
}()

// appendString adds s as a JSON string, spelled as encoding/json spells it
// without its HTML escapes. s is valid UTF-8: nothing else is ever stored.
func appendString[T string | []byte](b []byte, s T) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !mustEscape[c] {
			continue
		}
		if c >= utf8.RuneSelf {
			if i+2 < len(s) && s[i+1] == 0x80 && s[i+2]&^1 == 0xA8 {
				b = append(b, s[from:i]...)
				b = append(b, `\u202`...)
				b = append(b, hex[s[i+2]&0xF])
				from = i + 3
			}
			i += 2
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, `\u00`...)
			b = append(b, hex[c>>4], hex[c&0xF])
		}
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}
