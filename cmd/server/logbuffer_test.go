package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pages keeps what each single write brought.
type pages struct {
	mu     sync.Mutex
	writes []string
}

func (p *pages) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, string(b))
	return len(b), nil
}

func TestLogLinesComeTogetherAndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &pages{}
		b := newLogBuffer(out)
		for i := range 3 {
			fmt.Fprintf(b, "line %d\n", i)
		}
		if len(out.writes) > 0 {
			t.Errorf("written at once: %q", out.writes)
		}
		time.Sleep(logDelay)
		synctest.Wait()
		if got := strings.Join(out.writes, "|"); got != "line 0\nline 1\nline 2\n" {
			t.Errorf("got %q", got)
		}
		fmt.Fprint(b, "last\n")
		if err := b.Close(); err != nil || len(out.writes) != 2 || out.writes[1] != "last\n" {
			t.Errorf("at the end: %q, %v", out.writes, err)
		}
	})
}

func TestLogLinesStayWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &pages{}
		b := newLogBuffer(out)
		line := strings.Repeat("x", 1000) + "\n"
		for range 200 {
			fmt.Fprint(b, line)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, w := range out.writes {
			if !strings.HasSuffix(w, "\n") || len(w)%len(line) != 0 {
				t.Errorf("a write of %d bytes cuts a line", len(w))
			}
			total += len(w)
		}
		if total != 200*len(line) || len(out.writes) > 5 {
			t.Errorf("%d bytes in %d writes", total, len(out.writes))
		}
	})
}
