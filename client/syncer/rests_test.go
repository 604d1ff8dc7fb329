package syncer

import (
	"math/rand/v2"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/state"
)

// A round that rests does not plan; so a plan of what it saw must be empty, and must
// have nothing to note either.
func TestRestIsAnEmptyPlan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sums := []api.Checksum{"", api.ChecksumOf([]byte("a")), api.ChecksumOf([]byte("b"))}
	some := func() api.Checksum { return sums[1+r.IntN(20)/19] } // nearly always the same
	rested, worked := 0, 0
	for range 20_000 {
		s := &Syncer{agreed: state.NewAgreement()}
		var listing memdir.Listing
		files := map[api.Key]memdir.File{}
		for _, key := range []api.Key{"a.md", "b.md", "c/d.md"} {
			if r.IntN(4) == 0 {
				continue
			}
			file := memdir.File{Key: key, Checksum: some(), Fingerprint: memdir.Fingerprint{Size: int64(r.IntN(20) / 19)}}
			entry := state.Entry{Base: some(), Remote: some(), File: file}
			switch r.IntN(20) {
			case 0:
				entry.Base = ""
			case 1:
				entry.Remote = ""
			case 2:
				entry.File = memdir.File{}
			case 3:
				s.agreed.Tombstones[key] = some()
			case 4:
				s.agreed.Refused[key] = state.Refusal{Checksum: file.Checksum}
			}
			if r.IntN(20) > 0 {
				listing.Files = append(listing.Files, file)
				files[key] = file
			}
			if r.IntN(20) > 0 {
				s.agreed.Entries[key] = entry
			}
		}
		there := s.remembered()
		if !s.rests(listing, there) {
			worked++
			continue
		}
		rested++
		if plan := Plan(s.input(&here{files: files}, there)); len(plan) > 0 {
			t.Fatalf("it rests, and the plan is %v: %+v", plan, s.agreed)
		}
		for _, file := range listing.Files {
			s.sawFile(file)
		}
		if s.dirty {
			t.Fatalf("it rests, and there was something to note: %+v", s.agreed)
		}
	}
	if rested < 1_000 || worked < 1_000 {
		t.Errorf("rested %d times and worked %d times, which shows little", rested, worked)
	}
}
