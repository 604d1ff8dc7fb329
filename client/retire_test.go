package client_test

import (
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/syncer"
	"github.com/teammem/teammem/server/servertest"
)

// What was kept for a month is named, and goes only after that.
func TestOldTextsAreNamedBeforeTheyGo(t *testing.T) {
	m := newMachine(t, servertest.Start(t), "dana", "acme/widgets")
	store, err := state.Open(m.cfg.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-state.Retention - time.Hour)
	mine := []byte("mine")
	if _, err := store.Keep(state.Kept{Key: "k.md", At: old, Mine: api.ChecksumOf(mine)}, mine); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Trash(state.Trashed{Key: "t.md", At: old, Checksum: api.ChecksumOf(mine)}, mine); err != nil {
		t.Fatal(err)
	}
	named := func() (n int) {
		m.once()
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, e := range m.events {
			if e.Kind == syncer.EventRetired {
				n++
			}
		}
		m.events = nil
		return n
	}
	if n := named(); n != 2 {
		t.Errorf("%d events, want one for each", n)
	}
	kept, err := store.Kept()
	if err != nil || len(kept) != 1 {
		t.Errorf("kept %v, %v: it went unannounced", kept, err)
	}
}
