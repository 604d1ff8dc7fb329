package recall

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// corpus makes memories of 2 KB whose words are as common as words are.
func corpus(n int) ([]Note, []string) {
	r := rand.New(rand.NewPCG(1, 2))
	vocabulary := make([]string, 30_000)
	for i := range vocabulary {
		var b strings.Builder
		for range 2 + r.IntN(3) {
			b.WriteByte("bcdfghklmnprstvz"[r.IntN(16)])
			b.WriteByte("aeiou"[r.IntN(5)])
		}
		vocabulary[i] = b.String()
	}
	zipf := rand.NewZipf(r, 1.07, 8, uint64(len(vocabulary)-1))
	text := func(size int) string {
		var b strings.Builder
		for b.Len() < size {
			b.WriteString(vocabulary[zipf.Uint64()] + " ")
		}
		return b.String()
	}
	notes := make([]Note, n)
	for i := range notes {
		notes[i] = Note{Path: fmt.Sprintf("n%05d.md", i), Name: text(20), Description: text(90), Body: text(1_890)}
	}
	questions := make([]string, 500)
	for i := range questions {
		// Words of a memory, as somebody asks who half remembers it.
		words := strings.Fields(notes[r.IntN(n)].Body)
		at := r.IntN(len(words) - 8)
		questions[i] = "what do we know of " + strings.Join(words[at:at+3+r.IntN(6)], " ") + "?"
	}
	return notes, questions
}

// BenchmarkSearch asks an index of 10,000 memories of 2 KB that is ready, and reports
// the median over different questions.
func BenchmarkSearch(b *testing.B) {
	notes, questions := corpus(10_000)
	x := NewIndex()
	for _, n := range notes {
		x.Set(n)
	}
	x.Ready()
	var took []time.Duration
	i := 0
	for b.Loop() {
		start := time.Now()
		x.Search(Query{Text: questions[i%len(questions)]})
		took = append(took, time.Since(start))
		i++
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "µs-p95")
}

// BenchmarkSet takes one memory of 2 KB into an index of 10,000.
func BenchmarkSet(b *testing.B) {
	notes, _ := corpus(1_000)
	x := NewIndex()
	for _, n := range notes {
		x.Set(n)
	}
	x.Ready()
	i := 0
	b.SetBytes(2_000)
	for b.Loop() {
		if i++; i%256 == 0 {
			x.Ready()
		}
		x.Set(notes[i%len(notes)])
	}
}

// BenchmarkLibrary opens a library of 1,000 memories and asks one question, as a
// process does: with its cache, and without.
func BenchmarkLibrary(b *testing.B) {
	notes, questions := corpus(1_000)
	dir := b.TempDir()
	for _, n := range notes {
		text := fmt.Sprintf("---\nname: %s\ndescription: %s\ntype: project\n---\n%s", n.Name, n.Description, n.Body)
		if err := os.WriteFile(filepath.Join(dir, n.Path), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	now := time.Now().Add(time.Minute)
	run := func(b *testing.B, cache string) {
		i := 0
		for b.Loop() {
			l := Open(cache, Shelf{Dir: dir})
			if _, err := l.Refresh(b.Context(), now); err != nil {
				b.Fatal(err)
			}
			l.Search(Query{Text: questions[i%len(questions)]})
			if i++; i == 1 {
				if err := l.Save(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("cached", func(b *testing.B) { run(b, filepath.Join(b.TempDir(), "recall.index")) })
	b.Run("anew", func(b *testing.B) { run(b, "") })
}
