package sim

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestSimulation runs many schedules, each from its own seed. SIM_SEEDS says how
// many, SIM_FIRST from which on, SIM_SEED names one whose whole story is then told, SIM_FAULT plants a
// fault.
func TestSimulation(t *testing.T) {
	f := fault(os.Getenv("SIM_FAULT"))
	if f != noFault && !plantable(f) {
		t.Fatalf("SIM_FAULT=%s: want one of %v", f, faults)
	}
	if os.Getenv("SIM_SEED") != "" {
		seed := number(t, "SIM_SEED", 0)
		w := run(seed, f)
		t.Logf("seed %d:\n%s", seed, strings.Join(w.trace, "\n"))
		report(t, seed, w)
		return
	}
	count := uint64(2000)
	switch {
	case testing.Short():
		count = 100
	case slow:
		count = 300
	}
	runAll(t, number(t, "SIM_FIRST", 0), number(t, "SIM_SEEDS", count), f)
}

// TestFoundSchedules runs those that failed once. What each has found is a test in
// client/syncer as well, since a seed tells another story when a client asks another
// question.
func TestFoundSchedules(t *testing.T) {
	for _, seed := range []uint64{
		13371, // a tombstone that a live twin had made void came to light
	} {
		report(t, seed, run(seed, noFault))
	}
}

// number reads a number from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// runAll spreads the seeds over the processors. A world is in one goroutine.
func runAll(t *testing.T, first, count uint64, f fault) {
	t.Helper()
	const mostReports = 10
	var next, failed atomic.Uint64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for failed.Load() < mostReports {
				n := next.Add(1) - 1
				if n >= count {
					return
				}
				seed := first + n
				if w := run(seed, f); len(w.violations) > 0 {
					failed.Add(1)
					report(t, seed, w)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d schedules, %d failed", min(next.Load(), count), failed.Load())
}

func report(t *testing.T, seed uint64, w *world) {
	t.Helper()
	if len(w.violations) > 0 {
		t.Errorf("seed %d at commit %s: %s\nthe whole story: SIM_SEED=%d go test -count=1 -v -run '^TestSimulation$' ./sim",
			seed, commit(), strings.Join(w.violations, "\n\t"), seed)
	}
}

// commit names the tree that failed; outside of a checkout nothing does.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// TestSeedReproduces: one seed tells one story.
func TestSeedReproduces(t *testing.T) {
	for seed := range uint64(20) {
		first, second := run(seed, noFault).trace, run(seed, noFault).trace
		if !slices.Equal(first, second) {
			for i := range first {
				if i >= len(second) || first[i] != second[i] {
					t.Fatalf("seed %d tells two stories from line %d on:\n%s\n%s", seed, i, first[i], strings.Join(second[i:min(i+1, len(second))], ""))
				}
			}
		}
	}
}
