package merge_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/merge"
)

// Each testdata/*.txtar is one merge: sections base (absent: not known), mine,
// theirs and want, or reason where it is not clean. The name begins with topic or
// index. The comment says what a person would want, and why.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			part := map[string][]byte{}
			for _, f := range archive.Files {
				part[f.Name] = f.Data
			}
			key := api.Key("topic.md")
			if strings.HasPrefix(filepath.Base(file), "index") {
				key = api.IndexKey
			}
			checkAlways(t, key, part["base"], part["mine"], part["theirs"])
			checkStable(t, key, part["base"], part["mine"], part["theirs"])
			got := merge.Merge(key, part["base"], part["mine"], part["theirs"])
			if want := strings.TrimSpace(string(part["reason"])); got.Reason != want {
				t.Fatalf("reason %q, want %q; merged:\n%s", got.Reason, want, got.Text)
			}
			if got.Clean && string(got.Text) != string(part["want"]) {
				t.Errorf("got:\n%s\nwant:\n%s", got.Text, part["want"])
			}
		})
	}
}

// What a text file cannot show: line ends, marks and missing newlines.
func TestWholeOfTheFile(t *testing.T) {
	cases := []struct{ name, base, mine, theirs, want string }{
		{"CRLF on one side, an edit on the other", "a\nb\nc\n", "a\r\nb\r\nc\r\n", "a\nb2\nc\n", "a\r\nb2\r\nc\r\n"},
		{"CRLF on one side with an edit", "a\nb\nc\n", "a1\r\nb\r\nc\r\n", "a\nb\nc3\n", "a1\r\nb\r\nc3\r\n"},
		{"CRLF all along", "a\r\nb\r\n", "a1\r\nb\r\n", "a\r\nb2\r\n", "a1\r\nb2\r\n"},
		{"CRLF given up by one side", "a\r\nb\r\n", "a\nb\n", "a\r\nb2\r\n", "a\nb2\n"},
		{"one line in LF appended to a file in CRLF", "a\r\nb\r\n", "a\r\nb\r\nmine\n", "a1\r\nb\r\n", "a1\r\nb\r\nmine\n"},
		{"CRLF and front matter", "---\r\nname: a\r\n---\r\nb\r\n", "---\r\nname: a1\r\n---\r\nb\r\n", "---\r\nname: a\r\n---\r\nb2\r\n", "---\r\nname: a1\r\n---\r\nb2\r\n"},
		{"no final newline on one side", "a\nb\nc\n", "a1\nb\nc", "a\nb\nc3\n", "a1\nb\nc3"},
		{"no final newline in the base, both append", "a\nb", "a\nb\nmine\n", "a\nb\ntheirs", "a\nb\nmine\ntheirs\n"},
		{"no final newline anywhere", "a\nb", "a1\nb", "a\nb2", "a1\nb2"},
		{"a byte order mark on one side", "a\nb\n", "\ufeffa\nb\n", "a\nb2\n", "\ufeffa\nb2\n"},
		{"a byte order mark taken off", "\ufeffa\nb\n", "a\nb\n", "\ufeffa\nb2\n", "a\nb2\n"},
		{"a byte order mark before front matter", "\ufeff---\nname: a\n---\nb\n", "\ufeff---\nname: a1\n---\nb\n", "\ufeff---\nname: a\n---\nb2\n", "\ufeff---\nname: a1\n---\nb2\n"},
		{"an empty base", "", "mine\n", "theirs\n", "mine\ntheirs\n"},
		{"bytes that are no text", "\xff\n\xfe\n", "\xff\xff\n\xfe\n", "\xff\n\xfe\xfe\n", "\xff\xff\n\xfe\xfe\n"},
		{"all removed on both sides, in part", "a\nb\n", "a\n", "b\n", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := merge.Merge("topic.md", []byte(c.base), []byte(c.mine), []byte(c.theirs))
			if !got.Clean || string(got.Text) != c.want {
				t.Errorf("got %q (%s), want %q", got.Text, got.Reason, c.want)
			}
			checkAlways(t, "topic.md", []byte(c.base), []byte(c.mine), []byte(c.theirs))
		})
	}
}

// Fifty people add a line each to one index while they all start from the same
// text: each merges with what stands at the server by then, and every line ends up
// there once.
func TestFiftyWriters(t *testing.T) {
	base := "# Memory Index\n\n- [One](one.md) — first\n- [Two](two.md) — second\n"
	for _, known := range []bool{true, false} {
		server := []byte(base)
		for i := range 50 {
			mine := []byte(fmt.Sprintf("%s- [Topic %d](topic_%d.md) — what writer %d found\n", base, i, i, i))
			from := []byte(base)
			if !known {
				from = nil
			}
			got := merge.Merge(api.IndexKey, from, mine, server)
			if !got.Clean {
				t.Fatalf("writer %d: %s", i, got.Reason)
			}
			server = got.Text
		}
		for i := range 50 {
			if n := strings.Count(string(server), fmt.Sprintf("(topic_%d.md)", i)); n != 1 {
				t.Errorf("base known %t: the line of writer %d stands %d times", known, i, n)
			}
		}
		if n := strings.Count(string(server), "\n"); n != 54 {
			t.Errorf("base known %t: %d lines:\n%s", known, n, server)
		}
	}
}
