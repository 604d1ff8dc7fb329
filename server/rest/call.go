package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/ledger"
)

// answerGrace is how much longer than a request its answer may take to write, so
// that a request that ran out of time can still be told so.
const answerGrace = 3 * time.Second

// call is one request on its way through, and what is known of it.
type call struct {
	route  api.Route
	id     string // of the request
	start  time.Time
	from   []netip.Addr // where it comes from
	who    auth.Caller
	caller ledger.Caller
	repo   api.RepoSlug // its name of now
	asked  api.RepoSlug // the name it was asked for by

	r    *http.Request
	w    http.ResponseWriter // compresses; what it writes goes through sent
	sent sent
	conn *http.ResponseController
	gone <-chan struct{} // closed when the client has gone

	begun   bool   // something was given to w
	reading bool   // the body was touched
	read    bool   // the body was read to its end, or cannot be read any more
	share   *share // the caller's part of what all share; nil: unbounded
	release func() // gives the call's memory back; may be nil
	cause   error  // what was answered with, for the log
	pushed  pushed // of a PUT
	ended   func(Observation)
	// after is done when the handler has returned, for what takes long: a goroutine
	// that waits with fewer frames keeps half the stack. Nil: nothing.
	after func()
}

// credentials are what the request brings to be known by.
func (c *call) credentials() auth.Credentials {
	return auth.Credentials{
		Authorization: c.r.Header.Get("Authorization"),
		Organization:  c.r.Header.Get(api.HeaderOrganization),
		From:          c.from,
	}
}

// resolve takes a repo by any of its names and gives the one of now, which the
// answer tells where it is another.
func (c *call) resolve(asked api.RepoSlug) api.RepoSlug {
	c.asked, c.repo = asked, c.who.Resolve(asked)
	if c.repo != asked {
		c.w.Header().Set(api.HeaderRepo, string(c.repo))
	}
	return c.repo
}

// sent counts what goes out.
type sent struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (s *sent) WriteHeader(status int) {
	if s.status == 0 && status >= 200 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *sent) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	n, err := s.ResponseWriter.Write(b)
	s.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController find the connection.
func (s *sent) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// callKey finds the call in a request's context, on the far side of the
// compression. Handlers are given the call; nothing else may look for it there.
type callKey struct{}

// serve runs a route: everything that is the same for all of them is here.
func (h *Handler) serve(route api.Route, answer handle) http.HandlerFunc {
	compressed := h.compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(callKey{}).(*call)
		c.w, c.r = w, r
		h.run(c, answer)
	}))
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{route: route, start: time.Now(), sent: sent{ResponseWriter: w}, conn: http.NewResponseController(w), gone: r.Context().Done()}
		c.id = h.ids.of(r)
		if h.cfg.Began != nil {
			c.ended = h.cfg.Began()
		}
		h.calls.Add(1)
		defer h.calls.Done()
		defer h.finish(c, r)

		header := w.Header()
		header["Cache-Control"] = headerNoStore
		header["X-Content-Type-Options"] = headerNoSniff
		header[api.HeaderRequestID] = []string{c.id}

		// Not every writer has deadlines: a test's recorder has none.
		_ = c.conn.SetWriteDeadline(c.start.Add(h.cfg.Request + answerGrace))
		ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), callKey{}, c), h.cfg.Request)
		defer cancel()
		compressed(&c.sent, r.WithContext(ctx))
		if c.after != nil {
			c.after()
		}
	}
}

// Header values that never change are not made anew for each answer.
var (
	headerNoStore = []string{"no-store"}
	headerNoSniff = []string{"nosniff"}
)

// run admits the call, checks its right, has it answered, and answers its error.
func (h *Handler) run(c *call, answer handle) {
	err := h.try(c, answer)
	if err == nil {
		return
	}
	c.cause = err
	h.noteRefusal(c, err)
	h.fail(c, err)
}

// try turns a panic into an error, so that it is answered and logged as one.
func (h *Handler) try(c *call, answer handle) (err error) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			panic(v)
		default:
			err = &panicError{value: v, stack: debug.Stack()}
		}
	}()
	leave, err := h.enter(c.route)
	if err != nil {
		return err
	}
	defer leave()
	if err := h.authorize(c); err != nil {
		return err
	}
	if c.caller.User != 0 && counted(c.route) {
		mine, leave, err := h.shares.enter(c.caller.User)
		if err != nil {
			return err
		}
		defer leave()
		c.share = mine
	}
	return answer(c)
}

// panicError is a panic on its way to the log. Only errors are spelled out:
// another value may hold anything.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	if err, ok := e.value.(error); ok {
		return "panic: " + err.Error()
	}
	return fmt.Sprintf("panic with a %T", e.value)
}

// finish gives back what the call held and writes its line in the log.
func (h *Handler) finish(c *call, r *http.Request) {
	if c.release != nil {
		c.release()
	}
	if c.ended != nil {
		c.ended(c.observation(r.Method))
	}
	level := c.level()
	ctx := context.WithoutCancel(r.Context())
	if !h.log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 13)
	attrs = append(attrs,
		slog.String("method", r.Method),
		slog.String("operation", c.route.Operation),
		slog.Int("status", c.sent.status),
		slog.Int64("bytes", c.sent.bytes),
		slog.Duration("duration", time.Since(c.start)),
		slog.String("request_id", c.id))
	if c.repo != "" {
		attrs = append(attrs, slog.String("repo", string(c.repo)))
	}
	if c.caller.User != 0 {
		attrs = append(attrs,
			slog.String("organization", c.who.OrgName),
			slog.String("user", c.caller.UserName),
			slog.String("client", c.caller.Client))
	}
	if c.cause != nil {
		attrs = append(attrs, slog.String("error", logText(c.cause)))
	}
	if c.who.Org == 0 && len(c.from) > 0 {
		// Whom no organization knows, none's audit may tell of: this line is the record.
		attrs = append(attrs, slog.String("from", firstOf(c.from)))
	}
	var crash *panicError
	if errors.As(c.cause, &crash) {
		attrs = append(attrs, slog.String("stack", string(crash.stack)))
	}
	h.log.LogAttrs(ctx, level, "request", attrs...)
}

// level: what an operator can act on is an error; a balancer's probes are noise.
func (c *call) level() slog.Level {
	switch {
	case c.sent.status >= 500 && c.sent.status != http.StatusServiceUnavailable:
		return slog.LevelError
	case c.cause != nil && c.sent.status == http.StatusServiceUnavailable:
		return slog.LevelWarn
	case c.route.Operation == "health", c.route.Operation == "ready":
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// logText is an error as the log may hold it. A refusal is told by its code: its
// message may quote what the caller sent, and the caller has read it.
func logText(err error) string {
	e, ok := api.AsError(err)
	switch {
	case !ok:
		return err.Error()
	case e.Err != nil:
		return e.Err.Error()
	case e.Details.ErrorCode != "":
		return e.Details.ErrorCode
	}
	return string(e.Code)
}
