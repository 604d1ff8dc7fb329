package memdir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Several writers at one key at one instant, each with a text of its own and all from
// the same base. One is told that it wrote, and its text stands; the others are told
// that it changed, and of nothing that stood is anything missing or kept as if a
// person had edited it.
const (
	crowd      = 5
	crowdTurns = 60
)

// writer writes one text over another when it is told to, and says what it was told.
type writer struct {
	turn chan string // the base
	told chan error
}

func (b *box) crowdOf(t *testing.T, join func(name string) writer) {
	writers := make([]writer, crowd)
	for i := range writers {
		writers[i] = join(fmt.Sprint(i))
	}
	base := "nobody 0"
	b.write("sub/a.md", base, nil)
	for turn := range crowdTurns {
		for _, w := range writers {
			w.turn <- base
		}
		var wrote []string
		for i, w := range writers {
			err := <-w.told
			switch changed := (*ChangedError)(nil); {
			case err == nil:
				wrote = append(wrote, textOf(fmt.Sprint(i), base))
			case !errors.As(err, &changed):
				t.Fatalf("writer %d: %v", i, err)
			}
		}
		stands := b.stands("sub/a.md")
		if !slices.Equal(wrote, []string{stands}) {
			t.Fatalf("turn %d: %q were told that they wrote, and %q stands", turn, wrote, stands)
		}
		base = stands
	}
	if kept := b.reaped(); kept != "" {
		t.Errorf("kept as if somebody had edited it: %q", kept)
	}
	for _, w := range writers {
		close(w.turn)
	}
}

// textOf is what a writer writes over a base, different for every one of both.
func textOf(name, base string) string {
	_, number, _ := strings.Cut(base, " ")
	n, _ := strconv.Atoi(number)
	return fmt.Sprint(name, " ", n+1)
}

// writeOver writes as everybody does who has read the base.
func writeOver(d *Dir, name, base string) error {
	now := time.Now()
	file, _, err := d.Look(now, "sub/a.md", 1000)
	if err != nil {
		return err
	}
	if got, err := d.Read("sub/a.md", 1000); err != nil || string(got) != base {
		return errors.Join(err, &ChangedError{Key: "sub/a.md", Detail: "was edited"})
	}
	_, err = d.Write(now, "sub/a.md", []byte(textOf(name, base)), time.Time{}, &file)
	return err
}

func TestCrowdOfGoroutines(t *testing.T) {
	eachWayOn(t, QuickDisk, func(b *box) {
		b.crowdOf(b.T, func(name string) writer {
			w := writer{make(chan string), make(chan error, 1)}
			go func() {
				for base := range w.turn {
					w.told <- writeOver(b.Dir, name, base)
				}
			}()
			return w
		})
	})
}

// TestCrowdOfProcesses is the same with processes, which share nothing but the disk.
func TestCrowdOfProcesses(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	eachWayOn(t, QuickDisk, func(b *box) {
		var ended sync.WaitGroup
		b.crowdOf(b.T, func(name string) writer {
			cmd := exec.Command(program, "-test.run=^TestOneOfCrowd$")
			cmd.Env = append(os.Environ(), "MEMDIR_CROWD="+name, "MEMDIR_ROOT="+b.root, fmt.Sprint("MEMDIR_PLAIN=", b.plain))
			in, err1 := cmd.StdinPipe()
			out, err2 := cmd.StdoutPipe()
			if err := errors.Join(err1, err2, cmd.Start()); err != nil {
				b.Fatal(err)
			}
			w := writer{make(chan string), make(chan error, 1)}
			ended.Go(func() {
				answers := bufio.NewReader(out)
				for base := range w.turn {
					_, _ = fmt.Fprintln(in, base)
					w.told <- readAnswer(answers)
				}
				_ = in.Close()
				_, _ = io.Copy(io.Discard, answers)
				_ = cmd.Wait()
			})
			return w
		})
		ended.Wait()
	})
}

func readAnswer(r *bufio.Reader) error {
	line, err := r.ReadString('\n')
	switch {
	case err != nil:
		return fmt.Errorf("a writer has gone: %w", err)
	case line == "wrote\n":
		return nil
	case line == "changed\n":
		return &ChangedError{Key: "sub/a.md", Detail: "was edited"}
	}
	return errors.New(line)
}

// TestOneOfCrowd is one process of [TestCrowdOfProcesses].
func TestOneOfCrowd(t *testing.T) {
	name := os.Getenv("MEMDIR_CROWD")
	if name == "" {
		return // TestCrowdOfProcesses starts it
	}
	d, err := Open(os.Getenv("MEMDIR_ROOT"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.plain = os.Getenv("MEMDIR_PLAIN") == "true"
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		err := writeOver(d, name, lines.Text())
		switch changed := (*ChangedError)(nil); {
		case err == nil:
			fmt.Println("wrote")
		case errors.As(err, &changed):
			fmt.Println("changed")
		default:
			fmt.Println(err)
		}
	}
}
