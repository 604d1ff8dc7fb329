package servertest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/teammem/teammem/api"
)

// wire speaks to the target for one case.
type wire struct {
	*testing.T
	target Target
	spec   *openapi3.T
	limits api.Limits // as announced
	// sample is how many answers there are to one that is held against
	// openapi.yaml: 0 and 1 are all. Each such check compiles its schema anew.
	sample, sent int
}

func newWire(t *testing.T, target Target) *wire {
	t.Helper()
	spec, err := openapi3.NewLoader().LoadFromData(api.OpenAPI())
	if err != nil {
		t.Fatalf("read openapi.yaml: %v", err)
	}
	w := &wire{T: t, target: target, spec: spec}
	w.limits = into[api.WellKnown](w, w.do(http.MethodGet, api.PathWellKnown, "", nil)).Limits
	return w
}

// in is the same wire for a subtest.
func (w *wire) in(t *testing.T) *wire {
	in := *w
	in.T = t
	return &in
}

// answer is an answer of the target, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends one request; headers come in pairs. The answer is held against
// openapi.yaml.
func (w *wire) do(method, target, token string, body io.Reader, headers ...string) answer {
	w.Helper()
	r, err := http.NewRequest(method, w.target.URL+target, body)
	if err != nil {
		w.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	got, err := w.target.Client.Do(r)
	if err != nil {
		w.Fatalf("%s %s: %v", method, target, err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		w.Fatalf("%s %s: read the answer: %v", method, target, err)
	}
	a := answer{status: got.StatusCode, header: got.Header, body: text}
	if w.sent++; w.sent%max(w.sample, 1) == 0 {
		w.conforms(r, a)
	}
	return a
}

// isArchive reports whether a body has no schema to hold it against.
func isArchive(contentType string) bool {
	return contentType == "application/zip" || contentType == "application/gzip"
}

// conforms holds an answer against openapi.yaml, and against what it cannot say.
func (w *wire) conforms(r *http.Request, a answer) {
	w.Helper()
	if a.header.Get("Cache-Control") != "no-store" || a.header.Get(api.HeaderRequestID) == "" || a.header.Get("X-Content-Type-Options") != "nosniff" {
		w.Errorf("%s %s: %d with header %v", r.Method, r.URL.Path, a.status, a.header)
	}
	if a.status >= 400 && r.Method != http.MethodHead {
		w.conformsToError(a)
	}
	operation, item := w.operation(r)
	if operation == nil {
		return
	}
	if a.status == http.StatusNotModified {
		if len(a.body) > 0 || !strings.HasPrefix(a.header.Get("ETag"), `"sha256:`) {
			w.Errorf("304 with ETag %q and %d bytes", a.header.Get("ETag"), len(a.body))
		}
		return
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r,
			Route:   &routers.Route{Spec: w.spec, Path: r.URL.Path, PathItem: item, Method: r.Method, Operation: operation},
		},
		Status:  a.status,
		Header:  a.header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: isArchive(a.header.Get("Content-Type"))},
	}
	if err := openapi3filter.ValidateResponse(context.Background(), input.SetBodyBytes(a.body)); err != nil {
		w.Errorf("%s %s: the answer is not as openapi.yaml says: %v", r.Method, r.URL.Path, err)
	}
}

func (w *wire) conformsToError(a answer) {
	w.Helper()
	var v any
	if err := json.Unmarshal(a.body, &v); err != nil || a.header.Get("Content-Type") != "application/json" {
		w.Errorf("status %d is not answered in JSON but with %q", a.status, a.header.Get("Content-Type"))
		return
	}
	if err := w.spec.Components.Schemas["Error"].Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
		w.Errorf("status %d: the error is not as openapi.yaml says: %v", a.status, err)
	}
}

// operation finds the request's line in openapi.yaml; nil for an address or a
// method that is not there.
func (w *wire) operation(r *http.Request) (*openapi3.Operation, *openapi3.PathItem) {
	item := w.spec.Paths.Value(r.URL.Path)
	if item == nil {
		return nil, nil
	}
	return item.Operations()[r.Method], item
}

// into reads a JSON answer.
func into[T any](w *wire, a answer) (v T) {
	w.Helper()
	if err := json.Unmarshal(a.body, &v); err != nil {
		w.Fatalf("status %d, and not the JSON wanted: %v", a.status, err)
	}
	return v
}

// wantStatus checks a success.
func (w *wire) wantStatus(a answer, status int) answer {
	w.Helper()
	if a.status != status {
		w.Fatalf("status %d, want %d: %.300s", a.status, status, a.body)
	}
	return a
}

// wantError checks a refusal and gives its details.
func (w *wire) wantError(a answer, status int, errorCode string) api.Details {
	w.Helper()
	w.wantStatus(a, status)
	body := into[api.ErrorBody](w, a)
	if want := typeOfStatus[status]; body.Error.Type != want {
		w.Errorf("status %d with type %s, want %s", status, body.Error.Type, want)
	}
	if body.Error.Details.ErrorCode != errorCode {
		w.Errorf("status %d with error_code %s, want %s", status, body.Error.Details.ErrorCode, errorCode)
	}
	return body.Error.Details
}

// typeOfStatus is the table of protocol.md, section 1.4.
var typeOfStatus = map[int]api.Code{
	400: "invalid_request_error", 405: "invalid_request_error", 415: "invalid_request_error",
	401: "authentication_error", 403: "permission_error", 404: "not_found_error",
	412: "conflict_error", 413: "request_too_large", 422: "refused_error",
	429: "rate_limit_error", 503: "overloaded_error", 500: "api_error",
}

// repo is one repo of a case.
type repo struct {
	*wire
	slug string
}

// repo makes up a name that no one has used.
func (w *wire) repo() *repo {
	return &repo{w, "conformance/" + strings.ToLower(rand.Text())}
}

func (r *repo) path(extra string) string {
	return api.PathTeamMemory + "?repo=" + url.QueryEscape(r.slug) + extra
}

// get reads as the viewer.
func (r *repo) get(extra string, headers ...string) answer {
	r.Helper()
	return r.do(http.MethodGet, r.path(extra), r.target.Viewer, nil, headers...)
}

// memory is what the repo holds.
func (r *repo) memory(extra string) api.Memory {
	r.Helper()
	return into[api.Memory](r.wire, r.wantStatus(r.get(extra), http.StatusOK))
}

// put writes as the member.
func (r *repo) put(push api.Push, headers ...string) answer {
	r.Helper()
	body, err := json.Marshal(push)
	if err != nil {
		r.Fatal(err)
	}
	return r.putText(string(body), headers...)
}

func (r *repo) putText(body string, headers ...string) answer {
	r.Helper()
	return r.do(http.MethodPut, r.path(""), r.target.Member, strings.NewReader(body), headers...)
}

// write puts entries on whatever stands, and gives the result.
func (r *repo) write(entries map[api.Key]string) api.PushResult {
	r.Helper()
	var headers []string
	if head := r.do(http.MethodHead, r.path(""), r.target.Viewer, nil); head.status == http.StatusOK {
		headers = []string{"If-Match", head.header.Get("ETag")}
	}
	return r.ok(r.put(api.Push{Entries: entries}, headers...))
}

// delete deletes keys that stand.
func (r *repo) delete(keys ...api.Key) api.PushResult {
	r.Helper()
	return r.ok(r.put(api.Push{Deletions: keys}, "If-Match", "*"))
}

// ok reads the result of a PUT that must have been taken.
func (r *repo) ok(a answer) api.PushResult {
	r.Helper()
	result := into[api.PushResult](r.wire, r.wantStatus(a, http.StatusOK))
	if a.header.Get("ETag") != result.Checksum.ETag() {
		r.Errorf("PUT answers ETag %s and checksum %s", a.header.Get("ETag"), result.Checksum)
	}
	return result
}

// holds checks what stands in the repo.
func (r *repo) holds(entries map[api.Key]string, deleted ...api.Key) api.Memory {
	r.Helper()
	memory := r.memory("")
	if !maps.Equal(memory.Content.Entries, entries) {
		r.Errorf("the repo holds %q, want %q", memory.Content.Entries, entries)
	}
	slices.Sort(deleted)
	if got := api.SortedKeys(memory.Deleted); !slices.Equal(got, deleted) {
		r.Errorf("deleted are %q, want %q", got, deleted)
	}
	return memory
}

// unchanged runs fn and checks that the repo stands as before.
func (r *repo) unchanged(fn func()) {
	r.Helper()
	before := r.get("")
	fn()
	if after := r.get(""); after.status != before.status || before.status == http.StatusOK && !bytes.Equal(after.body, before.body) {
		r.Errorf("something was changed: %.300s\n%.300s", before.body, after.body)
	}
}

// sumOf is a base for the text.
func sumOf(text string) *api.Checksum {
	sum := api.ChecksumOfString(text)
	return &sum
}
