package bench

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

const (
	readRounds = 15
	readTime   = 1 // seconds a turn
)

// BenchmarkRead asks a repo of 100 entries for what has not changed, and for its
// hashes. The peer is a bare handler that makes one indexed read of the same
// database and writes the same bytes; it knows no tokens, limits or log.
func BenchmarkRead(b *testing.B) {
	for _, store := range openDatabases {
		b.Run("store="+store.kind, func(b *testing.B) {
			const repo = "acme/widgets"
			ours := serve(b, store.open(b))
			ours.fill(b, repo, 100)
			bare := start(b, peer("http", ours.kind, ours.dsn, fmt.Sprint(ours.org)))
			bareURL := bare.address(b) + "/?repo=acme%2Fwidgets"
			bearer := []string{"Authorization: Bearer " + ours.token}
			etag := sameAnswer(b, bareURL, ours.memory(repo), bearer)
			for _, question := range []struct {
				name, query string
				target      float64
			}{{"304", "", 0.7}, {"hashes", "&view=hashes", 0.6}} {
				theirs, mine := bareURL+question.query, ours.memory(repo)+question.query
				headers := slices.Clone(bearer)
				if question.query == "" {
					headers = append(headers, "If-None-Match: "+etag)
				}
				for _, connections := range []int{1, 64} {
					b.Run(fmt.Sprintf("%s/connections=%d", question.name, connections), func(b *testing.B) {
						theirRounds, ourRounds := turns(b, readRounds,
							func() round { return loaded(b, bare, connections, theirs, headers) },
							func() round { return loaded(b, ours.process, connections, mine, headers) })
						compare(b, question.target, theirRounds, ourRounds)
					})
				}
			}
		})
	}
}

// sameAnswer makes sure that both give the same hashes and headers, and gives the
// entity tag.
func sameAnswer(b *testing.B, theirs, ours string, headers []string) (etag string) {
	b.Helper()
	their, our := ask(b, theirs+"&view=hashes", headers), ask(b, ours+"&view=hashes", headers)
	if their.body != our.body || their.header.Get("Etag") != our.header.Get("Etag") {
		b.Fatalf("the peer answers\n%s\nand the product\n%s", their.body, our.body)
	}
	for name := range our.header {
		if their.header.Get(name) == "" {
			b.Fatalf("the product's answer has a header %s and the peer's has not", name)
		}
	}
	return our.header.Get("Etag")
}

type answer struct {
	header http.Header
	body   string
}

func ask(b *testing.B, url string, headers []string) answer {
	b.Helper()
	request, err := newRequest(url, headers)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "identity")
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != http.StatusOK {
		b.Fatalf("%s is answered %s: %s, %v", url, got.Status, body, err)
	}
	return answer{got.Header, string(body)}
}

var (
	requestsDone = regexp.MustCompile(`(\d+) requests in ([\d.]+)(ms|s|m)`)
	requestsBad  = regexp.MustCompile(`Socket errors|Non-2xx`)
)

// loaded is one turn: as many requests as come back from one process's server.
// wrk asks where it is installed, else a program of ours.
func loaded(b *testing.B, server *process, connections int, url string, headers []string) round {
	b.Helper()
	return server.measured(func() (float64, time.Duration) {
		said := output(b, generator(connections, url, headers))
		done := requestsDone.FindStringSubmatch(said)
		if done == nil || requestsBad.MatchString(said) {
			b.Fatalf("the load generator says %s", said)
		}
		requests, _ := strconv.ParseFloat(done[1], 64)
		took, err := time.ParseDuration(done[2] + done[3])
		if err != nil {
			b.Fatal(err)
		}
		return requests, took
	})
}

func generator(connections int, url string, headers []string) *exec.Cmd {
	if _, err := exec.LookPath("wrk"); err != nil {
		return peer("load", append([]string{strconv.Itoa(connections), strconv.Itoa(readTime), url}, headers...)...)
	}
	arguments := []string{"-t", "1", "-c", strconv.Itoa(connections), "-d", strconv.Itoa(readTime) + "s"}
	for _, header := range headers {
		arguments = append(arguments, "-H", header)
	}
	return exec.Command("wrk", append(arguments, url)...)
}
