package merge_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/merge"
)

// drawLine draws from few lines, so that the same ones come again and again.
func drawLine(t *rapid.T) string {
	n := rapid.IntRange(0, 30).Draw(t, "line")
	switch n % 6 {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("- [Topic %d](topic_%d.md) — hook %d", n, n%5, n)
	case 2:
		return "```"
	case 3:
		return fmt.Sprintf("## Section %d", n)
	default:
		return fmt.Sprintf("Sentence number %d.", n)
	}
}

// drawRevision draws what somebody may have made of some lines: stretches added,
// removed, rewritten and moved, anywhere.
func drawRevision(t *rapid.T, lines []string) []string {
	out := slices.Clone(lines)
	for range rapid.IntRange(1, 4).Draw(t, "edits") {
		from := rapid.IntRange(0, len(out)).Draw(t, "from")
		to := min(len(out), from+rapid.IntRange(0, 4).Draw(t, "long"))
		fresh := rapid.SliceOfN(rapid.Custom(drawLine), 0, 4).Draw(t, "fresh")
		switch rapid.SampledFrom([]string{"add", "remove", "rewrite", "move"}).Draw(t, "edit") {
		case "add":
			out = slices.Insert(out, from, fresh...)
		case "remove":
			out = slices.Delete(out, from, to)
		case "rewrite":
			out = slices.Replace(out, from, to, fresh...)
		case "move":
			moved := slices.Clone(out[from:to])
			out = slices.Delete(out, from, to)
			out = slices.Insert(out, rapid.IntRange(0, len(out)).Draw(t, "where to"), moved...)
		}
	}
	return out
}

// Whatever two people do to one text, and whether it fits together or not: a clean
// merge has every line that either added, and no line more often than somebody
// wanted it.
func TestNothingLostNothingDoubled(t *testing.T) {
	for _, key := range []api.Key{"MEMORY.md", "topic.md"} {
		t.Run(string(key), rapid.MakeCheck(func(t *rapid.T) {
			lines := rapid.SliceOfN(rapid.Custom(drawLine), 0, 20).Draw(t, "base")
			x, y := drawRevision(t, lines), drawRevision(t, lines)
			base, mine, theirs := append([]byte{}, text(lines)...), text(x), text(y)
			checkAlways(t, key, base, mine, theirs)
			got := merge.Merge(key, base, mine, theirs)
			if !got.Clean {
				return
			}
			inBase, inMine, inTheirs, inResult := tallyOf(base), tallyOf(mine), tallyOf(theirs), tallyOf(got.Text)
			for line := range tallyOf(append(mine, theirs...)) {
				b, x, y, r := inBase[line], inMine[line], inTheirs[line], inResult[line]
				if r < max(x-b, y-b) {
					t.Fatalf("%q was added and is lost: base %d, mine %d, theirs %d, merged %d", line, b, x, y, r)
				}
				if r > max(b, x, y) && (b == 0 || r > x+y-b) {
					t.Fatalf("%q is doubled: base %d, mine %d, theirs %d, merged %d", line, b, x, y, r)
				}
			}
		}))
	}
}

// tallyOf counts the lines of a text that hold words.
func tallyOf(text []byte) map[string]int {
	count := map[string]int{}
	for _, line := range words(text) {
		count[line]++
	}
	return count
}
