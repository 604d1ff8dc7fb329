package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkHook starts client hook at each of an agent's moments, beside a directory of
// 1,000 memories of 2 KB that is synced. The peer is client version, which is what any
// process of ours costs. The p95 of each is logged.
func BenchmarkHook(b *testing.B) {
	bin, err := build()
	if err != nil {
		b.Fatal(err)
	}
	m := newMachine(b, serve(b, openDatabases[0].open(b)), 0, 1)
	question := m.memories(b, 1_000)
	output(b, m.sync("--once"))
	path := filepath.Join(m.dir, "topic-0001.md")
	client := func(input map[string]any, arguments ...string) *exec.Cmd {
		command := exec.Command(filepath.Join(bin, "client"), arguments...)
		command.Env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH"), "TEAMMEM_DIR=" + m.dir}
		said, err := json.Marshal(input)
		if err != nil {
			b.Fatal(err)
		}
		command.Stdin = bytes.NewReader(said)
		return command
	}
	timed := func(command *exec.Cmd) time.Duration {
		begun := time.Now()
		output(b, command)
		return time.Since(begun)
	}
	tool := map[string]any{"file_path": path, "old_string": "\n", "new_string": "\nmore\n"}
	// What was written just now must grow old before a look at its times is enough.
	<-time.After(3 * time.Second)
	for _, moment := range []string{"session-start", "prompt", "before-write", "after-write", "stop"} {
		b.Run(moment, func(b *testing.B) {
			ours := func(i int) *exec.Cmd {
				return client(map[string]any{"session_id": fmt.Sprint(i), "cwd": m.home, "prompt": question, "tool_input": tool}, "hook", "--agent", "gemini", moment)
			}
			timed(ours(-1))
			var theirs, times []time.Duration
			for i := range 40 {
				theirs = append(theirs, timed(client(nil, "version")))
				times = append(times, timed(ours(i)))
			}
			sorted := slices.Sorted(slices.Values(times))
			peers := slices.Sorted(slices.Values(theirs))
			b.Logf("%s: median %v, p95 %v; client version: median %v, p95 %v", moment, sorted[20], sorted[37], peers[20], peers[37])
			compareTimes(b, 4, theirs, times)
		})
	}
}

// memories writes so many memories of 2 KB, and gives a question that one answers.
func (m *machine) memories(b *testing.B, count int) (question string) {
	b.Helper()
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range count {
		body := words(uint64(i), 1_850)
		question = strings.Join(strings.Fields(body)[3:9], " ")
		head := fmt.Sprintf("---\nname: topic %d\ndescription: %s\ntype: project\n---\n", i, words(uint64(i+5_000), 90))
		if err := os.WriteFile(filepath.Join(m.dir, fmt.Sprintf("topic-%04d.md", i)), []byte(head+body), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return question
}
