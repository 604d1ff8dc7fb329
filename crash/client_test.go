package crash

import (
	"path/filepath"
	"testing"
)

func ours(t *testing.T) string {
	t.Helper()
	return filepath.Dir(program(t, "client"))
}

// The client is killed at random instants, in one round and as a daemon in turns.
func TestKilledClient(t *testing.T) {
	m := newMachine(t, ours(t))
	cut, amid := 0, 0
	n := cycles(t, 10)
	for cycle := range n {
		m.edit(t)
		arguments := []string{"sync", "--once"}
		if cycle%2 == 1 {
			arguments = []string{"sync", "--debounce", "5ms"}
		}
		client := start(t, m.command(arguments...))
		wait(m.took + m.took/4)
		client.kill()
		if !client.command.ProcessState.Exited() {
			cut++
		}
		reached, err := m.began()
		if err != nil {
			t.Fatal(err)
		}
		if reached {
			amid++
		}
		if err := m.whole(); err != nil {
			t.Fatalf("cycle %d: %v", cycle, err)
		}
		m.converges(t)
	}
	t.Logf("%d of %d clients were killed before their end, and %d had changed a file by then; every file whole, every edit there", cut, n, amid)
	if cut == 0 {
		t.Error("no client was killed, so nothing is shown")
	}
}
