package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// crowd is callers of one line, and what became of them.
type crowd struct {
	gather Gather[string, int]
	t      *testing.T

	mu     sync.Mutex
	groups [][]int
	errs   map[int]error
	all    sync.WaitGroup
}

// come has a change carried out, with those that next gives once until is closed.
func (c *crowd) come(ctx context.Context, n int, until <-chan struct{}, err error) {
	c.all.Go(func() {
		said := c.gather.Do(ctx, time.Minute, "lock", n, func(next func() (int, bool)) error {
			first, ok := next()
			if !ok || first != n {
				c.t.Errorf("%d leads and is given %d, %t", n, first, ok)
			}
			if until != nil {
				<-until
			}
			group := []int{first}
			for another, ok := next(); ok; another, ok = next() {
				group = append(group, another)
			}
			c.mu.Lock()
			c.groups = append(c.groups, group)
			c.mu.Unlock()
			return err
		})
		c.mu.Lock()
		defer c.mu.Unlock()
		c.errs[n] = said
	})
	synctest.Wait() // it leads, or stands in the line
}

// told is what somebody was told.
func (c *crowd) told(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errs[n]
}

// gathers runs a test in a bubble: the line is what is blocked.
func gathers(t *testing.T, test func(t *testing.T, c *crowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{t: t, errs: map[int]error{}}
		test(t, c)
		c.all.Wait()
		if len(c.gather.lines) != 0 {
			t.Errorf("lines are left: %v", c.gather.lines)
		}
	})
}

func upTo(first, last int) (all []int) {
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}

// Whoever comes alone is carried out at once; who comes while others are goes with the
// next, in the order in which they came, and not too many at once.
func TestGather(t *testing.T) {
	gathers(t, func(t *testing.T, c *crowd) {
		c.come(t.Context(), 0, nil, nil)
		begun, busy := make(chan struct{}), errors.New("of the first group")
		for n := 1; n <= 70; n++ {
			var err error
			if n == 1 {
				err = busy
			}
			c.come(t.Context(), n, begun, err)
		}
		close(begun)
		c.all.Wait()
		want := [][]int{{0}, upTo(1, gatherMost), upTo(gatherMost+1, 2*gatherMost), upTo(2*gatherMost+1, 70)}
		if !slices.EqualFunc(c.groups, want, slices.Equal) {
			t.Errorf("the groups are %v", c.groups)
		}
		for n, err := range c.errs {
			if failed := n >= 1 && n <= gatherMost; failed && err != busy || !failed && err != nil {
				t.Errorf("%d is told %v", n, err)
			}
		}
	})
}

// Who waits too long, or is gone, leaves the line; who was taken is carried out.
func TestGatherLeave(t *testing.T) {
	gathers(t, func(t *testing.T, c *crowd) {
		begun := make(chan struct{})
		c.come(t.Context(), 1, begun, nil)
		gone, leave := context.WithCancel(t.Context())
		c.come(gone, 2, nil, nil)
		time.Sleep(30 * time.Second)
		c.come(t.Context(), 3, nil, nil)
		leave()
		synctest.Wait()
		if !errors.Is(c.told(2), context.Canceled) {
			t.Errorf("who is gone is told %v", c.told(2))
		}
		time.Sleep(40 * time.Second)
		c.come(t.Context(), 4, nil, nil)
		time.Sleep(30 * time.Second)
		if !errors.Is(c.told(3), ErrBusy) {
			t.Errorf("who waited for a minute is told %v", c.told(3))
		}
		close(begun)
		c.all.Wait()
		if want := [][]int{{1, 4}}; !slices.EqualFunc(c.groups, want, slices.Equal) {
			t.Errorf("the groups are %v, want %v", c.groups, want)
		}
		c.come(gone, 5, nil, nil)
		if !errors.Is(c.told(5), context.Canceled) {
			t.Errorf("who was gone before is told %v", c.told(5))
		}
	})
}

// A group that takes long is ended; so is one of which the lock was not to be had, and
// the next in the line tries.
func TestGatherBounds(t *testing.T) {
	gathers(t, func(t *testing.T, c *crowd) {
		wait := make(chan struct{})
		failed := errors.New("no lock")
		c.all.Go(func() {
			err := c.gather.Do(t.Context(), time.Minute, "lock", 1, func(func() (int, bool)) error { <-wait; return failed })
			if err != failed {
				t.Errorf("who got no lock is told %v", err)
			}
		})
		synctest.Wait()
		c.all.Go(func() {
			err := c.gather.Do(t.Context(), time.Minute, "lock", 2, func(next func() (int, bool)) error {
				var got []int
				for n, ok := next(); ok; n, ok = next() {
					got = append(got, n)
					time.Sleep(gatherLongest * 2 / 3)
				}
				if want := []int{2, 3, 4}; !slices.Equal(got, want) {
					t.Errorf("a slow group is %v, want %v", got, want)
				}
				return nil
			})
			if err != nil {
				t.Errorf("who led a slow group is told %v", err)
			}
		})
		synctest.Wait()
		for n := 3; n <= 5; n++ {
			c.come(t.Context(), n, nil, nil)
		}
		close(wait)
		c.all.Wait()
		if want := [][]int{{5}}; !slices.EqualFunc(c.groups, want, slices.Equal) {
			t.Errorf("the groups after the slow one are %v", c.groups)
		}
	})
}

// A panic of who leads is its own, and the line goes on.
func TestGatherPanic(t *testing.T) {
	gathers(t, func(t *testing.T, c *crowd) {
		wait := make(chan struct{})
		c.all.Go(func() {
			defer func() {
				if v := recover(); v != "while leading" {
					t.Errorf("recovered %v", v)
				}
			}()
			_ = c.gather.Do(t.Context(), time.Minute, "lock", 1, func(next func() (int, bool)) error {
				<-wait
				next()
				next()
				panic("while leading")
			})
		})
		synctest.Wait()
		for n := 2; n <= 4; n++ {
			c.come(t.Context(), n, nil, nil)
		}
		close(wait)
		c.all.Wait()
		if c.told(2) != errGivenUp || c.told(3) != nil || c.told(4) != nil {
			t.Errorf("the others are told %v", c.errs)
		}
		if want := [][]int{{3, 4}}; !slices.EqualFunc(c.groups, want, slices.Equal) {
			t.Errorf("the groups are %v, want %v", c.groups, want)
		}
	})
}

// A panic of a decide goes to who brought it, and says no more than it may.
func TestAskAndRaise(t *testing.T) {
	refusal := errors.New("no")
	for _, test := range []struct {
		decide  Decide
		err     error
		says    string
		private string
	}{
		{decide: func(State) (*Change, error) { return nil, refusal }, err: refusal},
		{decide: func(State) (*Change, error) { panic(refusal) }, says: "no, when a change"},
		{decide: func(State) (*Change, error) { panic("a memory's text") }, says: "a string, when a change", private: "memory's"},
	} {
		_, err := test.decide.Ask(State{})
		if test.err != nil {
			Raise(err) // does nothing
			if err != test.err {
				t.Errorf("Ask returns %v", err)
			}
			continue
		}
		func() {
			defer func() {
				v, ok := recover().(error)
				if !ok || !strings.HasPrefix(v.Error(), test.says) || test.private != "" && strings.Contains(v.Error(), test.private) {
					t.Errorf("recovered %v", v)
				}
			}()
			Raise(err)
			t.Error("nothing is raised")
		}()
	}
}
