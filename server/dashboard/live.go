package dashboard

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/events"
	"github.com/teammem/teammem/server/signon"
)

// liveBacklog is how many frames a page may lag behind.
const liveBacklog = 16

// live is the address at which a page hears of changes: of its repo, or of all that its
// reader may see.
func (v *visit) live() string {
	if v.repo != "" {
		return v.At("/live", "repo", v.repo)
	}
	return v.At("/live")
}

// pageSink hands frames to the handler.
type pageSink struct {
	frames chan []byte
	closed chan struct{}
}

// Send takes a frame, or refuses it.
func (s pageSink) Send(frame []byte) bool {
	select {
	case s.frames <- frame:
		return true
	default:
		return false
	}
}

// Close ends the stream.
func (s pageSink) Close() { close(s.closed) }

// liveChanges is a stream of changes for a page: server-sent events that say which repo
// changed, the one that is named or any that its reader may see. It ends when its reader
// is signed out, or may not read the one any more.
func liveChanges(v *visit) error {
	epoch, err := v.h.parts.DB.Epoch(v.r.Context())
	if err != nil {
		return err
	}
	reader := &liveReader{v: v, secret: v.h.cookie(v.r, sessionCookie)}
	reader.who.Store(&v.who)
	sink := pageSink{frames: make(chan []byte, liveBacklog), closed: make(chan struct{})}
	s := events.Stream{Organization: v.who.OrgUID, Epoch: epoch, Sink: sink, Allowed: reader.still}
	if v.repo != "" {
		s.Repos = []api.RepoSlug{v.repo}
	} else {
		s.Sees = reader.sees
	}
	listener, ok := v.h.parts.Events.Join(v.r.Context(), s)
	if !ok {
		return &fault{http.StatusServiceUnavailable, "The server is ending.", "It is back in a moment."}
	}
	defer v.h.parts.Events.Leave(listener)
	return v.stream(sink)
}

// liveReader is whoever has a page open, with the rights that were theirs when they were
// asked for last.
type liveReader struct {
	v      *visit
	secret string
	who    atomic.Pointer[auth.Caller]
}

// sees reports whether they may hear of a repo.
func (l *liveReader) sees(repo api.RepoSlug) bool { return l.who.Load().MayOn(api.Read, repo) }

// still is asked at every heartbeat.
func (l *liveReader) still() bool {
	ctx := l.v.r.Context()
	user, err := l.v.h.desk.Session(ctx, l.secret, signon.Lately)
	if err != nil {
		return false
	}
	who, err := l.v.h.callers.CallerOf(ctx, user, auth.BySession, l.v.who.OrgName)
	if err != nil {
		return false
	}
	l.who.Store(&who)
	return l.v.repo == "" || who.MayOn(api.Read, l.v.repo)
}

// stream writes frames until either side has gone. A page's time does not bound it.
func (v *visit) stream(sink pageSink) error {
	header := v.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	v.w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(v.w)
	_ = rc.SetReadDeadline(time.Time{})
	if _, err := v.w.Write([]byte("retry: 2000\n\n")); err != nil {
		return nil // it has gone; there is nobody to answer
	}
	for {
		if rc.SetWriteDeadline(time.Now().Add(v.h.cfg.Request)) != nil || rc.Flush() != nil {
			return nil
		}
		select {
		case <-v.r.Context().Done():
			return nil
		case <-sink.closed:
			return nil
		case frame := <-sink.frames:
			if _, err := v.w.Write(frame); err != nil {
				return nil
			}
		}
	}
}
