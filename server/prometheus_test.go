package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
)

const deployed = "../deploy/prometheus"

// TestRules holds the alert rules against their own unit tests.
func TestRules(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool here")
	}
	rules, err := filepath.Glob(filepath.Join(deployed, "*rules*.yml"))
	if err != nil || len(rules) < 2 {
		t.Fatalf("%v, %v", rules, err)
	}
	for _, arguments := range [][]string{append([]string{"check", "rules"}, rules...), {"test", "rules", filepath.Join(deployed, "alert.test.yml")}} {
		if out, err := exec.Command(promtool, arguments...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(arguments[:2], " "), err, out)
		}
	}
	books, err := os.ReadFile("../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(deployed, "alert.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(string(books), "\n## "+alert[1]+"\n") || !strings.Contains(string(text), "runbook: docs/runbooks.md#"+strings.ToLower(alert[1])+"\n") {
			t.Errorf("the alert %s has no page in docs/runbooks.md, or does not name it", alert[1])
		}
	}
}

// prometheus is a real one that scrapes a box by the configuration that is deployed.
type prometheus struct {
	t   *testing.T
	url string
}

func startPrometheus(t *testing.T, metrics string) prometheus {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("no prometheus here")
	}
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(deployed, "*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(metrics)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// As deployed, but at this box's address and in a hurry.
		changed := strings.NewReplacer("server:9464", target.Host, "15s", "1s").Replace(string(text))
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	run := exec.Command(path, "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", address, "--log.level=warn")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	run.Stderr = log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		_ = log.Close()
	})
	return prometheus{t, "http://" + address}
}

// ask runs an instant query and says how many series answer.
func (p prometheus) ask(query string) (int, error) {
	answer, err := http.Get(p.url + "/api/v1/query?" + url.Values{"query": {query}}.Encode())
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var says struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(answer.Body).Decode(&says); err != nil {
		return 0, err
	}
	if says.Status != "success" {
		return 0, fmt.Errorf("%s", says.Error)
	}
	return len(says.Data.Result), nil
}

// await waits until a query has an answer.
func (p prometheus) await(query string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 90*time.Second)
	defer cancel()
	for {
		n, err := p.ask(query)
		if n > 0 {
			return
		}
		select {
		case <-ctx.Done():
			p.t.Fatalf("%s: %d series, %v", query, n, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// TestPrometheus: a real Prometheus scrapes a real server by the configuration that is
// deployed; every expression of the dashboards has data, and every metric that a rule
// asks for is there, but those that only a client or a certificate has.
func TestPrometheus(t *testing.T) {
	box := servertest.Start(t, servertest.Configured(withMetrics))
	s, member := stranger{t, box}, box.Token(api.Member)
	p := startPrometheus(t, box.MetricsURL())
	hidden := `{"entries":{"h.md":"hidden ` + "\u202e" + ` text"},"baseChecksums":{"h.md":null}}`
	for n := range 2 {
		s.put(member, "acme/widgets", map[string]any{fmt.Sprintf("n%d.md", n): "text"})
		s.do(http.MethodPut, api.PathTeamMemory+"?repo=acme/widgets", member, hidden)
		report := fmt.Sprintf(`{"id":"dir%d","state":"running","started":"2026-01-01T00:00:00.000Z","version":"v1.0.0","watch":"events","files":1,"at":1,"pending":0,"kept":0,"held":0,"trouble":""}`, n)
		if got := s.do(http.MethodPost, api.PathClients+"?repo=acme/widgets", member, report); got.status >= 300 {
			t.Fatalf("a client's report: %d %s", got.status, got.body)
		}
		p.await(`sum(teammem_http_requests_total{operation="putTeamMemory"}) >= ` + fmt.Sprint(2*n+2))
	}
	p.await(`teammem_clients{state="running"} > 1`)
	p.await(`teammem:pushes:rate5m`)
	boards, err := filepath.Glob("../deploy/grafana/dashboards/*.json")
	if err != nil || len(boards) != 3 {
		t.Fatalf("%v, %v", boards, err)
	}
	for _, file := range boards {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil || len(board.Panels) == 0 {
			t.Fatalf("%s: %v", file, err)
		}
		for _, panel := range board.Panels {
			for _, target := range panel.Targets {
				if n, err := p.ask(target.Expr); n == 0 || err != nil {
					t.Errorf("%s, %q: %s has %d series, %v", filepath.Base(file), panel.Title, target.Expr, n, err)
				}
			}
		}
	}
	elsewhere := map[string]bool{"teammem_tls_certificate_expiry_timestamp_seconds": true, "teammem_client_last_success_timestamp_seconds": true, "teammem_store_errors_total": true}
	rules, err := os.ReadFile(filepath.Join(deployed, "alert.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range regexp.MustCompile(`teammem_[a-z0-9_]+`).FindAllString(string(rules), -1) {
		if n, err := p.ask(metric); !elsewhere[metric] && (n == 0 || err != nil) {
			t.Errorf("the rules ask for %s: %d series, %v", metric, n, err)
		}
	}
}
