package client

import (
	"fmt"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/syncer"
)

// retire looks after what has been kept for long: texts over their time are named,
// and go some days after that, so that neither the keep nor the trash fills up
// behind anyone's back.
func (s *Session) retire() error {
	if s.cfg.DryRun {
		return nil
	}
	keptGoing, keptGone, err := s.store.RetireKept(s.now())
	if err != nil {
		return fmt.Errorf("look after the keep: %w", err)
	}
	trashGoing, trashGone, err := s.store.RetireTrash(s.now())
	if err != nil {
		return fmt.Errorf("look after the trash: %w", err)
	}
	for _, kept := range keptGoing {
		s.tellRetired(kept.Key, "was kept a month ago and goes in a week", "client conflicts show "+kept.ID)
	}
	for _, trashed := range trashGoing {
		s.tellRetired(trashed.Key, "was deleted a month ago and leaves the trash in a week", "client trash restore "+trashed.ID)
	}
	for _, kept := range keptGone {
		s.tellRetired(kept.Key, "was let go from the keep, as was said a week ago", "")
	}
	for _, trashed := range trashGone {
		s.tellRetired(trashed.Key, "was let go from the trash, as was said a week ago", "")
	}
	return nil
}

func (s *Session) tellRetired(key api.Key, text, hint string) {
	s.tell(syncer.Event{Kind: syncer.EventRetired, Keys: []api.Key{key}, Text: text, Hint: hint})
}
