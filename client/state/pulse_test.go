package state_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/teammem/teammem/client/state"
)

func TestPulse(t *testing.T) {
	dir := t.TempDir()
	store, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := store.LastPulse(); got != (state.Pulse{}) {
		t.Errorf("before the first: %+v", got)
	}
	want := state.Pulse{
		Good: time.Unix(1_700_000_000, 5).UTC(), Trouble: state.Unreachable, Since: time.Unix(1_700_000_100, 0).UTC(),
		Text: "connection refused", Hint: "client doctor", Watch: state.Watching{Mode: "polling", Why: "no more watches", Folders: 3},
	}
	if err := store.Beat(want); err != nil {
		t.Fatal(err)
	}
	if got := store.LastPulse(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, damage := range []string{"", "{", `{"good":"yesterday"}`} {
		if err := os.WriteFile(filepath.Join(dir, "pulse"), []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := store.LastPulse(); got != (state.Pulse{}) {
			t.Errorf("of %q: %+v", damage, got)
		}
	}
}
