package bench

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	attacked     = 15 * time.Second
	honest       = 8 // clients
	honestPause  = 50 * time.Millisecond
	honestTarget = 250 * time.Millisecond // of the slowest hundredth
)

// BenchmarkUnderAttack: what honest clients feel while a server is attacked, each way of
// bench/attack_test.go by itself and all together, and while ten thousand clients come
// back after a restart. They read and write twenty times a second each; every answer but
// the expected one counts as refused.
func BenchmarkUnderAttack(b *testing.B) {
	b.Run("nobody", func(b *testing.B) { underAttack(b) })
	kinds := slices.Sorted(maps.Keys(attacks))
	for _, kind := range kinds {
		b.Run(kind, func(b *testing.B) { underAttack(b, kind) })
	}
	b.Run("all", func(b *testing.B) { underAttack(b, kinds...) })
	b.Run("reconnects", func(b *testing.B) {
		s := newStreamServer(b, false)
		c := newCrowd(b, s, false)
		c.open(b)
		s.stop()
		c.awaitNone()
		s.start(b)
		report(b, s.product, honestly(b, s.product, attacked))
		c.await(b, &c.now, int64(c.size), backWithin)
	})
}

func underAttack(b *testing.B, kinds ...string) {
	p := serve(b, openDatabases[0].open(b))
	mallory := strings.TrimSpace(output(b, exec.Command(program(b, "server"), "token", "create", "--org", organization, "--user", "mallory", "--data", p.dir, "--database", p.dsn)))
	for _, kind := range kinds {
		start(b, peer("attack", kind, fmt.Sprint(int(attacked.Seconds())+5), p.url, mallory))
	}
	if kinds != nil {
		<-time.After(2 * time.Second) // until they are at it
	}
	report(b, p, honestly(b, p, attacked))
}

// felt is what honest clients met.
type felt struct {
	took    []time.Duration
	refused map[string]int // by what they were answered
}

// honestly reads and writes for a while.
func honestly(b *testing.B, p *product, d time.Duration) felt {
	b.Helper()
	var mu sync.Mutex
	all := felt{refused: map[string]int{}}
	var crowd sync.WaitGroup
	end := time.Now().Add(d)
	for i := range honest {
		crowd.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: 30 * time.Second}
			defer client.CloseIdleConnections()
			for n := 0; time.Now().Before(end); n++ {
				if n%10 == 0 {
					client.CloseIdleConnections() // some come anew
				}
				began := time.Now()
				said := once(client, p, i, n)
				took := time.Since(began)
				mu.Lock()
				all.took = append(all.took, took)
				if said != "" {
					all.refused[said]++
				}
				mu.Unlock()
				<-time.After(honestPause)
			}
		})
	}
	crowd.Wait()
	return all
}

// once writes, or reads what it wrote. It says what was wrong with the answer.
func once(client *http.Client, p *product, i, n int) string {
	method, body, want := http.MethodPut, []byte(fmt.Sprintf(`{"entries":{"n%d.md":"text %d"}}`, i, n)), http.StatusOK
	if n%2 == 1 {
		method, body = http.MethodGet, nil
	}
	r, err := http.NewRequest(method, p.memory(fmt.Sprintf("acme/honest%d", i)), bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	if n > 0 && method == http.MethodPut {
		r.Header.Set("If-Match", "*")
	}
	answer, err := client.Do(r)
	if err != nil {
		return "no answer"
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != want {
		return answer.Status
	}
	return ""
}

func report(b *testing.B, p *product, f felt) {
	b.Helper()
	slices.Sort(f.took)
	at := func(q float64) time.Duration { return f.took[int(q*float64(len(f.took)-1))] }
	resident := statusField(b, fmt.Sprintf("/proc/%d/status", p.command.Process.Pid), "VmHWM")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(at(0.99).Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(resident)/1024, "MiB-at-most")
	good := at(0.99) <= honestTarget && len(f.refused) == 0
	b.Logf("%d requests of honest clients: median %s, p99 %s, longest %s, refused %v; the server had %d MiB at most; p99 at most %s wanted, none refused%s",
		len(f.took), at(0.5).Round(100*time.Microsecond), at(0.99).Round(100*time.Microsecond), at(1).Round(100*time.Microsecond), f.refused, resident/1024, honestTarget, verdict(good))
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		b.Logf("load at the end: %s", load)
	}
}
