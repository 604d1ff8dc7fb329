package rest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/events"
	"github.com/teammem/teammem/server/store"
)

const (
	// mostStreamRepos is how many repos one stream may follow.
	mostStreamRepos = 100
	// frameTime is what a connection gets to take a frame. Its buffer has room
	// for many; one that has none left is of a listener that cannot keep up.
	frameTime = 5 * time.Millisecond
	// frameBacklog is how many frames a stream may lag behind where the
	// connection cannot be taken over.
	frameBacklog = 16
)

// liveEvents opens a stream of the changes of some repos. On HTTP/1.1 the
// connection is taken over and costs no goroutine; on HTTP/2 the handler stays.
func (h *Handler) liveEvents(c *call) error {
	repos, err := parseStreamQuery(c.r)
	if err != nil {
		return err
	}
	for i, repo := range repos {
		repos[i] = c.who.Resolve(repo)
	}
	ctx := c.r.Context()
	epoch, err := h.db.Epoch(ctx)
	if err != nil {
		return err
	}
	stream := events.Stream{
		Organization: c.caller.OrgUID, Repos: repos, Epoch: epoch, LastID: c.r.Header.Get("Last-Event-ID"),
		Allowed: h.stillAllowed(c.credentials(), c.route.Right, repos),
	}
	if c.r.Method == http.MethodHead {
		c.w.Header().Set("Content-Type", typeEvents)
		return nil
	}
	return h.openStream(c, stream)
}

// openStream answers with a stream until it ends.
func (h *Handler) openStream(c *call, stream events.Stream) error {
	if c.r.ProtoMajor == 1 {
		conn, buffered, err := c.conn.Hijack()
		if err == nil {
			return h.streamConn(c, stream, conn, buffered)
		}
		if !errors.Is(err, http.ErrNotSupported) {
			return fmt.Errorf("take over the connection: %w", err)
		}
	}
	return h.streamHere(c, stream)
}

const typeEvents = "text/event-stream"

// parseStreamQuery reads the repos to follow; repo may stand many times here.
func parseStreamQuery(r *http.Request) ([]api.RepoSlug, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badQuery("the query cannot be read: percent-encode it")
	}
	named := values["repo"]
	if len(named) == 0 || len(named) > mostStreamRepos {
		return nil, badQuery(fmt.Sprintf("the query names %d repos: want 1 to %d, each as repo=owner/repo", len(named), mostStreamRepos))
	}
	var repos []api.RepoSlug
	for _, name := range named {
		slug, err := api.ParseRepoSlug(name)
		if err != nil {
			return nil, err
		}
		repos = append(repos, slug)
	}
	return repos, nil
}

// stillAllowed asks anew whether a caller may listen to all of the repos; the hub
// does so at every heartbeat.
func (h *Handler) stillAllowed(given auth.Credentials, right api.Right, repos []api.RepoSlug) func() bool {
	return func() bool {
		who, err := h.authenticateAgain(given)
		if err != nil {
			// A database that is busy takes nobody's right away.
			return !errors.Is(err, errRightGone)
		}
		return !slices.ContainsFunc(repos, func(repo api.RepoSlug) bool { return !who.MayOn(right, who.Resolve(repo)) })
	}
}

// errRightGone: whoever listens is known no more.
var errRightGone = errors.New("the right to listen is gone")

func (h *Handler) authenticateAgain(given auth.Credentials) (auth.Caller, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	who, err := h.auth.Authenticate(ctx, given)
	if code := api.CodeOf(err); code == api.Authentication || code == api.Permission {
		return who, errRightGone
	}
	return who, err
}

// tellCurrent tells a listener that has joined what its repos are at now.
func (h *Handler) tellCurrent(c *call, l *events.Listener, s events.Stream) error {
	for _, repo := range s.Repos {
		head, err := h.ledger.Head(c.r.Context(), c.caller, repo)
		if api.CodeOf(err) == api.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		h.events.Tell(l, eventOf(s.Organization, repo, head))
	}
	return nil
}

func eventOf(organization string, repo api.RepoSlug, head store.Head) events.Event {
	e := events.Event{Organization: organization, Repo: repo, Version: head.Version}
	if head.Proposals == 0 {
		e.Checksum = head.Checksum // where anything is proposed not everybody sees the same set
	}
	return e
}

// connSink writes to a connection that was taken over. It keeps no buffer of its
// own and no goroutine, which is what ten thousand idle streams would cost most.
type connSink struct{ conn net.Conn }

func (s connSink) Send(frame []byte) bool {
	if s.conn.SetWriteDeadline(time.Now().Add(frameTime)) != nil {
		return false
	}
	n, err := s.conn.Write(frame)
	return err == nil && n == len(frame)
}

func (s connSink) Close() { _ = s.conn.Close() }

// streamConn answers on the connection itself and hands it to the hub.
func (h *Handler) streamConn(c *call, s events.Stream, conn net.Conn, buffered *bufio.ReadWriter) error {
	c.begun = true
	c.sent.status = http.StatusOK
	head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Accel-Buffering: no\r\n%s: %s\r\nConnection: close\r\n\r\n",
		typeEvents, api.HeaderRequestID, c.id)
	// A client that speaks before it is answered has nothing to say here.
	_, _ = buffered.Discard(buffered.Reader.Buffered())
	err := conn.SetDeadline(time.Now().Add(h.cfg.Request))
	if err == nil {
		_, err = conn.Write(head)
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = conn.Close()
		return nil // it has gone; there is nobody to answer
	}
	s.Sink = connSink{conn}
	l, ok := h.events.Join(c.r.Context(), s)
	if !ok {
		_ = conn.Close()
		return nil
	}
	if err := h.tellCurrent(c, l, s); err != nil {
		h.events.Leave(l)
		h.log.Warn("a stream ended before it began", "request_id", c.id, "error", err)
	}
	return nil
}

// chanSink hands frames to the handler's own goroutine.
type chanSink struct {
	frames chan []byte
	closed chan struct{}
}

func (s chanSink) Send(frame []byte) bool {
	select {
	case s.frames <- frame:
		return true
	default:
		return false
	}
}

func (s chanSink) Close() { close(s.closed) }

// streamHere writes the stream from the handler, for connections that carry other
// requests as well.
func (h *Handler) streamHere(c *call, s events.Stream) error {
	sink := chanSink{frames: make(chan []byte, frameBacklog), closed: make(chan struct{})}
	s.Sink = sink
	l, ok := h.events.Join(c.r.Context(), s)
	if !ok {
		return overloaded("the server is ending", errors.New("no hub to join"))
	}
	if err := h.tellCurrent(c, l, s); err != nil {
		h.events.Leave(l)
		return err
	}
	c.begun = true
	c.after = func() {
		defer h.events.Leave(l)
		h.pump(c, sink)
	}
	return nil
}

// pump writes what the hub sends until the stream ends.
func (h *Handler) pump(c *call, sink chanSink) {
	// Past the compression, which would hold the frames back.
	header := c.sent.Header()
	header.Set("Content-Type", typeEvents)
	header.Set("X-Accel-Buffering", "no")
	c.sent.WriteHeader(http.StatusOK)
	for {
		if c.conn.SetWriteDeadline(time.Now().Add(h.cfg.Request)) != nil || c.conn.Flush() != nil {
			return
		}
		select {
		case <-c.gone:
			return
		case <-sink.closed:
			return
		case frame := <-sink.frames:
			if _, err := c.sent.Write(frame); err != nil {
				return
			}
		}
	}
}
