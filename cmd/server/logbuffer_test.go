package main

import (
	"fmt"
	"slices"
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

func (p *pages) seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes)
}

func TestLogLinesComeTogetherAndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &pages{}
		b := newLogBuffer(out)
		for i := range 3 {
			fmt.Fprintf(b, "line %d\n", i)
		}
		if early := out.seen(); len(early) > 0 {
			t.Errorf("written at once: %q", early)
		}
		time.Sleep(logDelay)
		synctest.Wait()
		if got := strings.Join(out.seen(), "|"); got != "line 0\nline 1\nline 2\n" {
			t.Errorf("got %q", got)
		}
		fmt.Fprint(b, "last\n")
		err := b.Close()
		if all := out.seen(); err != nil || len(all) != 2 || all[1] != "last\n" {
			t.Errorf("at the end: %q, %v", all, err)
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
		all := out.seen()
		for _, w := range all {
			if !strings.HasSuffix(w, "\n") || len(w)%len(line) != 0 {
				t.Errorf("a write of %d bytes cuts a line", len(w))
			}
			total += len(w)
		}
		if total != 200*len(line) || len(all) > 5 {
			t.Errorf("%d bytes in %d writes", total, len(all))
		}
	})
}
