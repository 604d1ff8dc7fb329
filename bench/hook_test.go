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
// process of ours costs. The p95 of each is logged, and of the processor time that
// each takes, user and system, which moves less on a machine that others use.
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
	timed := func(command *exec.Cmd) (wall, work time.Duration) {
		begun := time.Now()
		output(b, command)
		return time.Since(begun), command.ProcessState.UserTime() + command.ProcessState.SystemTime()
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
			var theirs, times, work, peersWork []time.Duration
			for i := range 40 {
				wall, cpu := timed(client(nil, "version"))
				theirs, peersWork = append(theirs, wall), append(peersWork, cpu)
				wall, cpu = timed(ours(i))
				times, work = append(times, wall), append(work, cpu)
			}
			ranked := func(all []time.Duration) string {
				sorted := slices.Sorted(slices.Values(all))
				return fmt.Sprintf("median %v, p95 %v", sorted[20].Round(100*time.Microsecond), sorted[37].Round(100*time.Microsecond))
			}
			b.Logf("%s: %s; client version: %s", moment, ranked(times), ranked(theirs))
			b.Logf("%s: processor time %s; client version: %s", moment, ranked(work), ranked(peersWork))
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
