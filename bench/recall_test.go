package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkRecall starts client recall in a directory of 1,000 memories of 2 KB that
// it has looked through before. The peer is client version, which is what any process
// of ours costs.
func BenchmarkRecall(b *testing.B) {
	bin, err := build()
	if err != nil {
		b.Fatal(err)
	}
	home := b.TempDir()
	dir := filepath.Join(home, "notes")
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	var question string
	for i := range 1_000 {
		body := words(uint64(i), 1_850)
		question = strings.Join(strings.Fields(body)[3:9], " ")
		head := fmt.Sprintf("---\nname: topic %d\ndescription: %s\ntype: project\n---\n", i, words(uint64(i+5_000), 90))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("topic-%04d.md", i)), []byte(head+body), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	client := func(arguments ...string) *exec.Cmd {
		command := exec.Command(filepath.Join(bin, "client"), arguments...)
		command.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		return command
	}
	recall := func() *exec.Cmd { return client("recall", "--json", "--dir", dir, question) }
	timed := func(command *exec.Cmd) time.Duration {
		begun := time.Now()
		output(b, command)
		return time.Since(begun)
	}
	b.Logf("the first time, without an index: %v", timed(recall()))
	// What was written just now must grow old before a look at its times is enough.
	<-time.After(3 * time.Second)
	b.Logf("the second time: %v", timed(recall()))
	var theirs, ours []time.Duration
	for range noChangePairs {
		theirs = append(theirs, timed(client("version")))
		ours = append(ours, timed(recall()))
	}
	compareTimes(b, 4, theirs, ours)
}
