package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// cyclesEnvironment names the variable with how often a test kills.
const cyclesEnvironment = "TEAMMEM_CRASH_CYCLES"

// cycles is how often to kill: short, unless more is asked for.
func cycles(t *testing.T, short int) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(cyclesEnvironment))
	if err != nil {
		return short
	}
	return n
}

// built is where this test process keeps the programs.
var built = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "teammem-crash-") })

// runAll runs the tests and removes the programs.
func runAll(m *testing.M) {
	m.Run()
	if dir, err := built(); err == nil {
		_ = os.RemoveAll(dir)
	}
}

// programs are the product's own, built once.
var programs = sync.OnceValues(func() (string, error) { return buildTo("own", "") })

// program is the path of one of the product's programs.
func program(t *testing.T, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// buildTo builds the programs, with the files that the overlay replaces.
func buildTo(name, overlay string) (string, error) {
	root, err := built()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, name)
	arguments := []string{"build", "-o", dir + "/"}
	if overlay != "" {
		arguments = append(arguments, "-overlay", overlay)
	}
	command := exec.Command("go", append(arguments, "./cmd/client", "./cmd/server")...)
	command.Dir, command.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the programs: %w: %s", err, said)
	}
	return dir, nil
}

// faulty builds the programs with one text of one source file replaced: a fault
// that the product itself must not hold. It gives the directory.
func faulty(t *testing.T, file, old, planted string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", file))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(source), old) != 1 {
		t.Fatalf("%s does not hold, once, what the fault is to replace: %q", file, old)
	}
	dir := t.TempDir()
	replaced := filepath.Join(dir, "planted.go")
	if err := os.WriteFile(replaced, []byte(strings.Replace(string(source), old, planted, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := filepath.Abs(filepath.Join("..", file))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {at: replaced}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	programs, err := buildTo("faulty", filepath.Join(dir, "overlay.json"))
	if err != nil {
		t.Fatal(err)
	}
	return programs
}

// process is a program that runs until it is killed. What it says goes to a file.
type process struct {
	command *exec.Cmd
	log     string
	ended   chan struct{}
}

// start runs a program. The test's end kills it.
func start(t *testing.T, command *exec.Cmd) *process {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "log-")
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = log, log
	err = command.Start()
	_ = log.Close()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{command: command, log: log.Name(), ended: make(chan struct{})}
	go func() {
		_ = command.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the program by SIGKILL and waits for its end.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	<-p.ended
}

// said is all that the program said so far.
func (p *process) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// address waits until the program says where it listens.
func (p *process) address(t *testing.T) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(2 * time.Millisecond) {
		if found := listening.FindStringSubmatch(p.said()); found != nil {
			return found[1]
		}
		select {
		case <-p.ended:
			t.Fatalf("%s ended: %s", p.command.Path, p.said())
		default:
		}
	}
	t.Fatalf("%s does not listen: %s", p.command.Path, p.said())
	return ""
}

// output runs a program to its end and gives what it said to stdout.
func output(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	said, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s%s", strings.Join(command.Args, " "), err, said, complaint(err))
	}
	return string(said)
}

func complaint(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(exit.Stderr)
	}
	return ""
}
