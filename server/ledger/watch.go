package ledger

import (
	"time"

	"github.com/teammem/teammem/api"
)

// Tally is what the scan of one push came to, for whoever counts it: nothing of
// who pushed or what.
type Tally struct {
	Took     time.Duration
	Findings map[FindingKind]int
}

// FindingKind is a class of findings, and what the policy does about them.
type FindingKind struct {
	Class   api.Class
	Verdict api.Verdict
}

// Watch has fn hear of each push that was scanned. It must not wait, and is named
// before the ledger is used.
func (l *Ledger) Watch(fn func(Tally)) { l.watch = fn }

// watched tells of the scan of a request that began at.
func (l *Ledger) watched(ask *request, began time.Time) {
	if l.watch == nil {
		return
	}
	e := Tally{Took: l.now().Sub(began), Findings: map[FindingKind]int{}}
	for _, w := range ask.writes {
		for _, f := range w.findings {
			e.Findings[FindingKind{f.Class, f.verdict}]++
		}
	}
	l.watch(e)
}
