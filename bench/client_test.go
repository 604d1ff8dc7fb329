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

// machine is a client's: a memory directory and a home of its own.
type machine struct {
	server    *product
	home, dir string
	token     string // a file
}

// newMachine makes a memory directory of so many files of 1 to 4 KB in so many
// folders, and syncs it once.
func newMachine(b *testing.B, server *product, files, folders int) *machine {
	b.Helper()
	home := b.TempDir()
	m := &machine{server: server, home: home, dir: filepath.Join(home, "notes"), token: filepath.Join(home, "token")}
	if err := os.WriteFile(m.token, []byte(server.token+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	for i := range files {
		path := filepath.Join(m.dir, fmt.Sprintf("folder-%03d", i%folders), fmt.Sprintf("topic-%05d.md", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(words(uint64(i), 1024+i%3072)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	output(b, m.sync("--once"))
	return m
}

// sync is the client's command for the directory.
func (m *machine) sync(flags ...string) *exec.Cmd {
	dir, err := build()
	if err != nil {
		return &exec.Cmd{Err: err}
	}
	arguments := append([]string{"sync", m.dir, "--repo", "acme/notes", "--server", m.server.url, "--token-file", m.token}, flags...)
	command := exec.Command(filepath.Join(dir, "client"), arguments...)
	command.Env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH")}
	return command
}

// asked is what the clients asked the server since a place in its log: one line a
// request, the operation and the status.
func (p *product) asked(b *testing.B, from int) (requests []string, end int) {
	b.Helper()
	said, err := os.ReadFile(p.log)
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(said[from:])) {
		if _, rest, ok := strings.Cut(line, " operation="); ok {
			operation, rest, _ := strings.Cut(rest, " status=")
			status, _, _ := strings.Cut(rest, " ")
			requests = append(requests, operation+" "+status)
		}
	}
	return requests, len(said)
}

// noChangePairs is how often client and git are started, in turns.
const noChangePairs = 25

// BenchmarkNoChange starts the client for one round in a directory of 10,000 files
// in 100 folders in which nothing has changed, and the server answers 304. The peer
// is git status of the same tree. Both are timed from start to end.
func BenchmarkNoChange(b *testing.B) {
	needs(b, "git")
	server := serve(b, openDatabases[0].open(b))
	m := newMachine(b, server, 10_000, 100)
	git := func(arguments ...string) *exec.Cmd {
		command := exec.Command("git", append([]string{"-C", m.dir, "-c", "user.name=dana", "-c", "user.email=dana@example.org"}, arguments...)...)
		command.Env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH")}
		return command
	}
	output(b, git("init", "-q"))
	output(b, git("add", "-A"))
	output(b, git("commit", "-q", "-m", "all"))

	// What was written just now must grow old before a look at its times is enough.
	<-time.After(3 * time.Second)
	output(b, git("status"))
	output(b, m.sync("--once"))
	_, end := server.asked(b, 0)
	timed := func(command *exec.Cmd) time.Duration {
		begun := time.Now()
		output(b, command)
		return time.Since(begun)
	}
	var theirs, ours []time.Duration
	for range noChangePairs {
		theirs = append(theirs, timed(git("status")))
		ours = append(ours, timed(m.sync("--once")))
	}
	requests, _ := server.asked(b, end)
	if n := strings.Count(strings.Join(requests, "\n"), "getTeamMemory 304"); n != noChangePairs {
		b.Fatalf("of %d rounds %d were answered 304: %q", noChangePairs, n, requests)
	}
	b.Logf("each round asks %d times", len(requests)/noChangePairs)
	compareTimes(b, 3, theirs, ours)
}
