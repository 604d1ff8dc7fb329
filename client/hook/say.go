package hook

import (
	"fmt"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/claudemd"
)

// Hint is a memory that may matter for a question, as an agent is told of it.
type Hint struct {
	Key, Path, Age, Title, Description string
}

// SayHints tells of memories that matter; empty without any.
func SayHints(hints []Hint) string {
	if len(hints) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Memories that may matter for this question. Read a file before you rely on it, " +
		"and verify what it says about code, for it is as old as it says:\n")
	for _, h := range hints {
		what := h.Description
		if what == "" {
			what = h.Title
		}
		fmt.Fprintf(&b, "- %s (%s, %s): %s\n", h.Path, h.Key, h.Age, oneLine(what))
	}
	return b.String()
}

// mostNews is how many changes are named of each kind.
const mostNews = 10

// SayNews tells what came from the team; describe gives the one line of a memory that
// says what it is about, and may give nothing.
func SayNews(news News, describe func(api.Key) string) string {
	if news.Empty() {
		return ""
	}
	var b strings.Builder
	b.WriteString("What changed in the team's memory since the last session here:\n")
	for _, part := range []struct {
		word string
		keys []api.Key
	}{{"new", news.New}, {"changed", news.Changed}, {"gone", news.Gone}} {
		for i, key := range part.keys {
			if i == mostNews {
				fmt.Fprintf(&b, "- and %d more that are %s\n", len(part.keys)-mostNews, part.word)
				break
			}
			about := ""
			if part.word != "gone" {
				about = oneLine(describe(key))
			}
			if about != "" {
				about = ": " + about
			}
			fmt.Fprintf(&b, "- %s team/%s%s\n", part.word, key, about)
		}
	}
	return b.String()
}

// SayOpening is what an agent that reads no memory by itself is told when a session
// begins: what is new, the files of instructions, and the prompt about memory. Files that
// leave no room for the prompt are named instead, to be read.
func SayOpening(news string, files []claudemd.File, prompt string) string {
	if news != "" {
		news += "\n"
	}
	if text := news + claudemd.Text(files, prompt); len(text) <= MaxContext {
		return strings.TrimSuffix(text, "\n\n")
	}
	var b strings.Builder
	b.WriteString(news + "These files hold instructions for this codebase and its user. They are too long to be told here; read them before you begin:\n")
	for _, f := range files {
		b.WriteString("- " + f.Path + "\n")
	}
	return b.String() + "\n" + prompt
}

// oneLine keeps a description from posing as more than one line of a list.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const most = 300
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}
