// Package events tells those who listen that a repo has changed: a fan-out from
// the one place that commits to every stream that is open.
//
// A [Hub] belongs to one goroutine, [Hub.Run], which alone knows the listeners.
// [Hub.Publish] never waits: of several changes of one repo that were not told yet
// only the newest is kept, since a listener pulls everything up to it anyway. A
// listener is a [Sink] that takes whole frames or refuses them without waiting;
// one that refuses is cut, not waited for, and finds out what it missed when it
// comes back. Nothing is stored: the truth is the repo's version, and a listener
// that joins is told the current one.
//
// Frames are server-sent events. A frame's id is opaque to clients; it names the
// versions that the stream has told so far, so that a stream that comes back with
// it is told only what is new.
package events

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/teammem/teammem/api"
)

// Event says that a repo has reached a version.
type Event struct {
	Organization string // its public id
	Repo         api.RepoSlug
	Version      api.Version
	Checksum     api.Checksum // empty where not everybody sees the same set
	At           time.Time    // when it did, of what may be told late; zero: just now
}

// Topic is what a listener may listen to.
type Topic struct {
	Organization string // its public id
	Repo         api.RepoSlug
}

// Sink is where a listener's frames go.
type Sink interface {
	// Send takes a frame whole and at once, or returns false.
	Send(frame []byte) bool
	// Close ends the stream. It is called once.
	Close()
}

// Listener is one open stream.
type Listener struct {
	sink    Sink
	epoch   api.Epoch
	topics  []Topic
	told    []api.Version // by topic
	allowed func() bool

	sees func(api.RepoSlug) bool // not nil: it listens to all repos of the organization that it sees
	org  string
	news map[api.RepoSlug]api.Version // told to one that listens to all
	from time.Time                    // what was changed before is no news to it
}

// clockSkew is how far the clocks of servers on one database may be apart: a listener to
// all repos is rather told of what it knows than not told.
const clockSkew = time.Minute

// Hub fans out. It is safe for concurrent use.
type Hub struct {
	heartbeat time.Duration
	count     atomic.Int64
	dropped   atomic.Int64

	join  chan *Listener
	leave chan *Listener
	asked chan chan<- []Topic
	wake  chan struct{}
	done  chan struct{}

	mu      sync.Mutex
	pending map[Topic]Event
	direct  []direct
}

// direct is an event for one listener.
type direct struct {
	to    *Listener
	event Event
}

// New makes a hub. heartbeat is the time between two comments on a silent stream.
func New(heartbeat time.Duration) *Hub {
	return &Hub{
		heartbeat: heartbeat,
		join:      make(chan *Listener), leave: make(chan *Listener), asked: make(chan chan<- []Topic),
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		pending: map[Topic]Event{},
	}
}

// Count is the number of open streams.
func (h *Hub) Count() int { return int(h.count.Load()) }

// Dropped counts the streams that were cut because they could not keep up.
func (h *Hub) Dropped() int64 { return h.dropped.Load() }

// Publish tells that a repo has changed. It never waits.
func (h *Hub) Publish(e Event) {
	at := Topic{e.Organization, e.Repo}
	h.mu.Lock()
	if h.pending[at].Version < e.Version {
		h.pending[at] = e
	}
	h.mu.Unlock()
	h.poke()
}

// Tell tells one listener only, for what it missed before it joined.
func (h *Hub) Tell(l *Listener, e Event) {
	h.mu.Lock()
	h.direct = append(h.direct, direct{l, e})
	h.mu.Unlock()
	h.poke()
}

func (h *Hub) poke() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Stream describes a listener that joins.
type Stream struct {
	Organization string
	Repos        []api.RepoSlug
	Epoch        api.Epoch
	LastID       string // of the stream that this one continues; may be empty
	// Sees is for a stream of all the organization's repos, of now and later ones, that
	// it is true of; Repos and LastID are empty then. It must not wait.
	Sees func(api.RepoSlug) bool
	// Allowed is asked at every heartbeat; a stream whose right is gone ends.
	Allowed func() bool
	Sink    Sink
}

// Join adds a listener. It must be told the current versions by [Hub.Tell]
// afterwards, and never before: what changes in between is then told by either.
// ok is false when the hub has ended or ctx has.
func (h *Hub) Join(ctx context.Context, s Stream) (l *Listener, ok bool) {
	l = &Listener{sink: s.Sink, epoch: s.Epoch, allowed: s.Allowed, told: make([]api.Version, len(s.Repos)), sees: s.Sees, org: s.Organization}
	for _, repo := range s.Repos {
		l.topics = append(l.topics, Topic{s.Organization, repo})
	}
	if l.sees != nil {
		l.topics, l.news = []Topic{{Organization: s.Organization}}, map[api.RepoSlug]api.Version{}
	}
	l.from = time.Now().Add(-clockSkew)
	l.resume(s.LastID)
	select {
	case h.join <- l:
		return l, true
	case <-h.done:
	case <-ctx.Done():
	}
	return nil, false
}

// Leave takes a listener out and closes its sink. Leaving twice, or after the hub
// cut the listener, does nothing.
func (h *Hub) Leave(l *Listener) {
	select {
	case h.leave <- l:
	case <-h.done:
	}
}

// Topics are what the open streams listen to, in no order; one without a repo is all
// of the organization's. It is what is to be looked at
// anew when word of changes may have been lost on the way here.
func (h *Hub) Topics(ctx context.Context) []Topic {
	answer := make(chan []Topic, 1)
	select {
	case h.asked <- answer:
		return <-answer
	case <-h.done:
	case <-ctx.Done():
	}
	return nil
}

// Run fans out until ctx ends, and then ends every stream.
func (h *Hub) Run(ctx context.Context) {
	listeners := map[*Listener]struct{}{}
	byTopic := map[Topic]map[*Listener]struct{}{}
	drop := func(l *Listener) {
		if _, ok := listeners[l]; !ok {
			return
		}
		delete(listeners, l)
		for _, t := range l.topics {
			if delete(byTopic[t], l); len(byTopic[t]) == 0 {
				delete(byTopic, t)
			}
		}
		h.count.Add(-1)
		l.sink.Close()
	}
	send := func(l *Listener, frame []byte) {
		if !l.sink.Send(frame) {
			h.dropped.Add(1)
			drop(l)
		}
	}
	beat := time.NewTicker(h.heartbeat)
	defer beat.Stop()
	defer close(h.done)
	for {
		select {
		case <-ctx.Done():
			for l := range listeners {
				drop(l)
			}
			return
		case l := <-h.join:
			listeners[l] = struct{}{}
			for _, t := range l.topics {
				if byTopic[t] == nil {
					byTopic[t] = map[*Listener]struct{}{}
				}
				byTopic[t][l] = struct{}{}
			}
			h.count.Add(1)
		case l := <-h.leave:
			drop(l)
		case answer := <-h.asked:
			answer <- slices.Collect(maps.Keys(byTopic))
		case <-h.wake:
			changes, told := h.take()
			for at, event := range changes {
				for _, t := range []Topic{at, {Organization: at.Organization}} {
					for l := range byTopic[t] {
						if frame := l.frame(event); frame != nil {
							send(l, frame)
						}
					}
				}
			}
			for _, d := range told {
				if _, ok := listeners[d.to]; !ok {
					continue
				}
				if frame := d.to.frame(d.event); frame != nil {
					send(d.to, frame)
				}
			}
		case <-beat.C:
			for l := range listeners {
				if l.allowed != nil && !l.allowed() {
					drop(l)
					continue
				}
				send(l, heartbeatFrame)
			}
		}
	}
}

func (h *Hub) take() (map[Topic]Event, []direct) {
	h.mu.Lock()
	defer h.mu.Unlock()
	changes, told := h.pending, h.direct
	h.pending, h.direct = map[Topic]Event{}, nil
	return changes, told
}

var heartbeatFrame = []byte(":\n\n")

// frame is the event as this listener is told it, or nil for what it knows.
func (l *Listener) frame(e Event) []byte {
	if l.sees != nil {
		if e.Version <= l.news[e.Repo] || !e.At.IsZero() && e.At.Before(l.from) || !l.sees(e.Repo) {
			return nil
		}
		l.news[e.Repo] = e.Version
		return fmt.Appendf(nil, "event: change\ndata: {\"repo\":%q,\"version\":%d}\n\n", e.Repo, e.Version)
	}
	for i, t := range l.topics {
		if t != (Topic{e.Organization, e.Repo}) {
			continue
		}
		if e.Version <= l.told[i] {
			return nil
		}
		l.told[i] = e.Version
		frame := fmt.Appendf(nil, "id: %s\nevent: change\ndata: {\"repo\":%q,\"version\":%d", l.id(), e.Repo, e.Version)
		if e.Checksum != "" {
			frame = fmt.Appendf(frame, ",\"checksum\":%q", e.Checksum)
		}
		return append(frame, "}\n\n"...)
	}
	return nil
}

// id names what was told so far.
func (l *Listener) id() string {
	var b strings.Builder
	b.WriteString(string(l.epoch))
	for _, v := range l.told {
		b.WriteByte('.')
		b.WriteString(strconv.FormatInt(int64(v), 36))
	}
	return b.String()
}

// resume takes over what an earlier stream was told. An id of another life of the
// database, or of other repos, means nothing.
func (l *Listener) resume(id string) {
	rest, ok := strings.CutPrefix(id, string(l.epoch)+".")
	if !ok {
		return
	}
	parts := strings.Split(rest, ".")
	if len(parts) != len(l.told) {
		return
	}
	told := make([]api.Version, len(parts))
	for i, part := range parts {
		v, err := strconv.ParseInt(part, 36, 64)
		if err != nil || v < 0 {
			return
		}
		told[i] = api.Version(v)
	}
	l.told = told
}
