package servertest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/teammem/teammem/api"
)

// limitCases are protocol.md, section 1.8, with the limits that the server
// announces (BR-38).
var limitCases = []conformanceCase{
	{"an entry up to the limit is taken, one byte more is 413 with the key", func(w *wire) {
		r := w.repo()
		limit := w.limits.EntryBytes
		for _, size := range []int{w.limits.BatchBytes, w.limits.BatchBytes + 1, limit - 1, limit} {
			r.write(map[api.Key]string{"a.md": strings.Repeat("x", size)})
		}
		r.unchanged(func() {
			for _, text := range []string{strings.Repeat("x", limit+1), strings.Repeat("é", limit/2+1)} {
				details := w.wantError(r.put(api.Push{Entries: map[api.Key]string{"ok.md": "", "a.md": text}}, "If-Match", "*"), http.StatusRequestEntityTooLarge, api.ErrorCodeEntryTooLarge)
				if details.Key != "a.md" || details.MaxBytes != int64(limit) || details.ReceivedBytes != int64(len(text)) {
					w.Errorf("the 413 says %+v", details)
				}
			}
		})
	}},
	{"an entry that JSON escapes multiply is measured decoded", func(w *wire) {
		r := w.repo()
		text := strings.Repeat("\"\\", 75_000)
		r.write(map[api.Key]string{"a.md": text})
		r.holds(map[api.Key]string{"a.md": text})
	}},
	{"a body up to the limit is taken, one byte more is 413, and its sender sees it", func(w *wire) {
		r := w.repo()
		limit := int(w.limits.BodyBytes)
		for _, size := range []int{limit - 1, limit, limit + 1, max(10_000_000, limit+2)} {
			for _, chunked := range []bool{false, true} {
				var body io.Reader = strings.NewReader(bodyOf(size))
				if chunked {
					body = io.MultiReader(body) // hides its length
				}
				a := w.do(http.MethodPut, r.path(""), w.target.Member, body)
				if size <= limit {
					r.ok(a)
					continue
				}
				if details := w.wantError(a, http.StatusRequestEntityTooLarge, api.ErrorCodeBodyTooLarge); details.MaxBytes != int64(limit) {
					w.Errorf("the 413 says %+v", details)
				}
			}
		}
	}},
	{"the limit of a body counts after decompression", func(w *wire) {
		r := w.repo()
		for _, coding := range []string{"gzip", "zstd"} {
			fits, over := packed(w, coding, bodyOf(int(w.limits.BodyBytes))), packed(w, coding, bodyOf(int(w.limits.BodyBytes)*2))
			r.ok(w.do(http.MethodPut, r.path(""), w.target.Member, bytes.NewReader(fits), "Content-Encoding", coding))
			w.wantError(w.do(http.MethodPut, r.path(""), w.target.Member, bytes.NewReader(over), "Content-Encoding", coding), http.StatusRequestEntityTooLarge, api.ErrorCodeBodyTooLarge)
		}
	}},
	{"too many entries are 413 with the limit, counted after the merge", func(w *wire) {
		r := w.repo()
		limit := w.limits.RepoEntries
		if limit > 20_000 {
			w.Skip("the limit is too high to try")
		}
		all := map[api.Key]string{}
		for i := range limit {
			all[api.Key(fmt.Sprintf("%d", i))] = ""
		}
		r.write(all)
		r.unchanged(func() {
			details := w.wantError(r.put(api.Push{Entries: map[api.Key]string{"one": "", "two": "", "0": "changed"}}, "If-Match", "*"), http.StatusRequestEntityTooLarge, api.ErrorCodeTooManyEntries)
			if details.MaxEntries != limit || details.ReceivedEntries != limit+2 {
				w.Errorf("the 413 says %+v", details)
			}
		})
		r.ok(r.put(api.Push{Entries: map[api.Key]string{"one": ""}, Deletions: []api.Key{"0"}}, "If-Match", "*"))
	}},
}

// bodyOf is a PUT body of exactly n bytes.
func bodyOf(n int) string {
	const open, end = `{"entries":{"a.md":"a"},"padding":"`, `"}`
	return open + strings.Repeat("p", n-len(open)-len(end)) + end
}

func packed(w *wire, coding, text string) []byte {
	w.Helper()
	var b bytes.Buffer
	var pack io.WriteCloser = gzip.NewWriter(&b)
	if coding == "zstd" {
		var err error
		if pack, err = zstd.NewWriter(&b); err != nil {
			w.Fatal(err)
		}
	}
	_, err := io.WriteString(pack, text)
	if err = errors.Join(err, pack.Close()); err != nil {
		w.Fatal(err)
	}
	return b.Bytes()
}

// bodyCases are promise S8: byte-exact or refused.
var bodyCases = []conformanceCase{
	{"what is not the JSON wanted is 400, nothing changed", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a"})
		r.unchanged(func() {
			for body, errorCode := range map[string]string{
				"":                              api.ErrorCodeBadJSON,
				"<html></html>":                 api.ErrorCodeBadJSON,
				"null":                          api.ErrorCodeBadBody,
				"[]":                            api.ErrorCodeBadBody,
				`"text"`:                        api.ErrorCodeBadBody,
				"{}":                            api.ErrorCodeBadBody,
				`{"Entries":{"b.md":"b"}}`:      api.ErrorCodeBadBody,
				`{"entries":["b.md"]}`:          api.ErrorCodeBadBody,
				`{"entries":{"b.md":null}}`:     api.ErrorCodeBadBody,
				`{"entries":{"b.md":1}}`:        api.ErrorCodeBadBody,
				`{"deletions":{"b.md":1}}`:      api.ErrorCodeBadBody,
				`{"deletions":["b.md","b.md"]}`: api.ErrorCodeBadBody,
				`{"entries":{"b.md":"b"},"baseChecksums":{"b.md":"x"}}`:    api.ErrorCodeBadBody,
				`{"entries":{"b.md":"b"},"modified":{"b.md":"yesterday"}}`: api.ErrorCodeBadBody,
				`{"entries":{"b.md":"b"`:                                   api.ErrorCodeBadJSON,
				`{"entries":{"b.md":"b"}}{}`:                               api.ErrorCodeBadJSON,
				`{"entries":{"b.md":"b"}}` + "\x00":                        api.ErrorCodeBadJSON,
				`{"entries":{"b.md":"b","b.md":"c"}}`:                      api.ErrorCodeBadJSON,
				`{"entries":{"b.md":"b"},"entries":{}}`:                    api.ErrorCodeBadJSON,
				`{"entries":{"b.md":"b","b\u002emd":"c"}}`:                 api.ErrorCodeBadJSON,
				`{"entries":{"b.md":"\ud800"}}`:                            api.ErrorCodeBadJSON,
				`{"entries":{"b.md":"\ud83d\u0041"}}`:                      api.ErrorCodeBadJSON,
				`{"entries":{"\udc00.md":"b"}}`:                            api.ErrorCodeBadJSON,
				"{\"entries\":{\"b.md\":\"\xff\"}}":                        api.ErrorCodeBadJSON,
				"{\"entries\":{\"b.md\":\"\xed\xa0\x80\"}}":                api.ErrorCodeBadJSON,
				"{\"entries\":{\"b\xc0\xae.md\":\"b\"}}":                   api.ErrorCodeBadJSON,
				"{\"entries\":{\"b.md\":\"line\nbreak\"}}":                 api.ErrorCodeBadJSON,
				"\ufeff{\"entries\":{}}":                                   api.ErrorCodeBadJSON,
				strings.Repeat("[", 100_000):                               api.ErrorCodeBadJSON,
				`{"x":` + strings.Repeat("[", 100_000):                     api.ErrorCodeBadJSON,
			} {
				if a := r.putText(body, "If-Match", "*"); a.status != http.StatusBadRequest {
					w.Errorf("%.60q: status %d", body, a.status)
				} else if code := into[api.ErrorBody](w, a).Error.Details.ErrorCode; code != errorCode {
					w.Errorf("%.60q: error_code %s, want %s", body, code, errorCode)
				}
			}
		})
	}},
	{"the place of what is wrong is named, and the key", func(w *wire) {
		details := w.wantError(w.repo().putText(`{"entries":{"a.md":"fine","b.md":"\ud800"}}`), http.StatusBadRequest, api.ErrorCodeBadJSON)
		if details.Place != "/entries/b.md" || details.Offset == 0 || details.Key != "b.md" {
			w.Errorf("named are %+v", details)
		}
	}},
	{"bodies may be compressed with gzip or zstd", func(w *wire) {
		for _, coding := range []string{"gzip", "zstd", "identity"} {
			r := w.repo()
			body := []byte(`{"entries":{"a.md":"a"}}`)
			if coding != "identity" {
				body = packed(w, coding, string(body))
			}
			r.ok(w.do(http.MethodPut, r.path(""), w.target.Member, bytes.NewReader(body), "Content-Encoding", coding))
			r.holds(map[api.Key]string{"a.md": "a"})
		}
	}},
	{"another coding is 415 and says which are known", func(w *wire) {
		a := w.repo().putText(`{"entries":{"a.md":"a"}}`, "Content-Encoding", "br")
		w.wantError(a, http.StatusUnsupportedMediaType, api.ErrorCodeContentCoding)
	}},
	{"a coding cut short or broken is 400", func(w *wire) {
		r := w.repo()
		for _, coding := range []string{"gzip", "zstd"} {
			whole := packed(w, coding, `{"entries":{"a.md":"a"}}`)
			for _, body := range [][]byte{whole[:len(whole)-3], []byte("not packed at all"), append(whole[:len(whole):len(whole)], "more"...)} {
				w.wantError(w.do(http.MethodPut, r.path(""), w.target.Member, bytes.NewReader(body), "Content-Encoding", coding), http.StatusBadRequest, api.ErrorCodeBadBody)
			}
		}
		w.wantError(r.get(""), http.StatusNotFound, api.ErrorCodeNoMemory)
	}},
}
