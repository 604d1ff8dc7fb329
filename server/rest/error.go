package rest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// retryAfter is what a client is told to wait when nothing better is known.
const retryAfter = time.Second

// errSlow ends a call whose body came too slowly: the connection is closed
// without an answer. A 408 would be taken for a permanent refusal by clients.
var errSlow = errors.New("the body came too slowly")

// overloaded is the 503 of a fault that will pass.
func overloaded(message string, cause error) *api.Error {
	return &api.Error{
		Code:       api.Overloaded,
		Message:    message + "; try again in a moment",
		Details:    api.Details{ErrorCode: api.ErrorCodeBusy},
		RetryAfter: retryAfter,
		Err:        cause,
	}
}

// wireError is the error to answer with: the contract's own as it is, what will
// pass as a 503, and anything else as internal without a word about its cause.
func wireError(err error) api.Error {
	if e, ok := api.AsError(err); ok {
		return *e
	}
	switch {
	case errors.Is(err, store.ErrBusy):
		return *overloaded("the database is busy", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return *overloaded("the request took too long", err)
	}
	return api.Error{
		Code:    api.Internal,
		Message: "the server failed; its log names the cause under this request's id",
		Err:     err,
	}
}

// fail answers err. When an answer has begun already there is only one way left
// to say that it is not whole: the connection is broken off.
func (h *Handler) fail(c *call, err error) {
	if c.begun || errors.Is(err, errSlow) {
		panic(http.ErrAbortHandler)
	}
	e := wireError(err)
	e.Details.RequestID = c.id
	body, err := json.Marshal(e.Body())
	if err != nil {
		panic(err) // strings and numbers only: cannot happen
	}
	header := c.w.Header()
	header.Del("ETag")
	header.Del(api.HeaderVersion)
	header.Set("Content-Type", typeJSON)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	// The whole answer must be out before a body is drained; a compressor would
	// hold its end back.
	header.Set(gzhttp.HeaderNoCompression, "1")
	if e.Allow != "" {
		header.Set("Allow", e.Allow)
	}
	if e.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	switch e.HTTPStatus() {
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", "Bearer")
	case http.StatusUnsupportedMediaType:
		header.Set("Accept-Encoding", "gzip, zstd")
	}
	drain := h.mustDrain(c)
	if drain {
		// Answer first, so that a client that listens while it sends can stop.
		_ = c.conn.EnableFullDuplex()
		c.closeAfter()
	}
	c.begun = true
	c.w.WriteHeader(e.HTTPStatus())
	_, _ = c.w.Write(body)
	if drain {
		_ = http.NewResponseController(c.w).Flush()
		h.drain(c)
	}
}

// serverDrains is how much of an unread body net/http reads by itself before it
// answers.
const serverDrains = 256 << 10

// mustDrain reports whether the sender of the body might get a reset in place of
// the answer. A client that waits for 100 Continue has sent nothing yet.
func (h *Handler) mustDrain(c *call) bool {
	switch {
	case c.read, c.r.Body == nil, c.r.Body == http.NoBody:
		return false
	case !c.reading && c.r.Header.Get("Expect") != "":
		return false
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(h.cfg.DrainTime))
	return c.r.ContentLength < 0 || c.r.ContentLength >= serverDrains
}

// closeAfter ends the connection after the answer. Of HTTP/2 it would end the
// other streams too, and there is no need: a stream ends by itself.
func (c *call) closeAfter() {
	if c.r.ProtoMajor == 1 {
		c.w.Header().Set("Connection", "close")
	}
}

// drain reads on, within bounds, until the sender has no more to say.
func (h *Handler) drain(c *call) {
	_, _ = io.CopyN(io.Discard, c.r.Body, h.cfg.DrainBytes)
}
