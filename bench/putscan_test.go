package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// pushesScanned is how many pushes of each kind are timed.
const pushesScanned = 300

// BenchmarkPutScanned tells what scanning adds to a PUT of ten new entries of 4 KB, over
// HTTP, from one writer: pushes to an organization with the default policy take turns
// with those to one whose policy lets everything through, where nothing is scanned.
func BenchmarkPutScanned(b *testing.B) {
	for _, d := range openDatabases {
		b.Run(d.kind, func(b *testing.B) {
			scanned := serve(b, d.open(b))
			unscanned := beside(b, scanned, "open")
			random := rand.New(rand.NewPCG(3, 5))
			var with, without []time.Duration
			for n := range 2 * pushesScanned {
				p, times := scanned, &with
				if (n+n/2)%2 == 0 { // which of a pair comes first takes turns
					p, times = unscanned, &without
				}
				body := tenNotes(b, random)
				begun := time.Now()
				ifMatch := "*"
				if n < 2 {
					ifMatch = "" // the repo's first
				}
				if err := p.put("acme/notes", body, ifMatch); err != nil {
					b.Fatal(err)
				}
				if n >= 20 { // from when on all is warm
					*times = append(*times, time.Since(begun))
				}
			}
			compareTimes(b, 1.15, without, with[:len(without)])
		})
	}
}

// beside is another organization of a running server, whose policy accepts everything.
func beside(b *testing.B, p *product, name string) *product {
	b.Helper()
	flags := []string{"--data", p.dir, "--database", p.dsn}
	output(b, exec.Command(program(b, "server"), append([]string{"org", "create", name}, flags...)...))
	other := *p
	other.token = strings.TrimSpace(output(b, exec.Command(program(b, "server"),
		append([]string{"token", "create", "--org", name, "--user", "dana", "--role", "admin"}, flags...)...)))
	verdicts := map[api.Class]api.Verdict{}
	for _, class := range api.Classes {
		verdicts[class] = api.VerdictAccept
	}
	body, err := json.Marshal(map[string]any{"verdicts": verdicts})
	if err != nil {
		b.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPut, p.url+api.PathPolicy, strings.NewReader(string(body)))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+other.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := pusher.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	said, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		b.Fatalf("the policy is answered %s: %s", answer.Status, said)
	}
	return &other
}

// tenNotes is a push of ten entries with 4 KB of prose each, new every time.
func tenNotes(b *testing.B, random *rand.Rand) []byte {
	b.Helper()
	words := strings.Fields("the tests of this package run against a real database, so start it with make before you push; use `go test -run Name` and read [the guide](docs/guide.md) for why we never mock the clock")
	entries := map[string]string{}
	for n := range perPut {
		var text strings.Builder
		fmt.Fprintf(&text, "# Note %d\n\n", random.Uint64())
		for text.Len() < entrySize {
			text.WriteString(words[random.IntN(len(words))])
			text.WriteByte(" \n"[random.IntN(12)/11])
		}
		entries[topic(n)] = text.String()[:entrySize]
	}
	body, err := json.Marshal(map[string]any{"entries": entries})
	if err != nil {
		b.Fatal(err)
	}
	return body
}
