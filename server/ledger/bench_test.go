package ledger

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/memory"
)

// BenchmarkPush shows that the work of a PUT grows with the PUT, not with the
// repo: ten entries of 4 KB are rewritten in repos of 10, 1,000 and 100,000.
func BenchmarkPush(b *testing.B) {
	stores := []struct {
		name string
		open func(b *testing.B) store.Store
	}{
		{"memory", func(*testing.B) store.Store { return memory.New() }},
	}
	for _, s := range stores {
		for _, entries := range []int{10, 1_000, 100_000} {
			b.Run(fmt.Sprintf("store=%s/entries=%d", s.name, entries), func(b *testing.B) {
				box := boxOn(b, s.open(b))
				box.caller.MaxEntries = entries
				box.fill(b, entries)
				random := rand.New(rand.NewPCG(1, uint64(entries)))
				pushes := make([]api.Push, 64)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if i%len(pushes) == 0 {
						b.StopTimer()
						for j := range pushes {
							pushes[j] = tenEntries(random, entries)
						}
						b.StartTimer()
					}
					box.push(b, pushes[i%len(pushes)], anyState)
				}
			})
		}
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
