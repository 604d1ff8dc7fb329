package claudemd

import (
	"strings"
	"testing"
	"time"
)

// What is made to keep a parser busy is read in a moment all the same.
func TestHostileMarkdown(t *testing.T) {
	steps := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", 2*i) + "- a\n")
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"quotes": strings.Repeat(">", 60_000) + "a", "lists": strings.Repeat("- ", 30_000), "steps": steps(200), "brackets": strings.Repeat("[", 60_000),
		"links": strings.Repeat("[a](", 15_000), "stars": strings.Repeat("*a ", 20_000), "tags": strings.Repeat("<a ", 20_000), "images": strings.Repeat("![[]()", 10_000),
		"comments": strings.Repeat("a <!-- ", 9_000), "blocks": strings.Repeat("<div>\n\n", 9_000), "much": strings.Repeat("@a.md `x` <!-- ", 250_000),
	} {
		begun := time.Now()
		s := shapeOf([]byte(text))
		references([]byte(text), s.dead)
		// A second where nothing else is at work; the bound is for machines that are busy.
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		t.Logf("%s: %v", name, time.Since(begun))
	}
}
