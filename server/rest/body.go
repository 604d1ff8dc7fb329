package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/teammem/teammem/api"
)

const (
	// maxWindow bounds what one zstd frame can make its reader allocate; it is
	// what RFC 8878 recommends to support.
	maxWindow = 8 << 20
	// waitForMemory is how long a body may wait for others to be done.
	waitForMemory = 2 * time.Second
)

// readBody reads the request's body, decompressed, and never more of it than the
// limit.
func (h *Handler) readBody(c *call) ([]byte, error) {
	coding := contentCoding(c.r.Header)
	limit := h.cfg.Limits.BodyBytes
	if c.r.ContentLength > limit {
		return nil, bodyTooLarge(limit, c.r.ContentLength)
	}
	expect := limit
	if coding == "" && c.r.ContentLength >= 0 {
		expect = c.r.ContentLength
	}
	if err := h.reserve(c, expect); err != nil {
		return nil, err
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(h.cfg.Body))
	c.reading = true
	raw := &rawBody{r: c.r.Body}
	decoded, err := decoder(coding, raw)
	if err != nil {
		return nil, raw.explain(c, coding, err)
	}
	defer decoded.Close()
	body, err := readUpTo(decoded, limit, expect)
	if err != nil {
		return nil, raw.explain(c, coding, err)
	}
	if int64(len(body)) > limit {
		return nil, bodyTooLarge(limit, 0)
	}
	c.read = true
	return body, nil
}

// readUpTo reads until the end, or one byte beyond limit.
func readUpTo(r io.Reader, limit, expect int64) ([]byte, error) {
	const first = 64 << 10
	// One byte more than expected, so that the end is found without growing.
	body := make([]byte, 0, min(expect+1, first))
	for int64(len(body)) <= limit {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		room := body[len(body):min(int64(cap(body)), limit+1)]
		n, err := r.Read(room)
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return body, nil
}

// contentCoding is the Content-Encoding header, all lines of it, without
// identity.
func contentCoding(header http.Header) string {
	var codings []string
	for _, line := range header.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(line, ",") {
			coding = strings.ToLower(strings.TrimSpace(coding))
			if coding != "" && coding != "identity" {
				codings = append(codings, coding)
			}
		}
	}
	return strings.Join(codings, ", ")
}

// decoder undoes one coding. Several on top of each other are refused like
// unknown ones: nobody sends them but to multiply a bomb.
func decoder(coding string, raw io.Reader) (io.ReadCloser, error) {
	switch coding {
	case "":
		return io.NopCloser(raw), nil
	case "gzip", "x-gzip":
		return gzip.NewReader(raw)
	case "zstd":
		d, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, &api.Error{
		Code:    api.InvalidRequest,
		Status:  http.StatusUnsupportedMediaType,
		Message: fmt.Sprintf("the content encoding %q is not known here: send gzip, zstd or none", clip(coding)),
		Details: api.Details{ErrorCode: api.ErrorCodeContentCoding},
	}
}

// rawBody remembers why the body itself could not be read, to tell that from a
// broken coding on top of it.
type rawBody struct {
	r   io.Reader
	err error
}

func (b *rawBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// explain is the error for a body that could not be read.
func (b *rawBody) explain(c *call, coding string, err error) error {
	if _, ours := api.AsError(err); ours {
		return err
	}
	var timeout net.Error
	if errors.As(b.err, &timeout) && timeout.Timeout() {
		return errSlow
	}
	message := "the body cannot be decompressed as " + coding
	if b.err != nil || coding == "" {
		// Nothing more can come from this connection.
		c.read = true
		c.closeAfter()
		message = "the body ended before its end, or its chunks cannot be read"
	}
	return &api.Error{
		Code:    api.InvalidRequest,
		Message: message,
		Details: api.Details{ErrorCode: api.ErrorCodeBadBody},
		Err:     err,
	}
}

func bodyTooLarge(limit, received int64) *api.Error {
	return &api.Error{
		Code:    api.RequestTooLarge,
		Message: fmt.Sprintf("the body is larger than %d bytes, after decompression: send fewer entries at once", limit),
		Details: api.Details{ErrorCode: api.ErrorCodeBodyTooLarge, MaxBytes: limit, ReceivedBytes: received},
	}
}

// reserve takes memory for the rest of the call. A call reserves once at most,
// so that none waits for another that waits for it.
func (h *Handler) reserve(c *call, n int64) error {
	n = min(n, h.shares.memory)
	ctx, cancel := context.WithTimeout(c.r.Context(), waitForMemory)
	defer cancel()
	giveBack, err := c.share.acquire(ctx, n)
	if err != nil {
		return overloaded("the server holds as many of your bodies as it takes of one caller", err)
	}
	if err := h.memory.Acquire(ctx, n); err != nil {
		giveBack()
		return overloaded("the server holds as many bodies as it can", err)
	}
	c.release = func() { h.memory.Release(n); giveBack() }
	return nil
}

// clip shortens a stranger's text for a message.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
