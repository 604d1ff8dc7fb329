package crash

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

// everyEnvironment names the variable that asks for a kill at every call, not at
// some of them.
const everyEnvironment = "TEAMMEM_CRASH_EVERY"

// stepOf is between two calls that are killed at, of so many in a round.
func stepOf(calls kind, many int) int {
	every := os.Getenv(everyEnvironment) != ""
	switch {
	case every && calls == working:
		return 1
	case every:
		return 1 + many/50
	}
	return 1 + many/8
}

// sweep kills at every step-th call of a kind, beginning with the first-th, until a
// round has no more of them. It gives at how many.
func (m *machine) sweep(t *testing.T, calls kind, first, step int) (kills, numbers int, err error) {
	t.Helper()
	seen := map[uint64]bool{}
	for at := first; ; at += step {
		m.edit(t)
		did := trace{Kind: calls, At: at}.traced(t, m.command("sync", "--once"))
		if err := m.whole(); err != nil {
			return kills, len(seen), fmt.Errorf("%s: %w", did, err)
		}
		if err := m.settle(t); err != nil {
			return kills, len(seen), fmt.Errorf("%s: %w", did, err)
		}
		if !did.Killed {
			return kills, len(seen), nil
		}
		seen[did.Number] = true
		kills++
	}
}

func TestClientKilledAtEveryCall(t *testing.T) {
	m := newMachine(t, ours(t))
	for _, calls := range []kind{working, resting} {
		m.edit(t)
		many := trace{Kind: calls}.traced(t, m.command("sync", "--once")).Calls
		m.converges(t)
		step := stepOf(calls, many)
		first := 1 + rand.IntN(step)
		kills, kinds, err := m.sweep(t, calls, first, step)
		if err != nil {
			t.Fatalf("from call %d with a step of %d: %v", first, step, err)
		}
		t.Logf("killed at %d %s calls of %d kinds, the %d. and then each %d.; a round has %d; every file whole, every edit there", kills, calls, kinds, first, step, many)
		if calls == working && kills < 3 {
			t.Errorf("only %d kills, so little is shown", kills)
		}
	}
}

// A client that writes in place must be found out.
func TestAWriteInPlaceIsCaught(t *testing.T) {
	const place = `	sum := api.ChecksumOf(content)
	rec := newRecord(`
	const inPlace = `	sum := api.ChecksumOf(content)
	if file, err := target.root.Create(name); err == nil {
		_, _ = file.Write(content[:len(content)/2])
		_ = file.Sync()
		_, _ = file.Write(content[len(content)/2:])
		return File{Key: key, Checksum: sum}, file.Close()
	}
	rec := newRecord(`
	m := newMachine(t, faulty(t, "client/memdir/write.go", place, inPlace))
	_, _, err := m.sweep(t, flushing, 1, 1)
	if err == nil {
		t.Fatal("a client that writes in place is not found out")
	}
	t.Logf("caught: %v", err)
}
