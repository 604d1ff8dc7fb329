package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/state"
)

// memo is a client's state directory. What it says is saved is saved; what a
// crash takes is what promise C4 allows: some, or all, of the agreement.
type memo struct {
	m      *machine
	saved  []*state.Agreement // newest last
	texts  map[api.Checksum]string
	keep   []shelved
	trash  []shelved
	serial int
}

// shelved is a text in the keep or in the trash.
type shelved struct {
	key    api.Key
	text   string
	theirs api.Checksum // of a kept text
}

var errFull = errors.New("the keep is full")

// mostSaved is how far back a state may fall.
const mostSaved = 6

func copied(a *state.Agreement) *state.Agreement {
	b := *a
	b.Entries, b.Tombstones, b.Refused = maps.Clone(a.Entries), maps.Clone(a.Tombstones), maps.Clone(a.Refused)
	return &b
}

func (s *memo) Save(a *state.Agreement) error {
	s.m.step()
	s.saved = append(s.saved, copied(a))
	if len(s.saved) > mostSaved {
		s.saved = s.saved[1:]
	}
	s.m.step()
	return nil
}

// load is what a client finds when it starts anew.
func (s *memo) load() *state.Agreement {
	if len(s.saved) == 0 {
		return state.NewAgreement()
	}
	return copied(s.saved[len(s.saved)-1])
}

// crash takes what a crash may take.
func (s *memo) crash() {
	switch w := s.m.w; {
	case w.chance(0.1):
		w.logf("%s: state lost", s.m.name)
		s.saved = nil
	case w.chance(0.15) && len(s.saved) > 1:
		back := 1 + w.rng.IntN(len(s.saved)-1)
		w.logf("%s: state is %d savings old", s.m.name, back)
		s.saved = s.saved[:len(s.saved)-back]
	case w.chance(0.1):
		clear(s.texts)
	}
}

func (s *memo) PutText(sum api.Checksum, content []byte) error {
	s.m.step()
	if s.m.w.chance(0.02) {
		return errFull
	}
	s.texts[sum] = string(content)
	return nil
}

func (s *memo) Text(sum api.Checksum) ([]byte, bool) {
	text, ok := s.texts[sum]
	return []byte(text), ok && sum != ""
}

func (s *memo) Keep(k state.Kept, mine []byte) (state.Kept, error) {
	s.m.step()
	if s.m.w.chance(0.03) {
		return state.Kept{}, errFull
	}
	for _, piece := range s.keep { // the same text is kept once
		if piece == (shelved{k.Key, string(mine), k.Theirs}) {
			return k, nil
		}
	}
	s.serial++
	k.ID = fmt.Sprintf("k%d", s.serial)
	s.m.w.logf("%s: keep %s %s: %s", s.m.name, k.Key, show(string(mine)), k.Reason)
	if s.m.w.fault != faultNoKeep {
		s.keep = append(s.keep, shelved{k.Key, string(mine), k.Theirs})
	}
	s.m.step()
	return k, nil
}

func (s *memo) Redact(sums []api.Checksum) error {
	s.m.step()
	withdrawn := func(piece shelved) bool { return slices.Contains(sums, api.ChecksumOfString(piece.text)) }
	s.keep, s.trash = slices.DeleteFunc(s.keep, withdrawn), slices.DeleteFunc(s.trash, withdrawn)
	for _, sum := range sums {
		delete(s.texts, sum)
	}
	return nil
}

func (s *memo) Trash(t state.Trashed, content []byte) (state.Trashed, error) {
	s.m.step()
	if s.m.w.chance(0.03) {
		return state.Trashed{}, errFull
	}
	s.serial++
	t.ID = fmt.Sprintf("t%d", s.serial)
	if s.m.w.fault != faultNoTrash {
		s.trash = append(s.trash, shelved{key: t.Key, text: string(content)})
	}
	s.m.step()
	return t, nil
}
