package state_test

import (
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/state"
)

// What one process accepts, another that asks before each text sees at once; and what a
// caller does with an answer changes no other answer.
func TestAdviceIsSeenAtOnce(t *testing.T) {
	dir := t.TempDir()
	open := func() *state.Store {
		s, err := state.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	daemon, command := open(), open()
	advice := func(s *state.Store) state.Advice {
		t.Helper()
		a, err := s.Advice()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	key := string(advice(daemon).Key)
	for n := range 50 {
		a := advice(command)
		if string(a.Key) != key || len(a.Accepted) != n%2 {
			t.Fatalf("%d: the other process sees %d accepted under %x", n, len(a.Accepted), a.Key)
		}
		if len(a.Accepted) > 0 {
			a.Accepted = a.Accepted[:0]
		} else {
			a.Accepted = append(a.Accepted, state.LocallyAllowed{Acceptance: api.Acceptance{Fingerprint: "f"}})
		}
		if err := command.SaveAdvice(a); err != nil {
			t.Fatal(err)
		}
		if got := advice(daemon); len(got.Accepted) != (n+1)%2 {
			t.Fatalf("%d: the daemon sees %d accepted", n, len(got.Accepted))
		} else if len(got.Accepted) > 0 {
			got.Accepted[0].Fingerprint = "changed by a caller"
			if again := advice(daemon); again.Accepted[0].Fingerprint != "f" {
				t.Fatal("an answer is shared between callers")
			}
		}
	}
}
