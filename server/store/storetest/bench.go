package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// BenchmarkCommit measures what the store's part of a PUT costs: ten entries of
// 4 KB, new contents under keys of which most stand already, by so many writers
// on so many repos. It reports commits a second, and closes the store.
func BenchmarkCommit(b *testing.B, s store.Store, writers, repos int) {
	w := benchWorld(b, s)
	var next atomic.Int64
	b.ResetTimer()
	var group errgroup.Group
	for range writers {
		group.Go(func() error {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				own := *w
				own.ref.Slug = api.RepoSlug(fmt.Sprintf("acme/repo-%d", n%int64(repos)))
				if _, err := own.tryCommit(context.Background(), push(n, 10)...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// BenchmarkCommitTo measures the same by one writer on a repo of so many entries.
func BenchmarkCommitTo(b *testing.B, s store.Store, entries int) {
	w := benchWorld(b, s)
	for filled := 0; filled < entries; {
		var edits []edit
		for range min(1000, entries-filled) {
			edits = append(edits, write(api.Key(fmt.Sprintf("filled/%06d.md", filled)), fmt.Sprint(filled%10)))
			filled++
		}
		if _, err := w.tryCommit(context.Background(), edits...); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for n := range b.N {
		if _, err := w.tryCommit(context.Background(), push(int64(n), 10)...); err != nil {
			b.Fatal(err)
		}
	}
}

func benchWorld(b *testing.B, s store.Store) *world {
	b.Helper()
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Errorf("Close: %v", err)
		}
	})
	org, err := s.CreateOrganization(b.Context(), store.Organization{UID: random("org_"), Name: random("acme-"), Created: at(0)})
	if err != nil {
		b.Fatal(err)
	}
	return &world{
		store: s, org: org, author: store.Author{User: 1, Token: 1, Client: "bench"},
		ref: store.RepoRef{Org: org.ID, Slug: "acme/widgets"},
	}
}

// push is the n-th push: entries of 4 KB, of words, so that they pack as notes do.
func push(n int64, entries int) []edit {
	random := rand.New(rand.NewPCG(uint64(n), 7))
	edits := make([]edit, entries)
	for i := range edits {
		var text strings.Builder
		for text.Len() < 4096 {
			fmt.Fprintf(&text, "%s%s ", syllables[random.IntN(len(syllables))], syllables[random.IntN(len(syllables))])
		}
		edits[i] = write(api.Key(fmt.Sprintf("notes/topic-%03d.md", random.IntN(50)*entries+i)), text.String()[:4096])
	}
	return edits
}

var syllables = strings.Fields(`ab ac ad al an ar as at ba be bi bo ca ce co da de di do ed el em en er es et fa fe fi fo ga ge go
ha he hi ho in ir is it ka ke ki la le li lo ma me mi mo na ne ni no on or os pa pe pi po ra re ri ro sa se si so ta te ti to un ur us va ve vi wa we`)
