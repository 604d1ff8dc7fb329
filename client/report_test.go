package client_test

import (
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
)

// A client says at its start how it is, and at its end that it has ended.
func TestAClientSaysHowItIs(t *testing.T) {
	s := servertest.Start(t)
	m := newMachine(t, s, "dana", "acme/widgets")
	stop := m.run()
	said := func() string {
		org, err := s.Store().Organization(t.Context(), "local")
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.Store().Clients(t.Context(), org.ID, 0)
		if err != nil || len(all) == 0 {
			return ""
		}
		return string(all[0].Document)
	}
	wants := func(state api.ClientState) {
		t.Helper()
		for until := time.Now().Add(20 * time.Second); !strings.Contains(said(), `"state":"`+string(state)+`"`); {
			if time.Now().After(until) {
				t.Fatalf("the server was told %q", said())
			}
			time.Sleep(50 * time.Millisecond) // between two looks
		}
	}
	wants(api.ClientRunning)
	stop()
	wants(api.ClientStopped)
}
