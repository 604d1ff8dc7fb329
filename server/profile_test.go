package server_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
)

// TestProfiles: an admin gets the server's profiles on the metrics' listener, nobody else
// gets them anywhere, and none names the command line.
func TestProfiles(t *testing.T) {
	box := servertest.Start(t, servertest.Configured(withMetrics))
	admin, member := box.Token(api.Admin), box.Token(api.Member)
	ask := func(base, path, token string) (int, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, body
	}
	operator := strings.TrimSuffix(box.MetricsURL(), "/metrics")
	for _, c := range []struct {
		base, path, token string
		want              int
		says              string
	}{
		{operator, "/debug/pprof/heap", "", 401, "admin"},
		{operator, "/debug/pprof/heap", "tm_nobody", 401, "admin"},
		{operator, "/debug/pprof/heap", member, 403, "admin"},
		{operator, "/debug/pprof/cmdline", admin, 404, ""},
		{operator, "/debug/pprof/profile?seconds=3600", admin, 400, "up to 60"},
		{operator, "/debug/pprof/", admin, 200, "goroutine"},
		{box.URL, "/debug/pprof/heap", admin, 404, ""},
	} {
		if status, body := ask(c.base, c.path, c.token); status != c.want || !strings.Contains(string(body), c.says) {
			t.Errorf("%s: %d %s, want %d and %q", c.path, status, body, c.want, c.says)
		}
	}
	for _, path := range []string{"/debug/pprof/heap", "/debug/pprof/goroutine", "/debug/pprof/profile?seconds=1"} {
		status, body := ask(operator, path, admin)
		if _, err := gzip.NewReader(bytes.NewReader(body)); status != http.StatusOK || err != nil {
			t.Errorf("%s: %d, %v", path, status, err)
		}
	}
}
