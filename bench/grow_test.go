package bench

import (
	"testing"
	"time"
)

// growPairs is how many pushes each repo gets. They alternate, one by one.
const growPairs = 300

// BenchmarkPutGrowth pushes ten entries of 4 KB into a repo of ten entries and one
// of 100,000, in turns. The small repo is the peer.
func BenchmarkPutGrowth(b *testing.B) {
	for _, store := range openDatabases {
		b.Run("store="+store.kind, func(b *testing.B) {
			ours := serve(b, store.open(b))
			const few, many = 10, 100_000
			ours.fill(b, "acme/few", few)
			ours.fill(b, "acme/many", many)
			body := newPush()
			timed := func(repo string, entries int) time.Duration {
				text := body.next(entries)
				begun := time.Now()
				if err := ours.put(repo, text, "*"); err != nil {
					b.Fatal(err)
				}
				return time.Since(begun)
			}
			var small, large []time.Duration
			for range growPairs {
				small = append(small, timed("acme/few", few))
				large = append(large, timed("acme/many", many))
			}
			compareTimes(b, 1.3, small, large)
		})
	}
}
