package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/store"
)

// policy is what a page may load: our own files, and nothing of anybody else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxForm bounds what a form may send: the largest entry, percent-encoded, and room.
const maxForm = 4 << 20

// answer answers one request, or returns the error to show.
type answer func(w http.ResponseWriter, r *http.Request) error

// page is what is the same for all of them. A stream takes as long as it takes.
func (h *Handler) page(answer answer, stream bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !stream {
			ctx, cancel := context.WithTimeout(r.Context(), h.cfg.Request)
			defer cancel()
			r = r.WithContext(ctx)
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		// Not every writer has deadlines: a test's recorder has none.
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Now().Add(h.cfg.Request))
		_ = rc.SetWriteDeadline(time.Now().Add(h.cfg.Request + 3*time.Second))
		h.setHeaders(w.Header())
		if err := answer(w, r); err != nil {
			h.fail(w, r, nil, err)
		}
		_ = rc.SetReadDeadline(time.Time{})
	})
}

func (h *Handler) setHeaders(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// fault is an error as a page shows it.
type fault struct {
	status        int
	message, hint string
}

func (f *fault) Error() string { return f.message }

// faultView is an error as a page.
type faultView struct {
	frame
	Message, Hint string
}

// fail shows an error. What is not ours to explain is shown as such. v is nil where
// nobody is known to be signed in.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, v *visit, err error) {
	f := faultOf(err)
	if e, ours := api.AsError(err); ours && e.RetryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(e.RetryAfter.Seconds()+1)))
	}
	h.log.Info("page refused", "method", r.Method, "path", r.URL.Path, "status", f.status, "error", reason(err))
	h.setHeaders(w.Header())
	view := faultView{Message: f.message, Hint: f.hint}
	if v != nil {
		view.frame = v.frame
	}
	view.Title = titleOf(f.status)
	h.render(w, r, f.status, "fault", view)
}

// faultOf is an error as people are told it.
func faultOf(err error) *fault {
	var f *fault
	var refusal *provider.Refusal
	var away *provider.Unavailable
	var tooLarge *http.MaxBytesError
	e, ours := api.AsError(err)
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &refusal):
		return &fault{http.StatusForbidden, "The sign-in is refused: " + refusal.Text + ".", "Begin anew; if it goes on, an administrator reads here what is to be put right."}
	case errors.As(err, &away):
		return &fault{http.StatusServiceUnavailable, "The identity provider " + away.Issuer + " does not answer.", "Try again in a moment. Everything but signing in goes on."}
	case errors.As(err, &tooLarge):
		return &fault{http.StatusRequestEntityTooLarge, "The form is larger than the server takes.", "An entry holds 250,000 bytes at most: make two of it."}
	case ours:
		return &fault{e.HTTPStatus(), sentence(e.Message), hintOf(e)}
	case errors.Is(err, store.ErrBusy), errors.Is(err, context.DeadlineExceeded):
		return &fault{http.StatusServiceUnavailable, "The database is busy.", "Try again in a moment."}
	}
	return &fault{http.StatusInternalServerError, "The server failed.", "Its log names the cause."}
}

// hintOf is what to do about an error of the contract.
func hintOf(e *api.Error) string {
	switch e.Code {
	case api.Permission:
		return "Ask an admin of the organization."
	case api.NotFound:
		return "It may have been renamed or deleted; search finds what is there."
	case api.Conflict:
		return "Go back, look at what stands there now, and try again."
	case api.Authentication:
		return "Begin anew from the first page."
	case api.RateLimit, api.Overloaded:
		return "Try again in a moment."
	}
	return "Go back and change it."
}

func titleOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "Not signed in"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusNotFound:
		return "Not found"
	case http.StatusPreconditionFailed:
		return "Changed meanwhile"
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return "Not now"
	case http.StatusInternalServerError:
		return "The server failed"
	}
	return "Refused"
}

// reason is an error as the log may hold it: a refusal by its word, because its
// text may repeat what was sent.
func reason(err error) string {
	var refusal *provider.Refusal
	if errors.As(err, &refusal) {
		return "refused for its " + refusal.Reason
	}
	if e, ok := api.AsError(err); ok {
		return string(e.Code)
	}
	return err.Error()
}
