package client

import (
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// What changed is said after a minute, what did not after five, and that it ends at once.
func TestWhenAClientSaysHowItIs(t *testing.T) {
	said := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	same := api.ClientReport{ID: "x", State: api.ClientRunning, Files: 3}
	changed, ends := same, same
	changed.Files, ends.State = 4, api.ClientStopped
	for _, c := range []struct {
		after time.Duration
		word  api.ClientReport
		want  bool
	}{
		{0, same, false},
		{time.Minute - time.Millisecond, changed, false},
		{time.Minute, changed, true},
		{time.Minute, same, false},
		{5*time.Minute - time.Millisecond, same, false},
		{5 * time.Minute, same, true},
		{time.Millisecond, ends, true},
	} {
		r := reporter{last: same, at: said}
		if got := r.due(said.Add(c.after), c.word); got != c.want {
			t.Errorf("%s after the last word, %+v: due is %v", c.after, c.word, got)
		}
	}
	if first := (&reporter{}); !first.due(said, same) {
		t.Error("the first word is not said at once")
	}
}
