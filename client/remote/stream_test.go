package remote_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/remote"
)

func change(version int) string {
	return fmt.Sprintf("id: e1:%d\nevent: change\ndata: {\"repo\":\"acme/widgets\",\"version\":%d}\n\n", version, version)
}

// wire is a server on a pipe, for a bubble: it hands out the writing end of every
// stream that is opened.
type wire struct {
	heads chan http.Header
	ends  chan *io.PipeWriter
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	in, out := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = out.CloseWithError(context.Cause(r.Context())) })
	w.heads <- r.Header
	w.ends <- out
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: in, Request: r,
	}, nil
}

func inBubble(t *testing.T, test func(t *testing.T, s *remote.Stream, head http.Header, out *io.PipeWriter)) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{heads: make(chan http.Header, 1), ends: make(chan *io.PipeWriter, 1)}
		c := clientOf(t, "https://memory.test", func(o *remote.Options) { o.Transport = w })
		s, err := c.Listen(t.Context(), repo, "e1:3")
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}()
		test(t, s, <-w.heads, <-w.ends)
	})
}

// TestStream: changes come one by one, whatever else is said between them; the id
// of the last one is what the next stream asks from.
func TestStream(t *testing.T) {
	inBubble(t, func(t *testing.T, s *remote.Stream, head http.Header, out *io.PipeWriter) {
		if head.Get("Last-Event-ID") != "e1:3" || head.Get("Accept-Encoding") != "identity" || head.Get("Authorization") != "Bearer "+token {
			t.Errorf("asked with %v", head)
		}
		go func() {
			for _, text := range []string{
				": heartbeat\n\n",
				"event: change\ndata: {\"repo\":\"acme/widg", // a line may come in pieces
				"ets\",\"version\":4}\nid: e1:4\n\n",
				"retry: 10\n\n", "nonsense\n\n", "\n\n\n", ":\n",
				"event: other\ndata: {}\nid: zzz\n\n",                 // not ours, and so is its id
				"event: change\ndata: <html>\nid: zzz\n\n",            // garbage is passed over
				"event: change\ndata: {\"version\":true}\n\n",         // of any shape
				"data: {\"repo\":\"acme/widgets\",\"version\":9}\n\n", // of no kind
				strings.ReplaceAll(change(5), "\n", "\r\n"),
				change(6),
			} {
				_, _ = io.WriteString(out, text)
			}
			_ = out.Close()
		}()
		for _, want := range []api.Version{4, 5, 6} {
			got, err := s.Next()
			if err != nil || got.Version != want || s.LastID() != fmt.Sprintf("e1:%d", want) {
				t.Errorf("%+v, %v, last id %q; want version %d", got, err, s.LastID(), want)
			}
		}
		if got, err := s.Next(); err == nil {
			t.Errorf("after the end came %+v", got)
		}
		if s.LastID() != "e1:6" {
			t.Errorf("the last id is %q", s.LastID())
		}
	})
}

// TestStreamFallsSilent: heartbeats keep a stream; without them it is taken for
// dead, so that the caller polls and connects anew.
func TestStreamFallsSilent(t *testing.T) {
	inBubble(t, func(t *testing.T, s *remote.Stream, _ http.Header, out *io.PipeWriter) {
		began := time.Now()
		go func() {
			for range 20 {
				time.Sleep(15 * time.Second)
				_, _ = io.WriteString(out, ": heartbeat\n\n")
			}
		}()
		got, err := s.Next()
		quiet := time.Since(began) - 20*15*time.Second
		if err == nil || quiet < 30*time.Second || quiet > time.Minute {
			t.Errorf("%+v, %v, after %v of silence", got, err, quiet)
		}
	})
}

// TestStreamIsBounded: a line that never ends is not gathered for ever.
func TestStreamIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, s *remote.Stream, _ http.Header, out *io.PipeWriter) {
		go func() {
			for {
				if _, err := io.WriteString(out, strings.Repeat("x", 4<<10)); err != nil {
					return
				}
			}
		}()
		if got, err := s.Next(); err == nil {
			t.Errorf("%+v", got)
		}
	})
}

// TestNoStream: what answers otherwise is an error that says what it is.
func TestNoStream(t *testing.T) {
	for name, c := range map[string]struct {
		server *script
		code   api.Code
		says   string
	}{
		"a page":      {saying(t, 200, html, page), api.Internal, `status 200 and "text/html"`},
		"JSON":        {saying(t, 200, "application/json", aMemory), api.Internal, "application/json"},
		"no route":    {saying(t, 404, html, page), api.NotFound, "404"},
		"not allowed": {saying(t, 401, "application/json", `{"error":{"type":"authentication_error","message":"no"}}`), api.Authentication, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := clientOf(t, c.server.URL).Listen(t.Context(), repo, "")
			if api.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, code %q", err, api.CodeOf(err))
			}
			if c.server.asked.Load() != 1 {
				t.Errorf("asked %d times", c.server.asked.Load())
			}
		})
	}
}
