package syncer

import (
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/state"
)

// What could not be settled in the round that offered is settled later without the
// base of the old life, which would make lines that the new life never had look
// removed (found by simulation, seed 4498).
func TestAnUnsettledConflictForgetsTheOldLife(t *testing.T) {
	s := New(nil, nil, nil, nil, nil, nil, nil, state.NewAgreement(), Options{})
	s.agreed.Entries["settled.md"] = state.Entry{Base: sum("theirs")}
	s.agreed.Entries["waits.md"] = state.Entry{Base: sum("of the old life")}
	s.offer([]Action{
		{Kind: Conflict, Key: "settled.md", Remote: sum("theirs")},
		{Kind: Conflict, Key: "waits.md", Remote: sum("theirs")},
	}, &there{})
	for key, want := range map[api.Key]api.Checksum{"settled.md": sum("theirs"), "waits.md": ""} {
		if got := s.agreed.Entries[key].Base; got != want {
			t.Errorf("%s has the base %q, want %q", key, got, want)
		}
	}
}
