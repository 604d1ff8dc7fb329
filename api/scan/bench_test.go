package scan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
)

// markdown makes about n bytes of notes as a team of developers keeps them: prose
// full of keys, tokens and authentication, lists, tables, fences, links, commit
// ids, digests and UUIDs, in files of a few kilobytes, with a secret in every
// eightieth.
func markdown(t testing.TB, n int) []string {
	t.Helper()
	rng := seeded("markdown")
	secrets := samples(t)
	var files []string
	for total := 0; total < n; {
		var b strings.Builder
		fmt.Fprintf(&b, "---\nname: note-%d\ndescription: %s\ntype: project\n---\n\n# %s\n\n", len(files), prose(rng, 9), prose(rng, 4))
		for range 6 + rng.IntN(30) {
			b.WriteString(paragraph(rng))
		}
		if len(files)%80 == 40 {
			fmt.Fprintf(&b, "\n%s\n", secrets[rng.IntN(len(secrets))].text)
		}
		files = append(files, b.String())
		total += b.Len()
	}
	return files
}

var vocabulary = strings.Fields(`the a of to and in is for on that with as it by this be are from at or when not must
	should never always we use server client token key keys access authentication author api endpoint secret password
	credential file files test tests build run deploy branch commit merge review release staging production database
	migration schema query index cache queue worker retry timeout error log metric dashboard config environment
	variable default value path directory package module function method handler router middleware request response
	header cookie session user role permission policy docker compose terraform kubernetes github gitlab slack stripe
	sentry datadog curl task risk asked scan risky skip they prefix linear travis discord monkey keyboard primary`)

func prose(rng *rand.Rand, words int) string {
	list := make([]string, words)
	for i := range list {
		list[i] = vocabulary[rng.IntN(len(vocabulary))]
	}
	return strings.Join(list, " ")
}

func hexes(rng *rand.Rand, n int) string {
	const digits = "0123456789abcdef"
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[rng.IntN(16)]
	}
	return string(b)
}

func paragraph(rng *rand.Rand) string {
	switch rng.IntN(9) {
	case 0:
		return fmt.Sprintf("- **%s**: %s, see `%s/%s.go:%d`\n", prose(rng, 2), prose(rng, 8), prose(rng, 1), prose(rng, 1), rng.IntN(900))
	case 1:
		return fmt.Sprintf("| %s | `%s` | %s |\n", prose(rng, 2), prose(rng, 1), prose(rng, 5))
	case 2:
		return fmt.Sprintf("\n```go\nfunc %s(%s string) error {\n\treturn %s.%s(ctx, %q)\n}\n```\n\n", prose(rng, 1), prose(rng, 1), prose(rng, 1), prose(rng, 1), prose(rng, 3))
	case 3:
		return fmt.Sprintf("\nFixed in commit %s, checksum sha256:%s, session %s-%s-%s-%s-%s.\n", hexes(rng, 12), hexes(rng, 64), hexes(rng, 8), hexes(rng, 4), hexes(rng, 4), hexes(rng, 4), hexes(rng, 12))
	case 4:
		return fmt.Sprintf("\nSee [%s](https://github.com/%s/%s/issues/%d) and https://docs.example.com/%s?page=%d\n", prose(rng, 3), prose(rng, 1), prose(rng, 1), rng.IntN(9999), prose(rng, 1), rng.IntN(99))
	}
	return "\n" + prose(rng, 25+rng.IntN(50)) + ".\n"
}

// BenchmarkMarkdown and BenchmarkPeer read the same text in the same run; the
// ratio is what counts.
func BenchmarkMarkdown(b *testing.B) {
	files := markdown(b, 4<<20)
	s := newScanner(b)
	benchmark(b, files, func(text string) {
		if _, err := s.Scan("notes.md", []byte(text)); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkPeer(b *testing.B) {
	files := markdown(b, 4<<20)
	ref := reference(b)
	benchmark(b, files, func(text string) { ref.DetectString(text) })
}

func benchmark(b *testing.B, files []string, scan func(string)) {
	size := 0
	for _, f := range files {
		size += len(f)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, f := range files {
			scan(f)
		}
	}
}

// BenchmarkNew is what a program pays at its start.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSmall is one entry of 4 KB, as a PUT carries ten of.
func BenchmarkSmall(b *testing.B) {
	s := newScanner(b)
	text := []byte(strings.Join(markdown(b, 8<<10), ""))[:4096]
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := s.Scan(api.Key("notes.md"), text); err != nil {
			b.Fatal(err)
		}
	}
}
