package ledger

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// BenchmarkPush shows that the work of a PUT grows with the PUT, not with the
// repo: ten entries of 4 KB are written over others in repos of 10, 1,000 and
// 100,000. The repos take turns, so that a noisy machine is noisy for all of them
// alike; what is reported is the median of each and the last one's ratio to the
// first.
func BenchmarkPush(b *testing.B) {
	for name, open := range openStores {
		b.Run("store="+name, func(b *testing.B) {
			sizes := []int{10, 1_000, 100_000}
			boxes := make([]*box, len(sizes))
			for i, entries := range sizes {
				boxes[i] = boxOn(b, open(b), 1)
				boxes[i].caller.MaxEntries = entries
				boxes[i].fill(b, entries)
			}
			random := rand.New(rand.NewPCG(1, 2))
			took := make([][]time.Duration, len(sizes))
			for b.Loop() {
				for i, entries := range sizes {
					push := tenEntries(random, entries)
					begun := time.Now()
					boxes[i].push(b, push, anyState)
					took[i] = append(took[i], time.Since(begun))
				}
			}
			medians := make([]float64, len(sizes))
			for i, entries := range sizes {
				slices.Sort(took[i])
				medians[i] = float64(took[i][len(took[i])/2])
				b.ReportMetric(medians[i]/1e3, fmt.Sprintf("µs/push@%d", entries))
			}
			b.ReportMetric(medians[2]/medians[0], "x@100000/10")
			b.ReportMetric(0, "ns/op") // of three pushes together: says nothing
		})
	}
}

func benchKey(i int) api.Key { return api.Key(fmt.Sprintf("notes/project_%06d.md", i)) }

// fill makes the repo's first entries, in pushes of a thousand.
func (b *box) fill(t reporter, entries int) {
	t.Helper()
	for from := 0; from < entries; from += 1000 {
		push := api.Push{Entries: texts{}}
		for i := from; i < min(from+1000, entries); i++ {
			push.Entries[benchKey(i)] = fmt.Sprint("entry ", i)
		}
		ifMatch := anyState
		if from == 0 {
			ifMatch = api.Tags{}
		}
		if _, err := b.Push(context.Background(), b.caller, repo, push, ifMatch); err != nil {
			t.Fatalf("fill: %v", err)
		}
	}
}

// tenEntries draws ten keys and gives each 4 KB of words.
func tenEntries(random *rand.Rand, entries int) api.Push {
	push := api.Push{Entries: texts{}}
	for len(push.Entries) < 10 {
		var text strings.Builder
		for text.Len() < 4096 {
			fmt.Fprintf(&text, "%x ", random.Uint32())
		}
		push.Entries[benchKey(random.IntN(entries))] = text.String()[:4096]
	}
	return push
}
