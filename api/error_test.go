package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// Protocol 1.4, both ways.
func TestCodesAndStatuses(t *testing.T) {
	for code, status := range map[api.Code]int{
		api.InvalidRequest: 400, api.Authentication: 401, api.Permission: 403, api.NotFound: 404, api.Conflict: 412,
		api.RequestTooLarge: 413, api.Refused: 422, api.RateLimit: 429, api.Internal: 500, api.Overloaded: 503,
	} {
		if got := code.Status(); got != status {
			t.Errorf("%s travels under %d, want %d", code, got, status)
		}
		if got := api.CodeOfStatus(status); got != code {
			t.Errorf("%d is %s, want %s", status, got, code)
		}
	}
	for status, code := range map[int]api.Code{
		405: api.InvalidRequest, 406: api.InvalidRequest, 409: api.Conflict, 410: api.InvalidRequest, 415: api.InvalidRequest, 418: api.InvalidRequest, 451: api.InvalidRequest,
		408: api.Overloaded, 425: api.Overloaded, 502: api.Overloaded, 504: api.Overloaded,
		501: api.Internal, 505: api.Internal, 511: api.Internal, 599: api.Internal, 200: api.Internal, 302: api.Internal, 0: api.Internal,
	} {
		if got := api.CodeOfStatus(status); got != code {
			t.Errorf("%d is %s, want %s", status, got, code)
		}
	}
	if got := api.Code("no such").Status(); got != 500 {
		t.Errorf("an unknown code travels under %d, want 500", got)
	}
}

// A temporary fault is never a 4xx other than 409 and 429 (protocol 1.4).
func TestTemporaryCodes(t *testing.T) {
	for status := 400; status < 600; status++ {
		code := api.CodeOfStatus(status)
		if code.Temporary() && code.Status() < 500 && code.Status() != http.StatusTooManyRequests {
			t.Errorf("%s is temporary and travels under %d", code, code.Status())
		}
		if status >= 500 && !code.Temporary() {
			t.Errorf("%d, %s, counts as final", status, code)
		}
	}
}

func TestErrorsInGo(t *testing.T) {
	cause := errors.New("no free connection")
	e := &api.Error{Code: api.Overloaded, Message: "busy", Err: cause}
	wrapped := fmt.Errorf("push acme/widgets: %w", e)
	if got, ok := api.AsError(wrapped); !ok || got != e {
		t.Errorf("AsError found %v", got)
	}
	if !errors.Is(wrapped, cause) {
		t.Error("the cause is not in the chain")
	}
	if got := e.Error(); got != "busy: no free connection" {
		t.Errorf("got %q", got)
	}
	for err, want := range map[error]api.Code{nil: "", wrapped: api.Overloaded, cause: api.Internal, api.Errorf(api.Refused, "no %d", 1): api.Refused} {
		if got := api.CodeOf(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
	if body, err := json.Marshal(e.Body()); err != nil || strings.Contains(string(body), "connection") {
		t.Errorf("the cause crosses the wire: %s, %v", body, err)
	}
}

// What a server writes, a client gets back.
func TestErrorsSurviveTheWire(t *testing.T) {
	version, sum := api.Version(0), someSum
	for name, e := range map[string]*api.Error{
		"plain":      api.Errorf(api.Permission, "viewers may not push"),
		"method":     {Code: api.InvalidRequest, Message: "no", Status: 405, Allow: "GET, PUT", Details: api.Details{ErrorCode: api.ErrorCodeMethod}},
		"coding":     {Code: api.InvalidRequest, Message: "no", Status: 415, Details: api.Details{ErrorCode: api.ErrorCodeContentCoding}},
		"entries":    {Code: api.RequestTooLarge, Message: "no", Details: api.Details{ErrorCode: api.ErrorCodeTooManyEntries, MaxEntries: 5000, ReceivedEntries: 5001}},
		"bytes":      {Code: api.RequestTooLarge, Message: "no", Details: api.Details{ErrorCode: api.ErrorCodeEntryTooLarge, Key: "a.md", MaxBytes: 250_000, ReceivedBytes: 250_001}},
		"conflict":   api.ConflictError("changed", 3, sum, []api.Standing{{Key: "a.md", Checksum: &sum}, {Key: "b.md"}}),
		"conflict 0": api.ConflictError("none", version, "", nil),
		"twin":       api.TwinError("a.md", "A.md"),
		"directory":  api.DirectoryError("a", "a/b"),
		"json":       {Code: api.InvalidRequest, Message: "no", Details: api.Details{ErrorCode: api.ErrorCodeBadJSON, Place: "/entries/a~1b", Offset: 12}},
		"busy":       {Code: api.Overloaded, Message: "busy", RetryAfter: 3 * time.Second, Details: api.Details{ErrorCode: api.ErrorCodeBusy, RequestID: "r1"}},
	} {
		body, err := json.Marshal(e.Body())
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{"Content-Type": {"application/json"}}
		if e.RetryAfter > 0 {
			header.Set("Retry-After", fmt.Sprint(int(e.RetryAfter.Seconds())))
		}
		if e.Allow != "" {
			header.Set("Allow", e.Allow)
		}
		if got := api.DecodeError(e.HTTPStatus(), header, body); !reflect.DeepEqual(got, e) {
			t.Errorf("%s: got  %+v\nwant %+v\nbody %s", name, got, e, body)
		}
		if name == "conflict" && !strings.Contains(string(body), `{"key":"b.md","checksum":null}`) {
			t.Errorf("nothing standing is not null: %s", body)
		}
	}
}

// An answer that no server of ours wrote is an error of the kind its status
// stands for; nothing it says is believed or repeated.
func TestForeignErrors(t *testing.T) {
	const secret = "internal-host-17"
	for name, c := range map[string]struct {
		status int
		kind   string // content type
		body   string
		want   api.Code
	}{
		"a proxy's page":      {502, "text/html; charset=utf-8", "<h1>" + secret + "</h1>", api.Overloaded},
		"a proxy's limit":     {413, "text/html", "<h1>413</h1>" + secret, api.RequestTooLarge},
		"a sign-in wall":      {403, "text/html", secret, api.Permission},
		"nothing":             {404, "", "", api.NotFound},
		"another's JSON":      {404, "application/json", `{"message":"` + secret + `"}`, api.NotFound},
		"another's error":     {404, "application/json", `{"error":{"type":"not_here","message":"` + secret + `"}}`, api.NotFound},
		"no message":          {404, "application/json", `{"error":{"type":"not_found_error","details":{"error_code":"team_memory_none"}}}`, api.NotFound},
		"another status":      {502, "application/json", `{"error":{"type":"not_found_error","message":"` + secret + `","details":{"error_code":"team_memory_none"}}}`, api.Overloaded},
		"not under 4xx":       {500, "application/json", `{"error":{"type":"invalid_request_error","message":"` + secret + `"}}`, api.Internal},
		"details of a kind":   {404, "application/json", `{"error":{"type":"not_found_error","message":"` + secret + `","details":{"max_entries":"many"}}}`, api.NotFound},
		"cut short":           {412, "application/json", `{"error":{"type":"conflict_error","message":"` + secret, api.Conflict},
		"twice":               {412, "application/json", `{"error":{"type":"conflict_error","message":"` + secret + `","message":"m"}}`, api.Conflict},
		"a redirect":          {302, "text/html", secret, api.Internal},
		"an unknown status":   {799, "", secret, api.Internal},
		"an odd content type": {500, "text/<b>", secret, api.Internal},
	} {
		e := api.DecodeError(c.status, http.Header{"Content-Type": {c.kind}}, []byte(c.body))
		if e.Code != c.want || e.HTTPStatus() != c.status || !reflect.DeepEqual(e.Details, api.Details{}) {
			t.Errorf("%s: %+v", name, e)
		}
		media, _, _ := strings.Cut(c.kind, ";")
		if strings.Contains(e.Message, secret) || !strings.Contains(e.Message, fmt.Sprint(c.status)) || !strings.Contains(media, "<") && !strings.Contains(e.Message, media) {
			t.Errorf("%s: %s", name, e.Message)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	const date = "Mon, 30 Nov 2026 12:00:00 GMT"
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "0": 0, "-1": 0, "1.5": 0, "soon": 0,
		"4294967295": 24 * time.Hour, "99999999999999999999": 0,
		"Mon, 30 Nov 2026 12:00:30 GMT": 30 * time.Second, "Mon, 30 Nov 2026 11:00:00 GMT": 0, "Fri, 01 Jan 2100 00:00:00 GMT": 24 * time.Hour,
	} {
		header := http.Header{"Retry-After": {value}, "Date": {date}}
		if got := api.DecodeError(503, header, nil).RetryAfter; got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
	header := http.Header{"Retry-After": {"Mon, 30 Nov 2026 12:00:30 GMT"}}
	if got := api.DecodeError(503, header, nil).RetryAfter; got != 0 {
		t.Errorf("a date without the server's own: got %v, want 0", got)
	}
}
