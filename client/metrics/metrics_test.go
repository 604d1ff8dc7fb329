package metrics

import (
	"context"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestPrometheusReadsIt: under names that promtool takes; what is over is not said any
// more, and the listener ends with its context.
func TestPrometheusReadsIt(t *testing.T) {
	s := New("v1.2.3", "go1.27")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	url, ended, err := s.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := time.UnixMilli(1_800_000_000_500)
	s.Round("unreachable", time.Second, at)
	s.Stand(Standing{Trouble: "unreachable", Watching: "polling", Pending: 2})
	s.Round("ok", time.Second, at)
	s.Files("conflict", 2)
	s.Files("pulled", 3)
	s.Request("GET", 304, time.Millisecond)
	s.Stand(Standing{Version: 7, Watching: "events", Live: true, Kept: 1, TokenEnds: at})
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	for _, line := range []string{
		`teammem_client_rounds_total{outcome="ok"} 1`, `teammem_client_rounds_total{outcome="unreachable"} 1`, `teammem_client_last_success_timestamp_seconds 1.8000000005e+09`,
		`teammem_client_conflicts_total 2`, `teammem_client_files_total{action="pulled"} 3`, `teammem_client_requests_total{code="304",method="GET"} 1`,
		`teammem_client_repo_version 7`, `teammem_client_live 1`, `teammem_client_texts_kept 1`, `teammem_client_files_pending 0`,
		`teammem_client_watching{mode="events"} 1`, `teammem_client_token_expiry_timestamp_seconds 1.8e+09`,
	} {
		if !strings.Contains(string(text), "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	if strings.Contains(string(text), "teammem_client_trouble{") || strings.Contains(string(text), "polling") {
		t.Error("a fault that is over is still told")
	}
	if promtool, err := exec.LookPath("promtool"); err == nil {
		check := exec.Command(promtool, "check", "metrics")
		check.Stdin = strings.NewReader(string(text))
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, out)
		}
	}
	cancel()
	<-ended
	if _, err := http.Get(url); err == nil {
		t.Error("it still answers after its end")
	}
}
