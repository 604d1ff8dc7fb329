package remote_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/remote"
)

const (
	html = "text/html; charset=utf-8"
	page = "<html><body>502 Bad Gateway: the <b>secret page</b> of a proxy</body></html>"
)

// TestAnswersThatAreNotTheContracts: whatever something on the way says, it is an
// error that says so, and never a memory without entries (BR-17). JSON that is cut
// short or of another shape is asked for again, as the next answer may be whole.
func TestAnswersThatAreNotTheContracts(t *testing.T) {
	for name, c := range map[string]struct {
		server *script
		says   string
		tries  int32
	}{
		"a page":                 {saying(t, 200, html, page), "not with JSON", 1},
		"no content type":        {saying(t, 200, "", ""), "not with JSON", 1},
		"JSON under a wrong one": {saying(t, 200, "text/plain", aMemory), "not with JSON", 1},
		"an empty object":        {saying(t, 200, "application/json", `{}`), "not the contract's", 3},
		"an empty list":          {saying(t, 200, "application/json", `{"entries":[]}`), "not the contract's", 3},
		"entries as a list":      {saying(t, 200, "application/json", strings.Replace(aMemory, `{"t.md":"text"}`, `[]`, 1)), "not the contract's", 3},
		"no entries":             {saying(t, 200, "application/json", strings.Replace(aMemory, `"entries":{"t.md":"text"},`, ``, 1)), "entries is missing", 3},
		"null":                   {saying(t, 200, "application/json", `null`), "not the contract's", 3},
		"nothing":                {saying(t, 200, "application/json", ``), "not the contract's", 3},
		"half":                   {saying(t, 200, "application/json", aMemory[:len(aMemory)/2]), "not the contract's", 3},
		"one and a half":         {saying(t, 200, "application/json", aMemory+aMemory), "not the contract's", 3},
		"204":                    {saying(t, 204, "", ""), "status 204", 1},
		"206":                    {saying(t, 206, "application/json", aMemory), "status 206", 1},
		"404 for everything":     {saying(t, 404, html, page), "404 Not Found (text/html)", 1},
		"404 of another API":     {saying(t, 404, "application/json", `{"error":"not found"}`), "404 Not Found", 1},
		"413 in HTML":            {saying(t, 413, html, page), "413 Request Entity Too Large (text/html)", 1},
		"401 in HTML":            {saying(t, 401, html, page), "401 Unauthorized (text/html)", 1},
		"500 in HTML":            {saying(t, 500, html, page), "500 Internal Server Error (text/html)", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := clientOf(t, c.server.URL).Get(t.Context(), repo, remote.Query{})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v, want one with %q", err, c.says)
			}
			if answer.NoMemory || answer.NotModified || answer.Memory.Version != 0 {
				t.Errorf("something was believed: %+v", answer)
			}
			if err != nil && strings.Contains(err.Error(), "secret page") {
				t.Errorf("the error holds what a stranger said: %v", err)
			}
			if asked := c.server.asked.Load(); asked != c.tries {
				t.Errorf("asked %d times, want %d", asked, c.tries)
			}
		})
	}
}

// TestTheContractsAnswers are believed, whatever became of the ETag on the way
// (BR-35, BR-36): the version and the checksum stand in the body.
func TestTheContractsAnswers(t *testing.T) {
	const sum = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for name, header := range map[string][]string{
		"strong ETag":  {"ETag", `"` + sum + `"`},
		"weak ETag":    {"ETag", `W/"` + sum + `"`},
		"suffixed":     {"ETag", `"` + sum + `-gzip"`},
		"foreign ETag": {"ETag", `"5f3-1"`},
		"no ETag":      nil,
	} {
		t.Run(name, func(t *testing.T) {
			server := saying(t, 200, "application/json; charset=utf-8", aMemory, header...)
			answer, err := clientOf(t, server.URL).Get(t.Context(), repo, remote.Query{})
			if err != nil || answer.Memory.Version != 7 || answer.Memory.Checksum != sum || answer.Memory.Content.Entries["t.md"] != "text" {
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}
	t.Run("no memory yet", func(t *testing.T) {
		server := saying(t, 404, "application/json", `{"error":{"type":"not_found_error","message":"no memory yet","details":{"error_code":"team_memory_none"}}}`)
		answer, err := clientOf(t, server.URL).Get(t.Context(), repo, remote.Query{})
		if err != nil || !answer.NoMemory {
			t.Errorf("%+v, %v", answer, err)
		}
	})
	t.Run("not modified", func(t *testing.T) {
		server := answers(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") != `"`+sum+`"` {
				t.Errorf("asked with %q", r.Header.Get("If-None-Match"))
			}
			w.WriteHeader(http.StatusNotModified)
		})
		answer, err := clientOf(t, server.URL).Get(t.Context(), repo, remote.Query{IfNoneMatch: sum})
		if err != nil || !answer.NotModified {
			t.Errorf("%+v, %v", answer, err)
		}
	})
}

// TestNotModifiedUnasked: a 304 to a question without a condition is no answer to
// anything but a GET of a repo, and there it carries no memory.
func TestNotModifiedUnasked(t *testing.T) {
	c := clientOf(t, saying(t, 304, "", "").URL)
	if answer, err := c.Get(t.Context(), repo, remote.Query{}); err == nil && (!answer.NotModified || answer.NoMemory || answer.Memory.Content.Entries != nil) {
		t.Errorf("believed %+v", answer)
	}
	if who, err := c.WhoAmI(t.Context()); err == nil {
		t.Errorf("believed that it is %+v", who)
	}
	if result, err := c.Put(t.Context(), repo, api.Push{Entries: map[api.Key]string{"t.md": "text"}}, ""); err == nil {
		t.Errorf("believed that it was taken: %+v", result)
	}
}

// TestBrokenOff: an answer that ends before its time is a fault of the way, which
// may pass, and is tried again.
func TestBrokenOff(t *testing.T) {
	server := answers(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write([]byte(aMemory))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	_, err := clientOf(t, server.URL).Get(t.Context(), repo, remote.Query{})
	var unreachable *remote.Unreachable
	if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "broke off") || server.asked.Load() != 3 {
		t.Errorf("%v after %d tries", err, server.asked.Load())
	}
}

// TestRetryAfter: a server that asks for a pause gets it, the tries are bounded,
// and one that asks for a long one is left alone with its time told.
func TestRetryAfter(t *testing.T) {
	const busy = `{"error":{"type":"overloaded_error","message":"busy"}}`
	for name, c := range map[string]struct {
		status     int
		body, wait string
		tries      int32
		least      time.Duration
		told       time.Duration
	}{
		"503 and no word of when": {503, busy, "", 3, 0, 0},
		"503 at once":             {503, busy, "0", 3, 0, 0},
		"429 of a proxy":          {429, page, "1", 2, time.Second, time.Second},
		"503 for an hour":         {503, busy, "3600", 1, 0, time.Hour},
		"nonsense":                {503, busy, "soon", 3, 0, 0},
		"less than nothing":       {503, busy, "-5", 3, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := saying(t, c.status, "application/json", c.body, "Retry-After", c.wait)
			began := time.Now()
			_, err := clientOf(t, server.URL, func(o *remote.Options) { o.Tries = int(c.tries) }).Get(t.Context(), repo, remote.Query{})
			e, ok := api.AsError(err)
			if !ok || !e.Code.Temporary() || e.RetryAfter != c.told {
				t.Errorf("the error is %#v", err)
			}
			if server.asked.Load() != c.tries {
				t.Errorf("asked %d times, want %d", server.asked.Load(), c.tries)
			}
			if took := time.Since(began); took < c.least {
				t.Errorf("asked again after %v, before the time", took)
			}
		})
	}
}

// TestGetsBetter: what passes is not told to anyone.
func TestGetsBetter(t *testing.T) {
	server := answers(t, func(w http.ResponseWriter, _ *http.Request) {})
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if server.asked.Add(1) < 3 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(aMemory))
	})
	answer, err := clientOf(t, server.URL).Get(t.Context(), repo, remote.Query{})
	if err != nil || answer.Memory.Version != 7 {
		t.Errorf("%+v, %v", answer, err)
	}
}
