package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
)

func TestParseJSONTakes(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, ` false `, "\t\r\n\"\" ", `0`, `-0`, `1.5e+10`, `1E-2`, `12345678901234567890`,
		`[]`, `{}`, `[ ]`, `{ }`, `[1 , "a" , {"b" : [ null ]}]`,
		`{"a":{"x":1},"b":{"x":1}}`, // the same name in two objects
		`{"":1}`, `{"a":1,"A":2}`,   // names are compared exactly
		`"\u0000\ud83d\ude00\"\\\/\b\f\n\r\t"`, `"😀"`, "\"\u2028\ufeff\ufffd\"",
		strings.Repeat("[", api.MaxJSONDepth) + strings.Repeat("]", api.MaxJSONDepth),
	} {
		got, err := api.ParseJSON([]byte(text))
		if err != nil {
			t.Errorf("%.60s: %v", text, err)
			continue
		}
		if want := decodeLoosely(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%.60s: got %#v, want %#v", text, got, want)
		}
	}
}

func TestParseJSONRefuses(t *testing.T) {
	for _, c := range []struct {
		text   string
		place  string // JSON pointer
		offset int64
		why    string // part of the message
	}{
		{``, "", 0, "empty"},
		{"\ufeff{}", "", 0, "want a value"},
		{`<html>`, "", 0, "want a value"},
		{`  `, "", 2, "ends where"},
		{`{} {}`, "", 3, "follows"},
		{`{}x`, "", 2, "follows"},
		{"{}\x00", "", 2, "follows"},
		{`nul`, "", 0, "want a value"},
		{`True`, "", 0, "want a value"},
		{`NaN`, "", 0, "want a value"},
		{`01`, "", 1, "follows"},
		{`+1`, "", 0, "want a value"},
		{`.5`, "", 0, "want a value"},
		{`1.`, "", 2, "digit"},
		{`1e`, "", 2, "digit"},
		{`-`, "", 1, "value"},
		{`{"a":1,}`, "", 7, "a name in quotes"},
		{`{,}`, "", 1, "a name in quotes"},
		{`{"a" 1}`, "/a", 5, "a colon"},
		{`{"a":1 "b":2}`, "", 7, "a comma"},
		{`{a:1}`, "", 1, "a name in quotes"},
		{`{"a":'b'}`, "/a", 5, "want a value"},
		{`{"a":1`, "", 6, "ends"},
		{`{"a":`, "/a", 5, "ends"},
		{`[1,]`, "/1", 3, "want a value"},
		{`[1 2]`, "", 3, "a comma"},
		{`[1`, "", 2, "ends"},
		{`/* c */1`, "", 0, "want a value"},
		{`{"a":{"b":[0,{"c":1,"c":2}]}}`, "/a/b/1/c", 20, "twice"},
		{`{"a":1,"\u0061":2}`, "/a", 7, "twice"},
		{`{"x/y~z":{"k":tru}}`, "/x~1y~0z/k", 14, "want a value"},
		{"{\"k\":\"ab\xffcd\"}", "/k", 8, "not valid UTF-8"},
		{"{\"k\":\"\xed\xa0\x80\"}", "/k", 6, "not valid UTF-8"}, // a surrogate in UTF-8
		{"{\"k\":\"\xc0\xaf\"}", "/k", 6, "not valid UTF-8"},     // overlong
		{"{\"n\xff\":1}", "/n\uFFFD", 3, "not valid UTF-8"},
		{`{"k":"a\ud800b"}`, "/k", 7, "surrogate"},
		{`{"k":"\udc00\ud800"}`, "/k", 6, "surrogate"},
		{`{"k":"\ud800\u0041"}`, "/k", 6, "surrogate"},
		{`{"k":"\ud800"}`, "/k", 6, "surrogate"},
		{`{"\udfff":1}`, `/\udfff`, 2, "surrogate"},
		{"{\"k\":\"a\nb\"}", "/k", 7, "control character"},
		{"{\"k\":\"a\x00b\"}", "/k", 7, "control character"},
		{`"\x41"`, "", 1, "escape"},
		{`"\u12g4"`, "", 1, "escape"},
		{`"\u12`, "", 5, "ends"},
		{`"\`, "", 2, "ends"},
		{`"\"`, "", 3, "ends"},
		{`"abc`, "", 4, "ends"},
		{strings.Repeat("[", api.MaxJSONDepth+1), strings.Repeat("/0", api.MaxJSONDepth), int64(api.MaxJSONDepth), "nested"},
		{strings.Repeat(`{"a":`, api.MaxJSONDepth+1), strings.Repeat("/a", api.MaxJSONDepth), int64(5 * api.MaxJSONDepth), "nested"},
	} {
		v, err := api.ParseJSON([]byte(c.text))
		e := wantWireError(t, err, api.InvalidRequest, api.ErrorCodeBadJSON)
		if e == nil {
			t.Errorf("%.60q was taken as %v", c.text, v)
			continue
		}
		if e.Details.Place != c.place || e.Details.Offset != c.offset || !strings.Contains(e.Message, c.why) {
			t.Errorf("%.60q: place %q, offset %d, message %q; want place %q, offset %d, %q",
				c.text, e.Details.Place, e.Details.Offset, e.Message, c.place, c.offset, c.why)
		}
		if !utf8.ValidString(e.Message) || !utf8.ValidString(e.Details.Place) {
			t.Errorf("%.60q: the error itself is not valid UTF-8", c.text)
		}
	}
}

// A message must never carry what an entry holds.
func TestParseJSONKeepsContentsToItself(t *testing.T) {
	const secret = "hunter2hunter2"
	for _, text := range []string{
		"{\"k\":\"" + secret + "\xff\"}", `{"k":"` + secret + `\ud800"}`, `{"k":"` + secret, `{"k":"` + secret + `\q"}`, `{"k":1}` + secret,
	} {
		if _, err := api.ParseJSON([]byte(text)); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// wantWireError is nil, with a test failure, when err is not the error asked for.
func wantWireError(t *testing.T, err error, code api.Code, errorCode string) *api.Error {
	t.Helper()
	e, ok := api.AsError(err)
	if !ok {
		t.Errorf("got %v (%T), want an *api.Error", err, err)
		return nil
	}
	if e.Code != code || e.Details.ErrorCode != errorCode {
		t.Errorf("got %s %s (%v), want %s %s", e.Code, e.Details.ErrorCode, e, code, errorCode)
		return nil
	}
	return e
}

// decodeLoosely is what encoding/json makes of a text.
func decodeLoosely(t *testing.T, text string) any {
	t.Helper()
	v, err := decodeStandard([]byte(text))
	if err != nil {
		t.Fatalf("encoding/json refuses %q: %v", text, err)
	}
	return v
}

func decodeStandard(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}

var surrogateEscape = regexp.MustCompile(`(?i)\\ud[89a-f]`)

// FuzzParseJSON holds the reader against encoding/json: it takes nothing that
// encoding/json refuses, reads the same values, and refuses what encoding/json
// takes only for a reason that this test finds by itself.
func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{
		`{"entries":{"a.md":"x"},"deletions":["b.md"],"baseChecksums":{"a.md":null}}`, `[1,2.5e3,-0,"\ud83d\ude00"]`,
		`{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, `{}{}`, `[[[[[[]]]]]]`, "\ufeff{}", "1 ", `{"a":{"b":[]}}`, "\"\x7f\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := api.ParseJSON(text)
		want, standard := decodeStandard(text)
		switch {
		case err == nil && standard != nil:
			t.Fatalf("%q was taken, but encoding/json says %v", text, standard)
		case err == nil && !reflect.DeepEqual(got, want):
			t.Fatalf("%q: got %#v, encoding/json reads %#v", text, got, want)
		case err != nil:
			if e, ok := api.AsError(err); !ok || e.Details.ErrorCode != api.ErrorCodeBadJSON || e.Details.Offset < 0 || e.Details.Offset > int64(len(text)) {
				t.Fatalf("%q: %#v", text, err)
			}
			if standard == nil && utf8.Valid(text) && !surrogateEscape.Match(text) && !hasTwice(text) && depthOf(text) <= api.MaxJSONDepth {
				t.Fatalf("%q was refused without need: %v", text, err)
			}
		}
	})
}

// hasTwice reports whether an object of a valid text holds a name twice.
func hasTwice(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	var names []map[string]bool // nil for an array
	wantName := false
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		open := len(names) > 0 && names[len(names)-1] != nil
		switch token {
		case json.Delim('{'):
			names, wantName = append(names, map[string]bool{}), true
			continue
		case json.Delim('['):
			names, wantName = append(names, nil), false
			continue
		case json.Delim('}'), json.Delim(']'):
			names = names[:len(names)-1]
			wantName = len(names) > 0 && names[len(names)-1] != nil
			continue
		}
		if name, ok := token.(string); ok && open && wantName {
			if names[len(names)-1][name] {
				return true
			}
			names[len(names)-1][name] = true
			wantName = false
			continue
		}
		wantName = open
	}
}

func depthOf(text []byte) (deepest int) {
	d := json.NewDecoder(bytes.NewReader(text))
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

// fullBody is a PUT body of about size bytes in entries of 4 KB.
func fullBody(tb testing.TB, size int, text string) []byte {
	tb.Helper()
	entries := map[string]string{}
	content := strings.Repeat(text, 4000/len(text)+1)
	for i := 0; i*len(content) < size; i++ {
		entries[strings.Repeat("d", i%7+1)+"/"+time.Duration(i).String()+".md"] = content
	}
	body, err := json.Marshal(map[string]any{"entries": entries})
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func BenchmarkDecodePush(b *testing.B) {
	for name, text := range map[string]string{
		"ascii": "a line of plain prose\\ without much to escape in it. ", "lines": "- a list item\n", "cjk": "記憶は共有される。", "quotes": `"\"`,
	} {
		body := fullBody(b, 4<<20, text)
		b.Run(name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := api.DecodePush(body); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/encoding-json", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				var push api.Push
				if err := json.Unmarshal(body, &push); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
