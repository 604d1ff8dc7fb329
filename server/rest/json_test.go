package rest

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// asEncodingJSON is how the standard library spells s, without its HTML escapes.
func asEncodingJSON(t interface{ Fatal(...any) }, s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func TestStringsAreSpelledAsEncodingJSONDoes(t *testing.T) {
	for _, s := range []string{
		"", "plain", `"`, `\`, "\x00\x01\x1f\x7f", "\b\f\n\r\t", "\u2027\u2028\u2029\u202a", "—", "é", "🙂", "\ufeff", "</script>",
	} {
		if got, want := string(appendString(nil, s)), asEncodingJSON(t, s); got != want {
			t.Errorf("%q is spelled %s, want %s", s, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.OneOf(
			rapid.Rune(),
			rapid.RuneFrom([]rune{'"', '\\', 0, '\n', 0x1f, 0x7f, 0x2027, 0x2028, 0x2029, 0x2014, 0x10FFFF}),
		)).Draw(t, "s")
		if got, want := string(appendString(nil, []byte(s))), asEncodingJSON(t, s); got != want {
			t.Fatalf("%q is spelled %s, want %s", s, got, want)
		}
	})
}

func FuzzString(f *testing.F) {
	f.Add("a\u2028\"\\\x01")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			t.Skip("is never stored")
		}
		if got, want := string(appendString(nil, s)), asEncodingJSON(t, s); got != want {
			t.Errorf("%q is spelled %s, want %s", s, got, want)
		}
	})
}
