package bench

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammem/server/servertest"
)

// streamsEnvironment names the variable with how many streams to open.
const streamsEnvironment = "TEAMMEM_BENCH_STREAMS"

const (
	manyStreams = 10_000
	opening     = 64               // streams opened at once
	idling      = 40 * time.Second // with heartbeats, before memory is looked at
	backWithin  = 60 * time.Second // all of them, after a restart
	streamRepo  = "acme/notes"
	// The pauses of our client before it opens a stream again.
	firstStreamPause, longestStreamPause = time.Second, 30 * time.Second
)

// BenchmarkIdleStreams opens ten thousand idle event streams, each on a connection
// of its own, and says what each costs the server in resident memory, how soon a
// change has reached all, and how soon all are back after a restart.
func BenchmarkIdleStreams(b *testing.B) {
	for _, kind := range []struct {
		name   string
		secure bool
		http2  bool
		most   float64 // KiB a stream
	}{{"http1", false, false, 10}, {"tls-http1", true, false, 64}, {"tls-http2", true, true, 64}} {
		b.Run(kind.name, func(b *testing.B) {
			s := newStreamServer(b, kind.secure)
			before := s.resident(b)
			crowd := newCrowd(b, s, kind.http2)
			took := crowd.open(b)
			<-time.After(idling)
			each := float64(s.resident(b)-before) / float64(crowd.size)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(each, "KiB/stream")
			b.Logf("%d streams, opened in %s: %.1f KiB each after %s, at most %.0f wanted%s", crowd.size, took.Round(time.Millisecond), each, idling, kind.most, verdict(each <= kind.most))
			b.Logf("a change has reached all after %s", crowd.tellAll(b).Round(time.Millisecond))
			s.stop()
			crowd.awaitNone()
			s.start(b)
			back := crowd.await(b, &crowd.now, int64(crowd.size), 3*backWithin)
			b.ReportMetric(back.Seconds(), "s-to-return")
			b.Logf("after a restart all are back within %s, at most %s wanted%s", back.Round(time.Millisecond), backWithin, verdict(back <= backWithin))
			if load, err := os.ReadFile("/proc/loadavg"); err == nil {
				b.Logf("load at the end: %s", load)
			}
		})
	}
}

// streamServer is a server that is restarted at its address.
type streamServer struct {
	*product
	flags []string
	trust *tls.Config
}

func newStreamServer(b *testing.B, secure bool) *streamServer {
	b.Helper()
	s := &streamServer{product: serve(b, openDatabases[0].open(b))}
	s.stop()
	s.flags = []string{"--listen", fmt.Sprintf("127.0.0.1:%d", freePort(b)), "--data", s.dir, "--database", s.dsn}
	if secure {
		dir := b.TempDir()
		cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		pool := x509.NewCertPool()
		pool.AddCert(servertest.WriteCertificate(b, cert, key))
		s.trust = &tls.Config{RootCAs: pool}
		s.flags = append(s.flags, "--tls-cert", cert, "--tls-key", key)
	}
	s.start(b)
	return s
}

func (s *streamServer) start(b *testing.B) {
	b.Helper()
	s.process = start(b, exec.Command(program(b, "server"), s.flags...))
	s.url = s.address(b)
}

func (s *streamServer) resident(b *testing.B) int {
	return statusField(b, fmt.Sprintf("/proc/%d/status", s.command.Process.Pid), "VmRSS")
}

// transport is a connection's own.
func (s *streamServer) transport(http2 bool) *http.Transport {
	t := &http.Transport{TLSClientConfig: s.trust.Clone(), DisableCompression: true, ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10}
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(!http2)
	t.Protocols.SetHTTP2(http2)
	return t
}

// crowd is many listeners that come back when they are sent away, as our client
// does.
type crowd struct {
	server *streamServer
	size   int
	http2  bool
	now    atomic.Int64 // open
	told   atomic.Int64 // of changes
	leave  context.CancelFunc
	all    sync.WaitGroup
}

func newCrowd(b *testing.B, s *streamServer, http2 bool) *crowd {
	b.Helper()
	c := &crowd{server: s, size: manyStreams, http2: http2}
	if n, err := strconv.Atoi(os.Getenv(streamsEnvironment)); err == nil {
		c.size = n
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Max < uint64(c.size+c.size/10) {
		b.Skipf("a process may have %d files open here, and %d streams want more", limit.Max, c.size)
	}
	b.Cleanup(func() {
		c.leave()
		c.all.Wait()
	})
	return c
}

// open opens all and waits until the last one is.
func (c *crowd) open(b *testing.B) time.Duration {
	b.Helper()
	var ctx context.Context
	ctx, c.leave = context.WithCancel(context.Background())
	places := make(chan struct{}, opening)
	for range c.size {
		c.all.Go(func() { c.listen(ctx, places) })
	}
	return c.await(b, &c.now, int64(c.size), 5*time.Minute)
}

// listen keeps one stream open. The first time it waits for its place.
func (c *crowd) listen(ctx context.Context, places chan struct{}) {
	client := &http.Client{Transport: c.server.transport(c.http2)}
	defer client.CloseIdleConnections()
	places <- struct{}{}
	opened := sync.OnceFunc(func() { <-places })
	for pause := firstStreamPause; ctx.Err() == nil; pause = min(2*pause, longestStreamPause) {
		if c.hear(ctx, client, opened) {
			pause = firstStreamPause
		}
		opened()
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
		}
	}
}

// hear reads one stream to its end, and tells whether it was one.
func (c *crowd) hear(ctx context.Context, client *http.Client, opened func()) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server.url+"/api/v1/events?repo="+url.QueryEscape(streamRepo), nil)
	if err != nil {
		return false
	}
	r.Header.Set("Authorization", "Bearer "+c.server.token)
	answer, err := client.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return false
	}
	c.now.Add(1)
	defer c.now.Add(-1)
	opened()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(make([]byte, 512), 4<<10)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			c.told.Add(1)
		}
	}
	return true
}

// tellAll puts a change and waits until all were told.
func (c *crowd) tellAll(b *testing.B) time.Duration {
	b.Helper()
	client := &http.Client{Transport: c.server.transport(c.http2)}
	defer client.CloseIdleConnections()
	r, err := http.NewRequest(http.MethodPut, c.server.memory(streamRepo), strings.NewReader(`{"entries":{"note.md":"text"}}`))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.server.token)
	before := c.told.Load()
	answer, err := client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		b.Fatalf("PUT is answered %s", answer.Status)
	}
	return c.await(b, &c.told, before+int64(c.size), time.Minute)
}

// awaitNone waits until each has noticed that its stream is over.
func (c *crowd) awaitNone() {
	for c.now.Load() > 0 {
		<-time.After(time.Millisecond)
	}
}

// await waits until a count is reached.
func (c *crowd) await(b *testing.B, count *atomic.Int64, want int64, most time.Duration) time.Duration {
	b.Helper()
	begun := time.Now()
	for count.Load() < want {
		if time.Since(begun) > most {
			b.Fatalf("%d of %d after %s", count.Load(), want, most)
		}
		<-time.After(time.Millisecond)
	}
	return time.Since(begun)
}
