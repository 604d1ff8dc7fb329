package postgres

import (
	"fmt"
	"testing"

	"github.com/teammem/teammem/server/store/postgres/pgtest"
	"github.com/teammem/teammem/server/store/storetest"
)

func BenchmarkCommit(b *testing.B) {
	storetest.BenchmarkCommit(b, open(b, pgtest.DSN(b, pgtest.Durable())), 32, 100)
}

func BenchmarkCommitTo(b *testing.B) {
	for _, entries := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			storetest.BenchmarkCommitTo(b, open(b, pgtest.DSN(b, pgtest.Durable())), entries)
		})
	}
}
