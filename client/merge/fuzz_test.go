package merge_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/merge"
)

// Whatever the bytes: no panic, the same both ways about, and in a clean merge no
// line that neither side has and no line of words more often than both have it
// together.
func FuzzMerge(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), []byte("a1\nb\nc\n"), []byte("a\nb\nc3"), false, true)
	f.Add([]byte("\xef\xbb\xbf---\r\nk: v\r\n---\r\n\r\n"), []byte("---\nk: w\n---\n\xff"), []byte("---\n---\n"), false, true)
	f.Add([]byte("- [A](a.md) — a\n- [B](b.md)\n"), []byte("- [B](b.md)\n- [A](a.md) — a\n"), []byte("- [A](a.md) — aa\n- [C](c.md)\n"), true, true)
	f.Add([]byte("\n\n\n"), []byte("\n"), []byte("\r\n\n"), true, false)
	f.Add([]byte("x\n```\ny\n```\n"), []byte("x\n```\ny\n```\n```\nz\n```\n"), []byte("```\ny\n"), false, true)
	f.Fuzz(func(t *testing.T, base, mine, theirs []byte, index, known bool) {
		key := api.Key("topic.md")
		if index {
			key = api.IndexKey
		}
		if !known {
			base = nil
		} else if base == nil {
			base = []byte{}
		}
		checkAlways(t, key, base, mine, theirs)
		got := merge.Merge(key, base, mine, theirs)
		if !got.Clean {
			return
		}
		from := slices.Concat(bare(mine), bare(theirs))
		if alien := minus(bare(got.Text), from); len(alien) > 0 {
			t.Fatalf("lines from nowhere, or too many: %q\nbase   %q\nmine   %q\ntheirs %q\nmerged %q", alien, base, mine, theirs, got.Text)
		}
	})
}

// bare is the lines of a text without mark, line ends and spaces around them.
func bare(text []byte) []string {
	var out []string
	for line := range strings.SplitSeq(string(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
