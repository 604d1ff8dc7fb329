package guard_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/state"
)

// A name is let through, or as much of it is shown as is no secret.
func TestName(t *testing.T) {
	store, err := state.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := guard.New(guard.ScanRules, store, nil, time.Now)
	letters := []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	rand.New(rand.NewPCG(4, 2)).Shuffle(len(letters), func(i, j int) { letters[i], letters[j] = letters[j], letters[i] })
	token := "ghp" + "_" + string(letters[:36])
	for name, want := range map[string]string{
		"feedback_testing_with_races.md": "feedback_testing_with_races.md",
		"a.md":                           "a.md",
		token:                            "ghp_…",
		token + ".md":                    "ghp_…",
		"notes/" + token + "/a.md":       "note…",
		"日本語/" + token + ".md":           "日…",
	} {
		shown, why := guard.Name(g.Judge, name)
		if shown != want || (why != nil) != (shown != name) {
			t.Errorf("a name of %d bytes is shown as %q, want %q (%v)", len(name), shown, want, why)
		}
	}
}
