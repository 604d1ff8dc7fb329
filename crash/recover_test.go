package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

const (
	// recoverRounds is the most kills that the long form waits for clients after.
	recoverRounds = 50
	convergeTime  = 5 * time.Second // from ready to converged, wanted
)

// daemon starts a client that stays, with a home of its own, and gives its directory.
func (v *victim) daemon(t *testing.T, name string) (dir string) {
	t.Helper()
	home := t.TempDir()
	dir, token := filepath.Join(home, name), filepath.Join(home, "token")
	if err := os.WriteFile(token, []byte(v.token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program(t, "client"), "sync", "--dir", dir, "--repo", "crash/recover", "--server", v.url, "--token-file", token, "--debounce", "50ms")
	command.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	start(t, command)
	return dir
}

// holds waits until a file has a text.
func holds(t *testing.T, path, text string) {
	t.Helper()
	for deadline := time.Now().Add(recoveryWait); ; <-time.After(2 * time.Millisecond) {
		found, err := os.ReadFile(path)
		if err == nil && string(found) == text {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s holds %q after %s, want %q", path, found, recoveryWait, text)
		}
	}
}

// Clients that were live when the server was killed are equal soon after it is ready
// again, with what was edited on both sides while it was away.
func TestClientsAfterAKill(t *testing.T) {
	v := newVictim(t, "")
	a, b := v.daemon(t, "a"), v.daemon(t, "b")
	holdsMarker := func(dir string) {
		for deadline := time.Now().Add(recoveryWait); time.Now().Before(deadline); <-time.After(2 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, ".teammem", "marker.json")); err == nil {
				return
			}
		}
		t.Fatalf("%s is not synced", dir)
	}
	holdsMarker(a)
	holdsMarker(b)
	var took []time.Duration
	for n := range min(cycles(t, 2), recoverRounds) {
		text := strconv.Itoa(n)
		v.server.kill()
		for _, path := range []string{filepath.Join(a, "by-a.md"), filepath.Join(b, "by-b.md")} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		v.launch(t)
		v.awaitReady(t, begun)
		ready := time.Now()
		holds(t, filepath.Join(b, "by-a.md"), text)
		holds(t, filepath.Join(a, "by-b.md"), text)
		took = append(took, time.Since(ready))
	}
	slices.Sort(took)
	middle, last := took[len(took)/2], took[len(took)-1]
	up, longest := v.readiness()
	t.Logf("%d kills: the server is ready after %s, at most %s; the clients are equal %s after that, at most %s", len(took),
		up.Round(time.Millisecond), longest.Round(time.Millisecond), middle.Round(time.Millisecond), last.Round(time.Millisecond))
	if middle > convergeTime {
		t.Errorf("the clients are equal %s after the server is ready, want %s", middle, convergeTime)
	}
}
