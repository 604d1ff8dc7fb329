package rest

import (
	"net/http"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
)

// BenchmarkAuthenticateNotModified is what finding the caller costs, to be held
// against BenchmarkNotModified, the whole answer.
func BenchmarkAuthenticateNotModified(b *testing.B) {
	box := newBox(b, nil, nil)
	given := auth.Credentials{Authorization: "Bearer " + box.member}
	b.ReportAllocs()
	for b.Loop() {
		caller, err := box.handler.auth.Authenticate(b.Context(), given)
		if err != nil || !caller.MayOn(api.Read, "acme/widgets") {
			b.Fatal(err)
		}
	}
}

// BenchmarkNotModified is a 304 without the network and on the store in memory, which
// makes authentication's share look larger than it is.
func BenchmarkNotModified(b *testing.B) {
	box := newBox(b, nil, nil)
	tag := box.put(map[api.Key]string{"a.md": "a"}).Header().Get("ETag")
	b.ReportAllocs()
	for b.Loop() {
		if w := box.do(http.MethodGet, repoPath, box.member, "", "If-None-Match", tag); w.Code != http.StatusNotModified {
			b.Fatal(w.Code)
		}
	}
}
