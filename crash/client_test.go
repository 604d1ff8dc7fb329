package crash

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// changing are the system calls that a round changes the disk by.
var changing = []string{"renameat2", "renameat", "linkat", "unlinkat", "fsync", "mkdirat"}

// stepEnvironment names the variable with the step between two calls that are
// killed at; 1 is each of them.
const stepEnvironment = "TEAMMEM_CRASH_STEP"

// needStrace skips the test where there is none, and with CI set fails it.
func needStrace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("CI is set and nothing may be skipped: strace is not installed")
		}
		t.Skip("strace is not installed")
	}
}

// killedAt runs a round that is killed as it enters its k-th call of a kind. strace
// counts each thread's by itself, so the program gets as few as it can do with.
func (m *machine) killedAt(t *testing.T, call string, k int) bool {
	t.Helper()
	command := m.command("sync", "--once")
	strace := exec.Command("strace", append([]string{
		"-f", "-qq", "-o", os.DevNull, "-e", "trace=" + call,
		"-e", "inject=" + call + ":signal=SIGKILL:when=" + strconv.Itoa(k),
	}, command.Args...)...)
	strace.Env = append(command.Env, "GOMAXPROCS=1")
	return start(t, strace).await(t)
}

// sweep kills at each step-th call of every kind until a round has no more of them.
func (m *machine) sweep(t *testing.T, step int) (kills int, err error) {
	t.Helper()
	for _, call := range changing {
		for k := 1; ; k += step {
			m.edit(t)
			killed := m.killedAt(t, call, k)
			if err := m.whole(); err != nil {
				return kills, errors.Join(errors.New("killed at "+call+" "+strconv.Itoa(k)), err)
			}
			if err := m.settle(t); err != nil {
				return kills, errors.Join(errors.New("killed at "+call+" "+strconv.Itoa(k)), err)
			}
			if !killed {
				break
			}
			kills++
		}
	}
	return kills, nil
}

func TestClientKilledAtEveryCall(t *testing.T) {
	needStrace(t)
	step, err := strconv.Atoi(os.Getenv(stepEnvironment))
	if err != nil {
		step = 2
	}
	kills, err := newMachine(t, ours(t)).sweep(t, step)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("killed at %d calls, with a step of %d; every file whole, every edit there", kills, step)
	if kills < len(changing) {
		t.Errorf("only %d kills, so little is shown", kills)
	}
}

// A client that writes in place must be found out.
func TestAWriteInPlaceIsCaught(t *testing.T) {
	needStrace(t)
	const place = `	sum := api.ChecksumOf(content)
	rec := newRecord(`
	const inPlace = `	sum := api.ChecksumOf(content)
	if file, err := target.root.Create(name); err == nil {
		_, _ = file.Write(content[:len(content)/2])
		_ = file.Sync()
		_, _ = file.Write(content[len(content)/2:])
		return File{Key: key, Checksum: sum}, file.Close()
	}
	rec := newRecord(`
	m := newMachine(t, faulty(t, "client/memdir/write.go", place, inPlace))
	_, err := m.sweep(t, 1)
	if err == nil {
		t.Fatal("a client that writes in place is not found out")
	}
	t.Logf("caught: %v", err)
}
