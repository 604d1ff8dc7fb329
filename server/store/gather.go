package store

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// What shares a transaction is bounded: whoever came first waits for all of it.
const (
	gatherMost    = 32
	gatherLongest = 50 * time.Millisecond
)

// Gather lets changes that wait for one lock share a transaction, and so the flush at
// its end, which costs more than most of them. There is a line for every lock that is
// named by a key. Who finds nobody before them leads: they take the lock, carry their
// own change out, and then those that have come to stand in the line meanwhile, first
// come, first served, until nobody is left or a bound is reached. Nobody waits for
// company, so a change that comes alone takes no longer than without a line. The zero
// Gather is ready.
type Gather[K comparable, C any] struct {
	mu    sync.Mutex
	lines map[K][]*place[C] // a key is there while somebody leads
}

// place is one change in a line.
type place[C any] struct {
	change C
	told   chan verdict // of one
}

// verdict is what somebody in a line is told, once: to lead, or that their change was
// carried out by somebody else, or what went wrong with all of them.
type verdict struct {
	lead bool
	err  error
}

// errGivenUp is told where the one who led panicked.
var errGivenUp = errors.New("the transaction was given up")

// Do has a change carried out, by the caller with carryOut, or by another caller with
// theirs. carryOut takes the lock, and then asks next for one change after the other;
// the first is the caller's own. It returns once nothing of what it took is uncertain
// any more. What it returns concerns all that it took; what concerns one alone belongs
// into the change.
//
// A caller whose context ends in the line, or who waits there for longer than wait,
// leaves it; the error is the context's, or [ErrBusy]. A change that was taken is
// carried out.
func (g *Gather[K, C]) Do(ctx context.Context, wait time.Duration, key K, change C, carryOut func(next func() (C, bool)) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	own := &place[C]{change: change, told: make(chan verdict, 1)}
	if g.stand(key, own) {
		if v := g.await(ctx, wait, key, own); !v.lead {
			return v.err
		}
	}
	return g.lead(key, own, carryOut)
}

// stand reports whether somebody leads, and is in the line then.
func (g *Gather[K, C]) stand(key K, own *place[C]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lines == nil {
		g.lines = map[K][]*place[C]{}
	}
	line, led := g.lines[key]
	if led {
		line = append(line, own)
	}
	g.lines[key] = line
	return led
}

// await waits in the line.
func (g *Gather[K, C]) await(ctx context.Context, wait time.Duration, key K, own *place[C]) verdict {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var left verdict
	select {
	case v := <-own.told:
		return v
	case <-ctx.Done():
		left.err = ctx.Err()
	case <-timer.C:
		left.err = fmt.Errorf("not first in the queue within %s: %w", wait, ErrBusy)
	}
	if g.leave(key, own) {
		return left
	}
	v := <-own.told // it was taken before it could leave
	if v.lead {
		g.pass(key)
		return left
	}
	return v
}

// leave reports whether own was in the line still.
func (g *Gather[K, C]) leave(key K, own *place[C]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	line := g.lines[key]
	for i, p := range line {
		if p == own {
			g.lines[key] = append(line[:i:i], line[i+1:]...)
			return true
		}
	}
	return false
}

// lead carries out own and what comes after it, whatever becomes of carryOut.
func (g *Gather[K, C]) lead(key K, own *place[C], carryOut func(next func() (C, bool)) error) (err error) {
	var taken []*place[C]
	var began time.Time
	next := func() (change C, ok bool) {
		p := own
		switch len(taken) {
		case 0:
		case 1:
			began = time.Now() // what was waited for the lock does not count
			p = g.take(key)
		default:
			if p = nil; len(taken) < gatherMost && time.Since(began) < gatherLongest {
				p = g.take(key)
			}
		}
		if p == nil {
			return change, false
		}
		taken = append(taken, p)
		return p.change, true
	}
	err = errGivenUp
	defer func() {
		g.pass(key)
		for _, p := range taken {
			if p != own {
				p.told <- verdict{err: err}
			}
		}
	}()
	return carryOut(next)
}

// take gives the first of a line, or nil.
func (g *Gather[K, C]) take(key K) *place[C] {
	g.mu.Lock()
	defer g.mu.Unlock()
	line := g.lines[key]
	if len(line) == 0 {
		return nil
	}
	g.lines[key] = line[1:]
	return line[0]
}

// pass has the first of a line lead, or ends it.
func (g *Gather[K, C]) pass(key K) {
	g.mu.Lock()
	defer g.mu.Unlock()
	line := g.lines[key]
	if len(line) == 0 {
		delete(g.lines, key)
		return
	}
	g.lines[key] = line[1:]
	line[0].told <- verdict{lead: true}
}

// Ask asks decide on behalf of somebody whose goroutine another one may be. A panic is
// an error, for [Raise].
func (d Decide) Ask(state State) (change *Change, err error) {
	defer func() {
		if v := recover(); v != nil {
			change, err = nil, &decidePanic{value: v, stack: debug.Stack()}
		}
	}()
	return d(state)
}

// Raise panics with what a decide panicked with, on the goroutine of the one who
// brought it. Any other error it leaves alone.
func Raise(err error) {
	if p, ok := err.(*decidePanic); ok {
		panic(p)
	}
}

// decidePanic is a panic on its way to where it belongs. Only errors are spelled out:
// another value may hold anything.
type decidePanic struct {
	value any
	stack []byte
}

func (p *decidePanic) Error() string {
	said := fmt.Sprintf("a %T", p.value)
	if err, ok := p.value.(error); ok {
		said = err.Error()
	}
	return said + ", when a change was decided:\n" + string(p.stack)
}
