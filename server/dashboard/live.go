package dashboard

import (
	"net/http"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/events"
)

const (
	// mostLive is how many repos one page follows; of more it follows the first, by name.
	mostLive = 200
	// liveBacklog is how many frames a page may lag behind.
	liveBacklog = 16
)

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
// changed. It ends when its reader is signed out or may not read any more.
func liveChanges(v *visit) error {
	slugs := []api.RepoSlug{v.repo}
	if v.repo == "" {
		rows, err := v.repos()
		if err != nil {
			return err
		}
		slugs = slugs[:0]
		for _, r := range rows[:min(len(rows), mostLive)] {
			slugs = append(slugs, r.Slug)
		}
	}
	epoch, err := v.h.parts.DB.Epoch(v.r.Context())
	if err != nil {
		return err
	}
	secret := v.h.cookie(v.r, sessionCookie)
	sink := pageSink{frames: make(chan []byte, liveBacklog), closed: make(chan struct{})}
	listener, ok := v.h.parts.Events.Join(v.r.Context(), events.Stream{
		Organization: v.who.OrgUID, Repos: slugs, Epoch: epoch, Sink: sink, Allowed: func() bool { return v.stillReads(secret, slugs) },
	})
	if !ok {
		return &fault{http.StatusServiceUnavailable, "The server is ending.", "It is back in a moment."}
	}
	defer v.h.parts.Events.Leave(listener)
	return v.stream(sink)
}

// stillReads is asked at every heartbeat.
func (v *visit) stillReads(secret string, repos []api.RepoSlug) bool {
	ctx := v.r.Context()
	user, err := v.h.desk.Session(ctx, secret)
	if err != nil {
		return false
	}
	who, err := v.h.callers.CallerOf(ctx, user, auth.BySession, v.who.OrgName)
	if err != nil {
		return false
	}
	for _, repo := range repos {
		if !who.MayOn(api.Read, repo) {
			return false
		}
	}
	return true
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
