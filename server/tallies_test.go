package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// statusWith asks a server for a repo's memory with a token, and gives the status.
func statusWith(t *testing.T, s *servertest.Server, method, token string) int {
	t.Helper()
	return statusOf(t, s, method, api.PathTeamMemory+"?repo=acme/widgets", token, "")
}

func statusOf(t *testing.T, s *servertest.Server, method, path, token, body string) int {
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
	_ = answer.Body.Close()
	return answer.StatusCode
}

// Two servers on one database count together: who failed at one is held up at the
// other, and what an organization wrote at one it may not write at the other.
func TestServersCountTogether(t *testing.T) {
	const most = 60
	dsn := pgtest.DSN(t)
	shared := servertest.Configured(func(c *server.Config) { c.Database, c.Auth.Failures = dsn, most })
	one, two := servertest.Start(t, shared), servertest.Start(t, shared)
	token := one.Token(api.Admin)
	if got := statusOf(t, one, http.MethodPatch, api.PathOrganization, token, fmt.Sprintf(`{"writesPerMinute":%d}`, most)); got != http.StatusOK {
		t.Fatalf("limiting the writes is answered %d", got)
	}

	for n := range most {
		if got := statusWith(t, one, http.MethodPut, token); got != http.StatusBadRequest {
			t.Fatalf("the %d. write is answered %d, want 400: it counts, and writes nothing", n+1, got)
		}
	}
	if n := heldUp(t, two, http.MethodPut, token); n >= most {
		t.Errorf("at the other server %d more writes were let in", n)
	}
	for n := range most {
		if got := statusWith(t, one, http.MethodGet, "tm_none"); got != http.StatusUnauthorized {
			t.Fatalf("the %d. failure is answered %d", n+1, got)
		}
	}
	if n := heldUp(t, two, http.MethodGet, "tm_none"); n >= most {
		t.Errorf("at the other server %d more failures were borne", n)
	}
}

// heldUp asks until it is told to wait, with a pause between, and counts how often it was
// not.
func heldUp(t *testing.T, s *servertest.Server, method, token string) (n int) {
	t.Helper()
	for ; n < 60; n++ {
		if statusWith(t, s, method, token) == http.StatusTooManyRequests {
			return n
		}
		<-time.After(50 * time.Millisecond)
	}
	return n
}
