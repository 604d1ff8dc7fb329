package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/server/store"
)

// BenchmarkPushScanned tells what scanning adds to a PUT of ten new entries of 4 KB:
// each push is done under the default policy and, in turn with it, under one that
// accepts everything, where nothing is scanned. added is what the medians differ by.
func BenchmarkPushScanned(b *testing.B) {
	for name, openStore := range openStores {
		b.Run(name, func(b *testing.B) {
			s := openStore(b)
			scanner, err := scan.New(scan.Options{})
			if err != nil {
				b.Fatal(err)
			}
			scanned, accepted := boxOn(b, s, 1), boxOn(b, s, 2)
			for _, box := range []*box{scanned, accepted} {
				box.Ledger = New(slog.New(slog.DiscardHandler), s, func() time.Time { return noon }, api.DefaultLimits, scanner, nil)
			}
			all := api.PolicyChange{Policy: api.Policy{Verdicts: map[api.Class]api.Verdict{}}}
			for _, class := range api.Classes {
				all.Verdicts[class] = api.VerdictAccept
			}
			if _, err := accepted.SetPolicy(context.Background(), accepted.caller, all, api.Tags{}); err != nil {
				b.Fatal(err)
			}
			random := rand.New(rand.NewPCG(1, 2))
			var with, without []time.Duration
			for b.Loop() {
				push := tenNotes(random)
				without = append(without, accepted.timed(b, push))
				with = append(with, scanned.timed(b, push))
			}
			slices.Sort(with)
			slices.Sort(without)
			b.ReportMetric(100*(float64(with[len(with)/2])/float64(without[len(without)/2])-1), "%added")
			b.ReportMetric(float64(with[len(with)/2].Microseconds()), "µs/scanned")
		})
	}
}

func (b *box) timed(t reporter, push api.Push) time.Duration {
	start := time.Now()
	head, err := b.Head(context.Background(), b.caller, repo)
	if api.CodeOf(err) == api.NotFound {
		head = store.Head{}
	}
	tags := api.Tags{}
	if head.Version > 0 {
		tags = named(head.Checksum)
	}
	b.push(t, push, tags)
	return time.Since(start)
}

// tenNotes are ten keys with 4 KB of prose and Markdown each, new every time.
func tenNotes(random *rand.Rand) api.Push {
	words := strings.Fields("the tests of this package run against a real database, so start it with make before you push; use `go test -run Name` and read [the guide](docs/guide.md) for why we never mock the clock")
	push := api.Push{Entries: texts{}}
	for n := range 10 {
		var text strings.Builder
		fmt.Fprintf(&text, "# Note %d\n\n", random.Int())
		for text.Len() < 4<<10 {
			text.WriteString(words[random.IntN(len(words))])
			text.WriteByte(" \n"[random.IntN(12)/11])
		}
		push.Entries[api.Key(fmt.Sprintf("notes/%d.md", n))] = text.String()
	}
	return push
}
