package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
)

// silence is how long a stream may say nothing, not even a heartbeat, before it
// is taken for dead: three of the server's heartbeats.
const silence = 50 * time.Second

// maxEventLine bounds one line of a stream; ours are far shorter.
const maxEventLine = 16 << 10

// Stream is a live stream of changes that is open.
type Stream struct {
	body   io.ReadCloser
	lines  *bufio.Scanner
	quiet  *time.Timer
	cancel context.CancelFunc
	lastID string
}

// Listen opens a stream of the changes of a repo. lastID is that of the stream
// that this one continues, or empty. There are no tries: the caller decides when
// to come back.
func (c *Client) Listen(ctx context.Context, repo api.RepoSlug, lastID string) (*Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	quiet := time.AfterFunc(silence, cancel)
	fail := func(err error) (*Stream, error) {
		quiet.Stop()
		cancel()
		return nil, err
	}
	req, err := c.newRequest(ctx, request{
		method: http.MethodGet, path: api.PathEvents, query: url.Values{"repo": {string(repo)}},
		// A compressed stream would wait in somebody's buffer.
		header: http.Header{"Accept": {"text/event-stream"}, "Accept-Encoding": {"identity"}},
	})
	if err != nil {
		return fail(err)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := c.stream.Do(req)
	if err != nil {
		return fail(unreachable(c.opts.Server, err))
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		_ = resp.Body.Close()
		if resp.StatusCode >= 400 {
			return fail(api.DecodeError(resp.StatusCode, resp.Header, body))
		}
		return fail(&Stranger{Server: c.opts.Server, What: fmt.Sprintf("answers the question for live changes with status %d and %q", resp.StatusCode, kind)})
	}
	s := &Stream{body: resp.Body, lines: bufio.NewScanner(resp.Body), quiet: quiet, cancel: cancel, lastID: lastID}
	s.lines.Buffer(make([]byte, 0, 1<<10), maxEventLine)
	return s, nil
}

// Next waits for the next change. An error means that the stream is over; what
// was missed since [Stream.LastID] is told by the next one.
func (s *Stream) Next() (api.Change, error) {
	var id, event, data string
	for s.lines.Scan() {
		s.quiet.Reset(silence)
		line := s.lines.Text()
		if line == "" {
			if event == api.ChangeEvent {
				if change, err := api.DecodeChange([]byte(data)); err == nil {
					s.lastID = id
					return change, nil
				}
			}
			id, event, data = s.lastID, "", ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			id = value
		case "event":
			event = value
		case "data":
			data += value
		}
	}
	err := s.lines.Err()
	if err == nil {
		err = io.EOF
	}
	return api.Change{}, fmt.Errorf("live changes: %w", err)
}

// LastID continues the stream in a later one.
func (s *Stream) LastID() string { return s.lastID }

// Close ends the stream.
func (s *Stream) Close() error {
	s.quiet.Stop()
	s.cancel()
	err := s.body.Close()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
