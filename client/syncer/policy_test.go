package syncer_test

import (
	"errors"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/syncer"
)

// A file that policy no longer refuses goes out by itself; one that it refuses from now
// on stays.
func TestPolicyChanges(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	a.write("bad.md", "SECRET\n")
	a.mustRound()
	if !a.told(syncer.EventHeld, "bad.md") || len(f.rows) > 0 {
		t.Fatalf("events %v, rows %v", a.events, f.rows)
	}
	a.guard.policy = map[string]api.Verdict{"SECRET": api.VerdictFlag, "HIDDEN": api.VerdictRefuse}
	a.write("hidden.md", "HIDDEN\n")
	a.mustRound()
	if f.rows["bad.md"].text != "SECRET\n" || a.told(syncer.EventHeld, "bad.md") {
		t.Errorf("events %v, rows %v", a.events, f.rows)
	}
	if _, there := f.rows["hidden.md"]; there || !a.told(syncer.EventHeld, "hidden.md") {
		t.Errorf("events %v, rows %v", a.events, f.rows)
	}
}

// What policy holds becomes a proposal; a server without proposals would publish it, so
// it stays here.
func TestHeldForReview(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	a.write("hidden.md", "HIDDEN\n")
	a.mustRound()
	if len(f.rows) > 0 || !a.told(syncer.EventHeld, "hidden.md") {
		t.Errorf("events %v, rows %v", a.events, f.rows)
	}
	a.guard.reviews = true
	a.mustRound()
	if !a.told(syncer.EventProposed, "hidden.md") || a.told(syncer.EventPushed, "hidden.md") {
		t.Errorf("events %v", a.events)
	}
	if f.rows["hidden.md"].text != "HIDDEN\n" || len(a.s.Agreed().Refused) > 0 {
		t.Errorf("refused %v, rows %v", a.s.Agreed().Refused, f.rows)
	}
}

// The server's own scan refuses what ours let through: it is said in the same words,
// the rest of the batch goes in with one more request, and it is not sent again until
// the file or the policy changes.
func TestServerRefusal(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	strict := true
	f.before = func(push api.Push) error {
		if _, ok := push.Entries["odd.md"]; ok && strict {
			return &api.Error{Code: api.Refused, Message: "refused", Details: api.Details{
				ErrorCode: api.ErrorCodeRefused, Refused: []api.EntryFinding{{Key: "odd.md", Rule: "odd", Line: 7}, {Key: "odd.md", Rule: "other", Line: 9}},
			}}
		}
		return nil
	}
	for _, key := range []string{"a.md", "b.md", "odd.md", "z.md"} {
		a.write(key, key)
	}
	a.mustRound()
	if len(f.rows) != 3 || f.puts != 2 {
		t.Errorf("%d rows by %d requests, want 3 by 2", len(f.rows), f.puts)
	}
	if r := a.s.Agreed().Refused["odd.md"]; r.Kind != syncer.RefusedPolicy || r.Rule != "odd" || r.Line != 7 || !r.Held() {
		t.Errorf("refused %+v", r)
	}
	if !a.told(syncer.EventHeld, "odd.md") {
		t.Errorf("events %v", a.events)
	}
	a.restart()
	a.mustRound()
	if f.puts != 2 {
		t.Error("it was sent again")
	}
	strict, a.guard.changed = false, true
	a.mustRound()
	if f.rows["odd.md"].text != "odd.md" || len(a.s.Agreed().Refused) > 0 {
		t.Errorf("it did not go out under another policy: %v", a.s.Agreed().Refused)
	}
}

// Nothing is sent while the policy cannot be had; the edits wait.
func TestWithoutThePolicyNothingIsSent(t *testing.T) {
	f := newFake()
	a := newBox(t, f)
	a.write("a.md", "a")
	a.guard.err = errors.New("the answer is no policy")
	if _, err := a.round(); err == nil || f.puts > 0 {
		t.Errorf("error %v, %d requests", err, f.puts)
	}
	a.guard.err = nil
	a.mustRound()
	refreshes := a.guard.refreshes
	a.mustRound()
	if f.rows["a.md"].text != "a" || a.guard.refreshes != refreshes {
		t.Errorf("rows %v; asked again with nothing to push: %v", f.rows, a.guard.refreshes > refreshes)
	}
}
