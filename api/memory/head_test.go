package memory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api/memory"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want memory.Head
	}{
		"flat": {
			"---\nname: Testing\ndescription: how we test\ntype: feedback\n---\nbody\n",
			memory.Head{Name: "Testing", Description: "how we test", Type: memory.Feedback, Lines: 5, Body: 62},
		},
		"metadata, with a space behind it": {
			"---\nname: a\nmetadata: \n  node_type: memory\n  type: project\n  originSessionId: 1f2e\n  modified: 2026-05-01T10:00:00.000Z\n---\n",
			memory.Head{Name: "a", Type: memory.Project, Session: "1f2e", Modified: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), Lines: 8, Body: 124},
		},
		"the top level comes first": {
			"---\nmetadata:\n  type: user\ntype: reference\n---\n",
			memory.Head{Type: memory.Reference, Lines: 5, Body: 47},
		},
		"a type that is none does not hide one that is": {
			"---\ntype: memory\nmetadata:\n  type: user\n---\n",
			memory.Head{Type: memory.User, Lines: 5, Body: 44},
		},
		"unknown type": {"---\ntype: Project\n---\n", memory.Head{TypeText: "Project", Lines: 3, Body: 22}},
		"deeper than metadata is nobody's": {
			"---\nmetadata:\n  a:\n    type: user\n---\n",
			memory.Head{Lines: 5, Body: 38},
		},
		"pinned": {"---\npinned: true\n---\n", memory.Head{Pinned: true, Lines: 3, Body: 21}},
		"the first of two": {
			"---\nname: one\nname: two\n---\n",
			memory.Head{Name: "one", Lines: 4, Body: 28},
		},
		"a colon in the value": {
			"---\ndescription: note: not YAML\n---\n",
			memory.Head{Description: "note: not YAML", Lines: 3, Body: 36},
		},
		"a value over several lines": {
			"---\ndescription: >-\n  first\n  second\ntype: user\n---\n",
			memory.Head{Description: "first second", Type: memory.User, Lines: 6, Body: 52},
		},
		// BR-25
		"quotes within quotes":         {"---\ndescription: \"abc \"def\" ghi\"\ntags: [a, b]\n---\n", memory.Head{Description: `abc "def" ghi`, Lines: 4, Body: 50}},
		"a quote that nothing closes":  {"---\nname: \"abc\n---\n", memory.Head{Name: `"abc`, Lines: 3, Body: 19}},
		"a quote closed by another":    {"---\nname: \"abc'\n---\n", memory.Head{Name: `"abc'`, Lines: 3, Body: 20}},
		"curly quotes within straight": {"---\nname: \"\u201cabc\u201d\"\n---\n", memory.Head{Name: "\u201cabc\u201d", Lines: 3, Body: 26}},
		"a tab for indentation":        {"---\nmetadata:\n\ttype: user\n---\n", memory.Head{Type: memory.User, Lines: 4, Body: 30}},
		// BR-26
		"a hash in the value":        {"---\ndescription: fixed in PR #456 by retry\n---\n", memory.Head{Description: "fixed in PR #456 by retry", Lines: 3, Body: 47}},
		"a hash begins the value":    {"---\ndescription: #977 follow-up\n---\n", memory.Head{Description: "#977 follow-up", Lines: 3, Body: 36}},
		"a comment is no field":      {"---\n# name: x\nname: y\n---\n", memory.Head{Name: "y", Lines: 4, Body: 26}},
		"an anchor stays what it is": {"---\nname: &a x\n---\n", memory.Head{Name: "&a x", Lines: 3, Body: 19}},
		// BR-27
		"(a) BOM and CRLF":             {"\uFEFF---\r\nname: a\r\n---\r\nb", memory.Head{Name: "a", Lines: 3, Body: 22}},
		"(b) nothing closes":           {"---\nname: a\n", memory.Head{Trouble: memory.Unclosed}},
		"(c) rules in the body":        {"---\nname: a\n---\ntext\n---\n- key: value\n---\n", memory.Head{Name: "a", Lines: 3, Body: 16}},
		"(d) something stands before":  {"<!-- x -->\n---\nname: a\n---\n", memory.Head{}},
		"(e) four dashes":              {"----\nname: a\n----\n", memory.Head{}},
		"(f) the fence ends the file":  {"---\nname: a\n---", memory.Head{Name: "a", Lines: 3, Body: 15}},
		"a fence with a space is none": {"--- \nname: a\n---\n", memory.Head{}},
		"longer than a scan reads":     {"---\nname: a\n" + strings.Repeat("x: y\n", 28) + "---\n", memory.Head{Trouble: memory.TooLong, Lines: 31, Body: 156}},
		"as long as a scan reads":      {"---\nname: a\n" + strings.Repeat("x: y\n", 27) + "---\n", memory.Head{Name: "a", Lines: 30, Body: 151}},
		"empty":                        {"", memory.Head{}},
		"nothing but a fence":          {"---", memory.Head{Trouble: memory.Unclosed}},
	} {
		if got := memory.Parse([]byte(c.text)); got != c.want {
			t.Errorf("%s: %q\n got %+v\nwant %+v", name, c.text, got, c.want)
		}
	}
}

// A field is found again at its offset, so that it can be edited where it stands.
func TestFieldsStandWhereTheySay(t *testing.T) {
	text := []byte("\uFEFF---\r\nname: \"a b\" \r\nmetadata: \r\n  type: user\r\n---\r\nbody")
	for _, f := range memory.Fields(text) {
		if got := string(text[f.Offset : f.Offset+len(f.Raw)]); got != f.Raw {
			t.Errorf("%s: at its offset stands %q, not %q", f.Key, got, f.Raw)
		}
	}
	if n := len(memory.Fields(text)); n != 3 {
		t.Errorf("%d fields, want name, metadata and metadata.type", n)
	}
}

func TestAge(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ago   time.Duration
		words string
		told  bool
	}{
		{-time.Hour, "today", false},
		{-72 * time.Hour, "today", false},
		{0, "today", false},
		{24*time.Hour - 1, "today", false},
		{24 * time.Hour, "yesterday", false},
		{48*time.Hour - 1, "yesterday", false},
		{48 * time.Hour, "2 days ago", true},
		{47 * 24 * time.Hour, "47 days ago", true},
	} {
		at := now.Add(-c.ago)
		if got := memory.Age(now, at); got != c.words {
			t.Errorf("%v ago: %q, want %q", c.ago, got, c.words)
		}
		told := memory.Freshness(now, at)
		if (told != "") != c.told || c.told && !strings.Contains(told, "verify") {
			t.Errorf("%v ago a reader is told %q", c.ago, told)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("---\nname: \"a\"\nmetadata: \n  type: user\n---\nbody [[x]] `[[y]]`\n"))
	f.Add([]byte("\uFEFF---\r\ndescription: >-\r\n  a\r\n  b\r\n---\r\n"))
	f.Add([]byte("---\nname\n: a\n---"))
	f.Fuzz(func(t *testing.T, text []byte) {
		before := string(text)
		h := memory.Parse(text)
		if h.Body < 0 || h.Body > len(text) {
			t.Fatalf("the body begins at %d of %d", h.Body, len(text))
		}
		if h.TypeText != "" && h.Type != memory.None {
			t.Errorf("the type is %q and also not understood: %q", h.Type, h.TypeText)
		}
		for _, field := range memory.Fields(text) {
			if got := string(text[field.Offset : field.Offset+len(field.Raw)]); got != field.Raw {
				t.Errorf("at the offset of %s stands %q, not %q", field.Key, got, field.Raw)
			}
		}
		if string(text) != before {
			t.Error("the text was changed")
		}
	})
}
