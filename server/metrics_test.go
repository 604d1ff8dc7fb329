package server_test

import (
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/servertest"
)

// scrape reads what Prometheus would read of a box.
func scrape(t *testing.T, box *servertest.Server) string {
	t.Helper()
	answer, err := http.Get(box.MetricsURL())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", answer.Status, err)
	}
	return string(text)
}

// sample is the value of a series, given as it is written; -1 where there is none.
func sample(t *testing.T, text, series string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		return -1
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func withMetrics(c *server.Config) { c.MetricsListen = "127.0.0.1:0" }

// TestMetrics: each outcome of a request is counted once, under names that promtool
// takes, and no label says who asked or for what.
func TestMetrics(t *testing.T) {
	for name, options := range onStores {
		t.Run(name, func(t *testing.T) {
			box := servertest.Start(t, append(options(t), servertest.Configured(withMetrics))...)
			s := stranger{t, box}
			member := box.Token(api.Member)
			key := "AK" + "IA" + "Q3EGTVLXWJ5MBZ7R" // made up, of an access key's form
			for _, c := range []struct {
				what, token, repo, body string
				want                    int
			}{
				{"applied", member, "acme/widgets", `{"entries":{"of-nobody-else.md":"one"}}`, 200},
				{"noop", member, "acme/widgets", `{"entries":{"of-nobody-else.md":"one"}}`, 200},
				{"conflict", member, "acme/widgets", `{"entries":{"of-nobody-else.md":"two"},"baseChecksums":{"of-nobody-else.md":null}}`, 412},
				{"refused", member, "acme/widgets", `{"entries":{"b.md":"aws_access_key_id = ` + key + `"},"baseChecksums":{"b.md":null}}`, 422},
				{"held", member, "acme/widgets", `{"entries":{"c.md":"hidden \u202e text"},"baseChecksums":{"c.md":null}}`, 200},
				{"an unknown token", "tm_nobody", "acme/widgets", `{}`, 401},
				{"a viewer", box.Token(api.Viewer), "acme/widgets", `{"entries":{"d.md":"x"}}`, 403},
			} {
				if got := s.do(http.MethodPut, api.PathTeamMemory+"?repo="+c.repo, c.token, c.body); got.status != c.want {
					t.Fatalf("%s: %d %s", c.what, got.status, got.body)
				}
			}
			text := scrape(t, box)
			for series, want := range map[string]float64{
				`teammem_pushes_total{outcome="applied"}`:                                             1,
				`teammem_pushes_total{outcome="noop"}`:                                                1,
				`teammem_pushes_total{outcome="conflict"}`:                                            1,
				`teammem_pushes_total{outcome="refused"}`:                                             1,
				`teammem_pushes_total{outcome="held"}`:                                                1,
				`teammem_pushes_total{outcome="failed"}`:                                              0,
				`teammem_pushed_entries_total{result="changed"}`:                                      1,
				`teammem_pushed_entries_total{result="held"}`:                                         1,
				`teammem_authentications_total{how="token",outcome="ok"}`:                             5,
				`teammem_authentications_total{how="",outcome="invalid"}`:                             1,
				`teammem_authentications_total{how="token",outcome="forbidden"}`:                      1,
				`teammem_http_requests_total{code="412",method="PUT",operation="putTeamMemory"}`:      1,
				`teammem_http_request_duration_seconds_count{method="PUT",operation="putTeamMemory"}`: 7,
				`teammem_scan_findings_total{class="secret",verdict="refuse"}`:                        1,
				`teammem_scan_findings_total{class="hidden-text",verdict="hold"}`:                     1,
				`teammem_http_requests_in_flight`:                                                     0,
				`teammem_streams`:                                                                     0,
			} {
				if got := sample(t, text, series); got != want {
					t.Errorf("%s is %v, want %v", series, got, want)
				}
			}
			for _, private := range []string{"acme/widgets", "of-nobody-else", "tm_", "member\"", key} {
				if strings.Contains(text, private) {
					t.Errorf("the metrics say %q", private)
				}
			}
			if got := s.do(http.MethodGet, "/metrics", member, ""); got.status != http.StatusNotFound {
				t.Errorf("the main listener answers /metrics with %d", got.status)
			}
			lint(t, text)
		})
	}
}

// lint holds metrics against the rules for their names.
func lint(t *testing.T, text string) {
	t.Helper()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool here")
	}
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
