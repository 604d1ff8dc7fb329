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

const (
	restTime  = 65 * time.Second // more than the time between two rescans
	traceTime = 65 * time.Second
	// burstGap parts one wake-up from the next. What a poll starts is over sooner.
	burstGap = 250 * time.Millisecond
)

// BenchmarkAtRest watches a client that has nothing to do, on a directory of 2,000
// files: its memory, its processor time, and when it wakes up. Wake-ups are counted
// as bursts of system calls, and held against what may wake it: a request, a rescan,
// and a heartbeat of the live stream.
func BenchmarkAtRest(b *testing.B) {
	server := serve(b, openDatabases[0].open(b))
	m := newMachine(b, server, 2000, 20)
	client := start(b, m.sync())
	settled(b, server)
	pid := client.command.Process.Pid

	_, end := server.asked(b, 0)
	cpu, switches := client.cpu(), voluntarySwitches(b, pid)
	<-time.After(restTime)
	requests, end := server.asked(b, end)
	resident := statusField(b, fmt.Sprintf("/proc/%d/status", pid), "VmRSS")
	peak := statusField(b, fmt.Sprintf("/proc/%d/status", pid), "VmHWM")
	used := client.cpu() - cpu
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(resident)/1024, "MiB")
	b.Logf("memory %.1f MiB, %.1f at most (under 48 wanted); in %s: %s of processor time, %d voluntary switches, %d requests%s",
		float64(resident)/1024, float64(peak)/1024, restTime, used, voluntarySwitches(b, pid)-switches, len(requests), verdict(resident < 48*1024))

	if _, err := exec.LookPath("strace"); err != nil {
		b.Log("strace is not installed: wake-ups are not counted")
		return
	}
	bursts, calls := traced(b, pid)
	requests, _ = server.asked(b, end)
	b.ReportMetric(float64(len(bursts)), "wake-ups")
	b.Logf("%d wake-ups in %s, at %s; the server was asked %d times: %q", len(bursts), traceTime, strings.Join(bursts, " "), len(requests), requests)
	b.Logf("system calls: %s", calls)
}

// settled waits until the client has polled once and its first rounds are over.
func settled(b *testing.B, server *product) {
	b.Helper()
	for last, quiet := 0, time.Now(); time.Since(quiet) < 5*time.Second; <-time.After(50 * time.Millisecond) {
		if requests, _ := server.asked(b, 0); len(requests) != last && time.Since(quiet) < 2*time.Second {
			last, quiet = len(requests), time.Now()
		}
	}
}

// voluntarySwitches counts how often the threads of a process went to sleep.
func voluntarySwitches(b *testing.B, pid int) (n int) {
	b.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range threads {
		n += statusField(b, path, "voluntary_ctxt_switches")
	}
	return n
}

func statusField(b *testing.B, path, name string) int {
	b.Helper()
	status, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			n, err := strconv.Atoi(strings.Fields(string(value))[0])
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatalf("%s has no %s", path, name)
	return 0
}

var traceLine = regexp.MustCompile(`^\d+ +(\d+\.\d+) (?:<\.\.\. )?(\w+)`)

// traced watches a process's system calls and gives the bursts they came in, as
// seconds since the start with the number of calls, and how many there were of each.
func traced(b *testing.B, pid int) (bursts []string, calls string) {
	b.Helper()
	out := filepath.Join(b.TempDir(), "trace")
	tracer := start(b, exec.Command("strace", "-f", "-qq", "-ttt", "-o", out, "-p", strconv.Itoa(pid)))
	<-time.After(traceTime)
	_ = tracer.command.Process.Signal(syscall.SIGINT)
	_ = tracer.command.Wait()
	trace, err := os.ReadFile(out)
	if err != nil {
		b.Fatal(err)
	}
	var first, last float64
	size := 0
	counts := map[string]int{}
	for line := range bytes.Lines(trace) {
		found := traceLine.FindSubmatch(line)
		if found == nil {
			continue
		}
		at, _ := strconv.ParseFloat(string(found[1]), 64)
		if first == 0 {
			first, last = at, at
			continue // what it was waiting in when the trace began
		}
		if at-last > burstGap.Seconds() {
			bursts = append(bursts, fmt.Sprintf("%.1fs", at-first))
		}
		last = at
		size++
		counts[string(found[2])]++
	}
	return bursts, fmt.Sprintf("%d: %v", size, counts)
}
