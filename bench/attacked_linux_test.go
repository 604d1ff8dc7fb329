package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	attacked     = 15 * time.Second
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

// honestly has honest clients read and write for a while, in a process of their own.
func honestly(b *testing.B, p *product, d time.Duration) felt {
	b.Helper()
	var all felt
	if err := json.Unmarshal([]byte(output(b, peer("honest", p.url, p.token, fmt.Sprint(int(d.Seconds()))))), &all); err != nil {
		b.Fatal(err)
	}
	return all
}

func report(b *testing.B, p *product, f felt) {
	b.Helper()
	slices.Sort(f.Took)
	at := func(q float64) time.Duration { return f.Took[int(q*float64(len(f.Took)-1))] }
	resident := statusField(b, fmt.Sprintf("/proc/%d/status", p.command.Process.Pid), "VmHWM")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(at(0.99).Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(resident)/1024, "MiB-at-most")
	good := at(0.99) <= honestTarget && len(f.Refused) == 0
	b.Logf("%d requests of honest clients: median %s, p99 %s, longest %s, refused %v; the server had %d MiB at most; p99 at most %s wanted, none refused%s",
		len(f.Took), at(0.5).Round(100*time.Microsecond), at(0.99).Round(100*time.Microsecond), at(1).Round(100*time.Microsecond), f.Refused, resident/1024, honestTarget, verdict(good))
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		b.Logf("load at the end: %s", load)
	}
}
