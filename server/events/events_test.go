package events

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammem/api"
)

// page collects frames; full makes it refuse them.
type page struct {
	frames []string
	full   bool
	closed int
}

func (p *page) Send(frame []byte) bool {
	if p.full {
		return false
	}
	p.frames = append(p.frames, string(frame))
	return true
}

func (p *page) Close() { p.closed++ }

func (p *page) changes() (versions []string) {
	for _, frame := range p.frames {
		if _, rest, ok := strings.Cut(frame, `"version":`); ok {
			// A checksum may follow.
			versions = append(versions, rest[:strings.IndexAny(rest, ",}")])
		}
	}
	return versions
}

const widgets api.RepoSlug = "acme/widgets"

// inBubble runs a hub in a bubble of fake time.
func inBubble(t *testing.T, test func(t *testing.T, h *Hub)) {
	synctest.Test(t, func(t *testing.T) {
		h := New(15 * time.Second)
		ctx, stop := context.WithCancel(t.Context())
		go h.Run(ctx)
		test(t, h)
		stop()
		synctest.Wait()
	})
}

func join(t *testing.T, h *Hub, s Stream) *Listener {
	t.Helper()
	if s.Repos == nil {
		s.Repos = []api.RepoSlug{widgets}
	}
	l, ok := h.Join(t.Context(), s)
	if !ok {
		t.Fatal("not joined")
	}
	return l
}

func TestAChangeReachesItsListeners(t *testing.T) {
	inBubble(t, func(t *testing.T, h *Hub) {
		mine, other, stranger := &page{}, &page{}, &page{}
		join(t, h, Stream{Organization: "a", Sink: mine})
		join(t, h, Stream{Organization: "a", Repos: []api.RepoSlug{"acme/gadgets"}, Sink: other})
		join(t, h, Stream{Organization: "b", Sink: stranger})
		h.Publish(Event{Organization: "a", Repo: widgets, Version: 3, Checksum: "sha256:x"})
		synctest.Wait()
		want := "id: .3\nevent: change\ndata: {\"repo\":\"acme/widgets\",\"version\":3,\"checksum\":\"sha256:x\"}\n\n"
		if len(mine.frames) != 1 || mine.frames[0] != want {
			t.Errorf("got %q", mine.frames)
		}
		if len(other.frames)+len(stranger.frames) > 0 {
			t.Errorf("told to others: %q %q", other.frames, stranger.frames)
		}
	})
}

// One who listens to all repos is told of those that may be seen at that moment, of
// now and later ones, each version once; another organization's are not among them.
func TestAllThatMayBeSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, h *Hub) {
		p, hidden := &page{}, api.RepoSlug("acme/hidden")
		join(t, h, Stream{Organization: "a", Sees: func(r api.RepoSlug) bool { return r != hidden }, Sink: p})
		for _, e := range []Event{
			{Organization: "a", Repo: widgets, Version: 2},
			{Organization: "a", Repo: widgets, Version: 2},
			{Organization: "a", Repo: "acme/new", Version: 1},
			{Organization: "a", Repo: hidden, Version: 5},
			{Organization: "b", Repo: widgets, Version: 9},
		} {
			h.Publish(e)
			synctest.Wait()
		}
		want := []string{
			"event: change\ndata: {\"repo\":\"acme/widgets\",\"version\":2}\n\n",
			"event: change\ndata: {\"repo\":\"acme/new\",\"version\":1}\n\n",
		}
		if !slices.Equal(p.frames, want) {
			t.Errorf("got %q", p.frames)
		}
	})
}

// A version is told once, never backwards, and the newest stands for those before.
func TestVersionsRise(t *testing.T) {
	inBubble(t, func(t *testing.T, h *Hub) {
		p := &page{}
		l := join(t, h, Stream{Organization: "a", Sink: p})
		for _, v := range []api.Version{1, 3, 2, 3} {
			h.Publish(Event{Organization: "a", Repo: widgets, Version: v})
			synctest.Wait()
		}
		h.Tell(l, Event{Organization: "a", Repo: widgets, Version: 3})
		h.Tell(l, Event{Organization: "a", Repo: widgets, Version: 4})
		synctest.Wait()
		if got := fmt.Sprint(p.changes()); got != "[1 3 4]" {
			t.Errorf("told %s", got)
		}
	})
}

func TestASlowListenerIsCut(t *testing.T) {
	inBubble(t, func(t *testing.T, h *Hub) {
		slow, fast := &page{full: true}, &page{}
		l := join(t, h, Stream{Organization: "a", Sink: slow})
		join(t, h, Stream{Organization: "a", Sink: fast})
		h.Publish(Event{Organization: "a", Repo: widgets, Version: 1})
		synctest.Wait()
		h.Leave(l) // its connection notices too
		if slow.closed != 1 || len(fast.frames) != 1 || h.Count() != 1 || h.Dropped() != 1 {
			t.Errorf("closed %d times, %d left, %d dropped, the other got %q", slow.closed, h.Count(), h.Dropped(), fast.frames)
		}
	})
}

func TestHeartbeatsAndRights(t *testing.T) {
	inBubble(t, func(t *testing.T, h *Hub) {
		p := &page{}
		var allowed atomic.Bool
		allowed.Store(true)
		join(t, h, Stream{Organization: "a", Sink: p, Allowed: allowed.Load})
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if got := strings.Join(p.frames, ""); got != ":\n\n:\n\n" {
			t.Errorf("got %q", got)
		}
		allowed.Store(false)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		synctest.Wait()
		if p.closed != 1 || h.Count() != 0 {
			t.Error("a stream outlived its right")
		}
	})
}

func TestResume(t *testing.T) {
	for _, test := range []struct{ id, want string }{
		{"", "[7]"}, {"e.7", "[]"}, {"e.6", "[7]"}, {"f.7", "[7]"}, {"e.7.1", "[7]"}, {"e.x!", "[7]"}, {"e.-1", "[7]"},
	} {
		t.Run(test.id, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *Hub) {
				p := &page{}
				l := join(t, h, Stream{Organization: "a", Epoch: "e", LastID: test.id, Sink: p})
				h.Tell(l, Event{Organization: "a", Repo: widgets, Version: 7})
				synctest.Wait()
				if got := fmt.Sprint(p.changes()); got != test.want {
					t.Errorf("told %s, want %s", got, test.want)
				}
			})
		})
	}
}

// What nobody listens to any more is not looked at anew.
func TestTopics(t *testing.T) {
	inBubble(t, func(t *testing.T, h *Hub) {
		gone := join(t, h, Stream{Organization: "a", Repos: []api.RepoSlug{"acme/gone"}, Sink: &page{}})
		join(t, h, Stream{Organization: "a", Repos: []api.RepoSlug{widgets}, Sink: &page{}})
		join(t, h, Stream{Organization: "a", Repos: []api.RepoSlug{widgets}, Sink: &page{}})
		h.Leave(gone)
		if got := h.Topics(t.Context()); len(got) != 1 || got[0] != (Topic{"a", widgets}) {
			t.Errorf("listened to is %v", got)
		}
	})
}

func TestTheEndClosesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(time.Minute)
		ctx, stop := context.WithCancel(t.Context())
		go h.Run(ctx)
		p := &page{}
		l := join(t, h, Stream{Organization: "a", Sink: p})
		stop()
		synctest.Wait()
		h.Leave(l)
		if topics := h.Topics(t.Context()); topics != nil {
			t.Errorf("an ended hub has %v", topics)
		}
		if _, ok := h.Join(t.Context(), Stream{Sink: &page{}}); ok || p.closed != 1 {
			t.Errorf("joined an ended hub, or closed %d times", p.closed)
		}
	})
}
