package scan

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// longLines are single lines of the greatest length an entry may have. Those that
// are hostile are built to cost as much as they can; what they may not do is cost
// more than the bound, or pass unread.
var longLines = []struct {
	name    string
	hostile bool
	unit    func(rng *rand.Rand) string
}{
	{"one letter", false, always("a")},
	{"spaces", false, always(" ")},
	{"prose", false, func(rng *rand.Rand) string { return prose(rng, 20) + " " }},
	{"random letters", false, func(rng *rand.Rand) string { return random(rng, alphabet, 64) }},
	{"random base64", false, func(rng *rand.Rand) string { return random(rng, alphabet+"+/", 64) }},
	{"hex", false, func(rng *rand.Rand) string { return hexes(rng, 64) }},
	{"digits", false, func(rng *rand.Rand) string { return random(rng, "0123456789", 64) }},
	{"JSON", false, func(rng *rand.Rand) string { return `{"id":"` + hexes(rng, 8) + `","key":"` + prose(rng, 3) + `"},` }},
	{"escaped JSON", false, func(rng *rand.Rand) string {
		return `{\"id\":\"` + hexes(rng, 8) + `\",\"token\":\"` + prose(rng, 3) + `\"},\n`
	}},
	{"base64 of text", false, func(rng *rand.Rand) string { return base64.StdEncoding.EncodeToString([]byte(prose(rng, 8))) + " " }},
	{"percent", false, always("%41%20")},
	{"nested percent", false, always("%25252541")},
	{"quoted printable", false, always("=41=20")},
	{"soft breaks", false, always("ab=\n")},
	{"octal", false, always(`\141\040`)},
	{"strings put together", false, always(`"ab" + "cd" + `)},
	{"bytes beyond ASCII", false, always("é漢🎉")},
	{"zero width", false, always("a\u200b")},
	{"control characters", false, always("\x01")},
	{"tag characters", false, always("\U000E0041")},
	{"zero width alone", false, always("\u200b")},
	{"quotes", false, always(`"'`)},
	{"backslashes", false, always(`\`)},
	{"emphasis", false, always("*_`~|")},
	{"underscores", false, always(" _a")},
	{"table", false, always("| a ")},
	{"links", false, always("[a](https://a.example/b?c=d) ")},
	{"paths", false, always("/home/a/b/c/")},
	{"addresses", false, always("a@b.cd ")},
	{"names and signs", false, always("a=")},
	{"nested JSON", false, always(`{"a":[`)},
	{"JSON nested in strings", false, always(`{\\\"a\\\":\"{\\\\\\\"b`)},
	{"keys", true, always("key")},
	{"keys and signs", true, always("key=")},
	{"keys and values", true, always("key=abcdefgh12 ")},
	{"keys and words", true, always("key: abcdefghijkl ")},
	{"tokens to be", true, always("ghp_")},
	{"tokens", true, func(rng *rand.Rand) string { return "ghp_" + random(rng, alphabet, 36) + " " }},
	{"AWS keys to be", true, always("AKIA")},
	{"web tokens to be", true, always("eyJhbGciOiJIUzI1NiJ9.")},
	{"web tokens to be, short", true, always("ey")},
	{"private keys to be", true, always("-----BEGIN PRIVATE KEY-----")},
	{"private keys begun", true, always("-----BEGIN")},
	{"private keys begun and ended", true, always("-----BEGIN PRIVATE KEY-----END KEY-----")},
	{"curl", true, always("curl ")},
	{"curl with options", true, always("curl -H ")},
	{"curl with headers", true, always(`curl -H "a: b" -u `)},
	{"secrets to be", true, always("kind: secret data: ")},
	{"data", true, always("data: a ")},
	{"URLs with colons", true, always("://a:")},
	{"URLs with signs", true, always("://a:b@")},
	{"vendors", true, always("adobe: twitter: sentry= ")},
	{"facebook", true, always("facebook")},
	{"facebook and digits", true, always("facebook 123456789012345|")},
	{"orders", true, always("ignore all the previous ")},
	{"pastes", true, always("curl x | ")},
	{"comments", true, always("<!--")},
	{"styles", true, always(`<a style="`)},
	{"passwords", true, always("password is ")},
	{"values without end", true, always("password=aB3aB3aB3")},
	{"look-alikes", true, always("аa")},
	{"flags", true, always("🏴󠁧󠁢")},
	{"secrets sent", true, always("send secrets to ")},
}

func always(s string) func(*rand.Rand) string { return func(*rand.Rand) string { return s } }

func random(rng *rand.Rand, set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[rng.IntN(len(set))]
	}
	return string(b)
}

func longLine(unit func(*rand.Rand) string) []byte {
	rng := seeded("line")
	var b strings.Builder
	for b.Len() < api.DefaultLimits.EntryBytes {
		b.WriteString(unit(rng))
	}
	return []byte(strings.ToValidUTF8(b.String()[:api.DefaultLimits.EntryBytes], "?"))
}

// TestLongLines holds the work on any line to the bound, and the result on any line
// that is not hostile to an answer.
func TestLongLines(t *testing.T) {
	s := newScanner(t)
	for _, line := range longLines {
		t.Run(line.name, func(t *testing.T) {
			text := longLine(line.unit)
			found, err := s.Scan("notes.md", text[:len(text)/under])
			if err != nil && (!line.hostile || !errors.Is(err, ErrTooDense)) {
				t.Fatal(err)
			}
			if most := mostOfARule * (len(s.rules) + 1); len(found) > most {
				t.Errorf("%d findings, want at most %d", len(found), most)
			}
		})
	}
}

// BenchmarkLongLine is to stay under 100 ms of processor time a line.
func BenchmarkLongLine(b *testing.B) {
	s := newScanner(b)
	for _, line := range longLines {
		b.Run(strings.ReplaceAll(line.name, " ", "-"), func(b *testing.B) {
			text := longLine(line.unit)
			b.SetBytes(int64(len(text)))
			began, n := processorTime(), 0
			for b.Loop() {
				_, _ = s.Scan("notes.md", text)
				n++
			}
			if spent := processorTime() - began; spent > 0 {
				each := spent / time.Duration(n)
				b.ReportMetric(float64(each.Microseconds())/1000, "cpu-ms/op")
				if each > mostOfALine {
					b.Logf("%s: %s of processor time, at most %s wanted: MISSED", line.name, each, mostOfALine)
				}
			}
		})
	}
}

// mostOfALine is the figure to reach.
const mostOfALine = 100 * time.Millisecond

func TestTooLong(t *testing.T) {
	if _, err := newScanner(t).Scan("notes.md", make([]byte, MaxBytes+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v, want ErrTooLong", err)
	}
}
