package servertest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
)

// onBoth runs a test on both stores.
func onBoth(t *testing.T, test func(t *testing.T, options ...servertest.Option)) {
	t.Run("sqlite", func(t *testing.T) { test(t) })
	t.Run("postgres", func(t *testing.T) { test(t, servertest.OnPostgres()) })
}

func ask(t *testing.T, s *servertest.Server, method, path, token, body string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(all)
}

func TestABoxKeepsItsMemoryOverARestart(t *testing.T) {
	onBoth(t, func(t *testing.T, options ...servertest.Option) {
		s := servertest.Start(t, options...)
		token, path := s.Token(api.Member), api.PathTeamMemory+"?repo=acme/widgets"
		if status, text := ask(t, s, http.MethodPut, path, token, `{"entries":{"a.md":"kept"}}`); status != http.StatusOK {
			t.Fatalf("PUT: %d %s", status, text)
		}
		url := s.URL
		s.Restart()
		if s.URL != url {
			t.Errorf("the address moved from %s to %s", url, s.URL)
		}
		if status, text := ask(t, s, http.MethodGet, path, token, ""); status != http.StatusOK || !strings.Contains(text, `"a.md":"kept"`) {
			t.Errorf("GET: %d %s", status, text)
		}
	})
}

func TestABoxWithTLS(t *testing.T) {
	s := servertest.Start(t, servertest.WithTLS())
	if !strings.HasPrefix(s.URL, "https://") {
		t.Errorf("the address is %s", s.URL)
	}
	if status, text := ask(t, s, http.MethodGet, api.PathWhoAmI, s.Token(api.Viewer), ""); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
}
