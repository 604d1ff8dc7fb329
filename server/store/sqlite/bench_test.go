package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/teammem/teammem/server/store/storetest"
)

func BenchmarkCommit(b *testing.B) {
	db := open(b)
	// On a machine with other work the queue of 32 may take longer than a request may.
	db.acquireWait = time.Minute
	storetest.BenchmarkCommit(b, db, 32, 100)
}

func BenchmarkCommitTo(b *testing.B) {
	for _, entries := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprint(entries), func(b *testing.B) { storetest.BenchmarkCommitTo(b, open(b), entries) })
	}
}
