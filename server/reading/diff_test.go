package reading

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammem/api"
)

// told writes spans with what changed in brackets.
func told(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		if s.Changed {
			b.WriteString("[" + s.Text + "]")
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func TestDiffByWords(t *testing.T) {
	for _, test := range []struct{ before, after, old, new string }{
		{"run the tests first", "run all tests first", "run [the] tests first", "run [all] tests first"},
		{"timeout is 30 s", "timeout is 60 s", "timeout is [30] s", "timeout is [60] s"},
		{"a.b", "a.b.c", "a.b", "a.b[.c]"},
		{"部署在周五", "部署在周一", "部署在周[五]", "部署在周[一]"},
		{"nothing alike here", "quite another text!", "nothing alike here", "quite another text!"},
	} {
		hunks := Diff(test.before+"\n", test.after+"\n", 3)
		if len(hunks) != 1 || len(hunks[0].Lines) != 2 {
			t.Fatalf("%q: %+v", test.before, hunks)
		}
		if old, new := told(hunks[0].Lines[0].Spans), told(hunks[0].Lines[1].Spans); old != test.old || new != test.new {
			t.Errorf("got\n%s\n%s\nwant\n%s\n%s", old, new, test.old, test.new)
		}
	}
}

var texts = rapid.Custom(func(t *rapid.T) string {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "a b c", "a b d", "", "x y", "ü 部署"}), 0, 12).Draw(t, "lines")
	text := strings.Join(lines, "\n")
	if rapid.Bool().Draw(t, "ended") {
		text += "\n"
	}
	return text
})

// Whatever changed: the lines of the hunks are those of the texts, by number.
func TestDiffIsOfTheTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := texts.Draw(t, "before"), texts.Draw(t, "after")
		old, new := strings.Split(before, "\n"), strings.Split(after, "\n")
		changed := false
		for _, h := range Diff(before, after, rapid.IntRange(0, 3).Draw(t, "around")) {
			for _, l := range h.Lines {
				changed = changed || l.Deleted() || l.Inserted()
				if !l.Inserted() && old[l.Old-1] != l.Text() {
					t.Fatalf("line %d of the old text is %q, not %q", l.Old, old[l.Old-1], l.Text())
				}
				if !l.Deleted() && new[l.New-1] != l.Text() {
					t.Fatalf("line %d of the new text is %q, not %q", l.New, new[l.New-1], l.Text())
				}
			}
		}
		if changed != (before != after) {
			t.Fatalf("%q to %q: changed is %v", before, after, changed)
		}
	})
}

// The lines of a blame are the last text, and each came with a revision that has it.
func TestBlameIsOfTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(texts, 1, 8).Draw(t, "texts")
		var revisions []Revision
		for i, text := range all {
			r := Revision{Text: text}
			r.Version = api.Version(1 + 2*i)
			revisions = append(revisions, r)
		}
		var b strings.Builder
		for i, l := range Blame(revisions, true) {
			b.WriteString(l.Text)
			at := int(l.Version-1) / 2
			if l.Number != i+1 || l.Older != (at == 0) || !strings.Contains(all[at], l.Text) {
				t.Fatalf("%+v did not come with %q", l, all[at])
			}
		}
		if last := all[len(all)-1]; b.String() != last {
			t.Fatalf("the lines are %q, not %q", b.String(), last)
		}
	})
}
