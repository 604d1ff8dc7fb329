package sim

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/remote"
)

// fault is a planted fault: one promise broken in the simulated world round the
// real code, to show that the proof would see it.
type fault string

const (
	noFault         fault = ""
	faultBlindWrite fault = "blindwrite" // C2: the base of a push is not named
	faultBlindFile  fault = "blindfile"  // C1: a file is replaced without a look at it
	faultNoKeep     fault = "nokeep"     // C1: the keep keeps nothing
	faultNoTrash    fault = "notrash"    // 2.2: nor does the trash
	faultNoReap     fault = "noreap"     // C1: late writes are thrown away
	faultSwiftEdit  fault = "swiftedit"  // C13: an edit within the clock's grain is not looked for
	faultStateLeads fault = "stateleads" // C4: the state is on the disk before the data
	faultNewline    fault = "newline"    // C5: what is written is not what was asked for
	faultAckLost    fault = "acklost"    // S1: the server forgets what it acknowledged
)

type planted struct {
	fault fault
	seen  string // of it, in what the proof says
}

// faults are all that can be planted.
var faults = []planted{
	{faultBlindWrite, "C1: nobody took"},
	{faultBlindFile, "C1: nobody took"},
	{faultNoKeep, "C1: nobody took"},
	{faultNoTrash, "without a copy in the trash"},
	{faultNoReap, "C1: nobody took"},
	{faultSwiftEdit, "C5: "},
	{faultStateLeads, "C1: nobody took"},
	{faultNewline, "C5: "},
	{faultAckLost, "stopped and asks"},
}

// plantable reports whether a fault is one of them.
func plantable(f fault) bool {
	return slices.ContainsFunc(faults, func(known planted) bool { return known.fault == f })
}

// onTheWay changes a request as the planted fault wants.
func (w *world) onTheWay(l letter) letter {
	if w.fault != faultBlindWrite || l.method != http.MethodPut {
		return l
	}
	push, err := api.DecodePush(l.body)
	if err != nil {
		return l
	}
	live := w.server.live()
	for key := range push.BaseChecksums {
		push.BaseChecksums[key] = nil
		if text, ok := live[key]; ok {
			sum := api.ChecksumOfString(text)
			push.BaseChecksums[key] = &sum
		}
	}
	if body, err := remote.EncodePush(push); err == nil {
		l.body = body
	}
	return l
}

// TestPlantedFaults shows that each promise that is broken is seen.
func TestPlantedFaults(t *testing.T) {
	const within = 600 // schedules
	for _, f := range faults {
		t.Run(string(f.fault), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(within) {
				for _, broken := range run(seed, f.fault).violations {
					if strings.Contains(broken, f.seen) {
						t.Logf("seen with seed %d: %s", seed, broken)
						return
					}
				}
			}
			t.Errorf("in %d schedules nothing like %q was seen", within, f.seen)
		})
	}
}
