package servertest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/store"
)

// BenchmarkReads holds the two reads that a polling client makes against a bare
// net/http handler that makes the same one read of the same store, with one
// connection and with 64.
func BenchmarkReads(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { benchmarkReads(b) })
	b.Run("postgres", func(b *testing.B) { benchmarkReads(b, servertest.OnPostgres()) })
}

func benchmarkReads(b *testing.B, options ...servertest.Option) {
	s := servertest.Start(b, options...)
	token := s.Token(api.Member)
	var entries []string
	for i := range 100 {
		entries = append(entries, fmt.Sprintf(`"topic_number_%03d.md":"text of entry %d"`, i, i))
	}
	r, err := http.NewRequest(http.MethodPut, s.URL+api.PathTeamMemory+"?repo=acme/widgets", strings.NewReader(`{"entries":{`+strings.Join(entries, ",")+`}}`))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := s.Client().Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	tag := answer.Header.Get("ETag")
	hashes, err := http.NewRequest(http.MethodGet, s.URL+api.PathTeamMemory+"?repo=acme/widgets&view=hashes", nil)
	if err != nil {
		b.Fatal(err)
	}
	hashes.Header.Set("Authorization", "Bearer "+token)
	answer, err = s.Client().Do(hashes)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}

	bare := httptest.NewServer(bareHandler(b, s.Store(), tag, body))
	b.Cleanup(bare.Close)
	for _, connections := range []int{1, 64} {
		for _, read := range []struct{ name, extra, tag string }{{"304", "", tag}, {"hashes", "&view=hashes", ""}} {
			for _, peer := range []struct{ name, url string }{{"bare", bare.URL}, {"teammem", s.URL}} {
				b.Run(fmt.Sprintf("%s/%d/%s", read.name, connections, peer.name), func(b *testing.B) {
					load(b, connections, peer.url+api.PathTeamMemory+"?repo=acme/widgets"+read.extra, token, read.tag)
				})
			}
		}
	}
}

// bareHandler reads what the product reads, and answers with what is ready.
func bareHandler(b *testing.B, db store.Store, tag string, hashes []byte) http.Handler {
	org, err := db.Organization(context.Background(), server.FirstOrganization)
	if err != nil {
		b.Fatal(err)
	}
	ref := store.RepoRef{Org: org.ID, Slug: "acme/widgets"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") != "" {
			if _, err := db.Head(r.Context(), ref); err != nil {
				b.Error(err)
			}
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if _, err := db.View(r.Context(), ref, 0); err != nil {
			b.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(hashes)
	})
}

// load sends b.N requests over so many connections.
func load(b *testing.B, connections int, url, token, tag string) {
	transport := &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	turns := make(chan struct{})
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for range turns {
				r, err := http.NewRequest(http.MethodGet, url, nil)
				if err != nil {
					b.Error(err)
					continue
				}
				r.Header.Set("Authorization", "Bearer "+token)
				if tag != "" {
					r.Header.Set("If-None-Match", tag)
				}
				answer, err := client.Do(r)
				if err != nil {
					b.Error(err)
					continue
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		})
	}
	b.ResetTimer()
	for range b.N {
		turns <- struct{}{}
	}
	close(turns)
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}
