package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a program that runs beside the benchmark. What it says goes to a file.
type process struct {
	command *exec.Cmd
	log     string
}

// start runs a program until the benchmark ends.
func start(b *testing.B, command *exec.Cmd) *process {
	b.Helper()
	p := &process{command: command, log: filepath.Join(b.TempDir(), "log")}
	log, err := os.Create(p.log)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.stop)
	return p
}

// stop asks the program to end and waits for it.
func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	_ = p.command.Wait()
}

var listening = regexp.MustCompile(`listening on (https?://\S+)`)

// address waits until the program says where it listens.
func (p *process) address(b *testing.B) string {
	b.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		said, err := os.ReadFile(p.log)
		if err != nil {
			b.Fatal(err)
		}
		if found := listening.FindSubmatch(said); found != nil {
			return string(found[1])
		}
		if p.command.Process.Signal(syscall.Signal(0)) != nil {
			break
		}
		<-time.After(5 * time.Millisecond)
	}
	said, _ := os.ReadFile(p.log)
	b.Fatalf("%s does not listen: %s", p.command.Path, said)
	return ""
}

// cpu is the processor time that the program has used, to a hundredth of a second.
func (p *process) cpu() time.Duration { return cpuOf(p.command.Process.Pid) }

func cpuOf(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0 // not on this system
	}
	// The name, in brackets, may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// measured runs fn, which does some operations in some time, and adds what they cost
// the program.
func (p *process) measured(fn func() (operations float64, took time.Duration)) round {
	before := p.cpu()
	operations, took := fn()
	return round{rate: operations / took.Seconds(), cpu: (p.cpu() - before).Seconds() / operations}
}

// peer is a program that this binary can be.
func peer(name string, arguments ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], arguments...)
	command.Env = append(os.Environ(), peerEnvironment+"="+name)
	return command
}

// output runs a program to its end.
func output(b *testing.B, command *exec.Cmd) string {
	b.Helper()
	var said, complaint bytes.Buffer
	command.Stdout, command.Stderr = &said, &complaint
	if err := command.Run(); err != nil {
		b.Fatalf("%s: %v: %s%s", command.Path, err, complaint.String(), said.String())
	}
	return said.String()
}

// needs skips a benchmark whose peer is not installed.
func needs(b *testing.B, program string) {
	b.Helper()
	if _, err := exec.LookPath(program); err != nil {
		b.Skipf("%s is the peer here and is not installed", program)
	}
}
