package tui

import (
	"fmt"
	"io"
	"time"
)

// patience is how long work goes on before it is worth a line.
const patience = time.Second

// redraw is how often the line changes at most.
const redraw = 100 * time.Millisecond

// Progress is one line about work that takes more than a second. It appears only on
// a terminal, is redrawn in place, steps aside for other lines, and disappears at
// the end. A library that draws bars takes one writer for all; here lines go to two,
// and the bar is one line of words.
type Progress struct {
	t           *Terminal
	verb, noun  string
	total, done int
	timer       *time.Timer
	drawn       time.Time // zero: not shown yet
	ended       bool
}

// Progress begins a line such as "pulling 212 of 1,030 entries". A total of zero or
// less is not shown. End must be called.
func (t *Terminal) Progress(verb string, total int, noun string) *Progress {
	p := &Progress{t: t, verb: verb, noun: noun, total: total}
	if t.opts.ErrTerminal && !t.opts.JSON && !t.opts.Quiet {
		p.timer = time.AfterFunc(patience, p.show)
	}
	return p
}

// Add counts n more pieces.
func (p *Progress) Add(n int) { p.change(func() { p.done += n }) }

// Set says how many are done, of how many.
func (p *Progress) Set(done, total int) { p.change(func() { p.done, p.total = done, total }) }

// End removes the line.
func (p *Progress) End() {
	if p.timer != nil {
		p.timer.Stop()
	}
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	p.ended = true
	if p.t.running == p {
		p.erase()
		p.t.running = nil
	}
}

func (p *Progress) change(by func()) {
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	by()
	if p.t.running == p && time.Since(p.drawn) >= redraw {
		p.draw()
	}
}

func (p *Progress) show() {
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	// One line at a time: work within work is the outer one's progress.
	if p.ended || p.t.running != nil {
		return
	}
	p.t.running = p
	p.draw()
}

// eraseLine goes to the start of the line and clears it.
const eraseLine = "\r\x1b[K"

// erase and draw run under the terminal's lock.
func (p *Progress) erase() { _, _ = io.WriteString(p.t.err, eraseLine) }

func (p *Progress) draw() {
	p.drawn = time.Now()
	count := Number(p.done)
	if p.total > 0 {
		count = fmt.Sprintf("%s of %s", count, Number(p.total))
	}
	_, _ = io.WriteString(p.t.err, eraseLine+fmt.Sprintf("%s %s %s", p.verb, count, p.noun))
}
