package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const (
	editsTimed = 60
	// Above the debounce an edit may take so long, in the median and for 95 of 100.
	medianOver, p95Over = 25 * time.Millisecond, 70 * time.Millisecond
	// looked is the pause between two looks for the edit.
	looked = 200 * time.Microsecond
	// settling is what a machine gets between two edits, so that each is one of its own.
	settling = 150 * time.Millisecond
)

// sight is a way for an edit of one person to come before the eyes of another.
type sight struct {
	name     string
	from, to string // the file at the one and at the other
	send     func() // what it takes beside the edit itself; may be nil
}

// BenchmarkEditToVisible saves a file at one machine and looks for it at another,
// both with a running client, at two debounces; in turns with git, where it takes a
// commit, a push and a pull over a local path, and with Syncthing at its fastest,
// where that is installed.
func BenchmarkEditToVisible(b *testing.B) {
	var sights []sight
	debounces := []time.Duration{0, 300 * time.Millisecond}
	for _, debounce := range debounces {
		sights = append(sights, oursAt(b, debounce))
	}
	if _, err := exec.LookPath("git"); err == nil {
		sights = append(sights, gitSight(b))
	}
	if _, err := exec.LookPath("syncthing"); err == nil {
		sights = append(sights, syncthingSight(b))
	}
	took := make([][]time.Duration, len(sights))
	for edit := range editsTimed {
		for i, s := range sights {
			took[i] = append(took[i], s.timed(b, edit))
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, s := range sights {
		slices.Sort(took[i])
		middle, high := median(took[i]), took[i][len(took[i])*95/100]
		line := fmt.Sprintf("%s: median %s, p95 %s", s.name, middle.Round(100*time.Microsecond), high.Round(100*time.Microsecond))
		if i < len(debounces) {
			most, mostHigh := debounces[i]+medianOver, debounces[i]+p95Over
			line += fmt.Sprintf("; at most %s and %s wanted%s", most, mostHigh, verdict(middle <= most && high <= mostHigh))
			b.ReportMetric(middle.Seconds()*1e3, fmt.Sprintf("ms-at-%s", debounces[i]))
		}
		b.Log(line)
	}
	if len(sights) > len(debounces) {
		b.Logf("with no debounce %.2f times the time of %s", float64(median(took[0]))/float64(median(took[2])), sights[2].name)
	}
	said, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		b.Logf("load at the end: %s", said)
	}
}

// timed edits once and waits for it to be seen.
func (s sight) timed(b *testing.B, edit int) time.Duration {
	b.Helper()
	text := fmt.Sprintf("%s %d\n%s", s.name, edit, words(uint64(edit), 2048))
	<-time.After(settling)
	beside := filepath.Join(b.TempDir(), "edited")
	if err := os.WriteFile(beside, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	begun := time.Now()
	if err := os.Rename(beside, s.from); err != nil {
		b.Fatal(err)
	}
	if s.send != nil {
		s.send()
	}
	for deadline := begun.Add(time.Minute); ; <-time.After(looked) {
		if seen, err := os.ReadFile(s.to); err == nil && string(seen) == text {
			return time.Since(begun)
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s: the edit is not to be seen within a minute", s.name)
		}
	}
}

// oursAt is two machines with a running client each.
func oursAt(b *testing.B, debounce time.Duration) sight {
	b.Helper()
	server := serve(b, openDatabases[0].open(b))
	one := newMachine(b, server, 20, 2)
	two := newMachine(b, server, 0, 1)
	for _, m := range []*machine{one, two} {
		start(b, m.sync("--debounce", debounce.String()))
	}
	s := sight{name: "client sync --debounce " + debounce.String(), from: filepath.Join(one.dir, "edited.md"), to: filepath.Join(two.dir, "edited.md")}
	s.timed(b, -1) // both are up when the first has come through
	return s
}

// gitSight is two clones of a bare repository on the same disk.
func gitSight(b *testing.B) sight {
	b.Helper()
	home := b.TempDir()
	git := func(dir string, arguments ...string) {
		command := exec.Command("git", append([]string{"-c", "user.name=dana", "-c", "user.email=dana@example.org", "-c", "gc.auto=0"}, arguments...)...)
		command.Dir, command.Env = filepath.Join(home, dir), []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		output(b, command)
	}
	git("", "init", "-q", "--bare", "-b", "main", "origin")
	git("", "clone", "-q", "origin", "one")
	git("one", "checkout", "-q", "-B", "main")
	git("one", "commit", "-q", "--allow-empty", "-m", "begin")
	git("one", "push", "-q", "-u", "origin", "main")
	git("", "clone", "-q", "origin", "two")
	return sight{
		name: "git commit, push and pull", from: filepath.Join(home, "one", "edited.md"), to: filepath.Join(home, "two", "edited.md"),
		send: func() {
			git("one", "add", "-A")
			git("one", "commit", "-q", "-m", "edit")
			git("one", "push", "-q")
			git("two", "pull", "-q", "--ff-only")
		},
	}
}
