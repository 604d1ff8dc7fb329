package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// A token that is revoked on one replica is refused by the other in under a second.
func TestRevocationHoldsOnEveryReplica(t *testing.T) {
	dsn := pgtest.DSN(t)
	onOne := func(_ testing.TB, s *servertest.Server) { s.Config.Database = dsn }
	one, two := servertest.Start(t, onOne), servertest.Start(t, onOne)
	admin, token := one.Token(api.Admin), one.Token(api.Member)
	ask := func(s *servertest.Server, method, path, token string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	if got := ask(two, http.MethodGet, api.PathWhoAmI, token); got != http.StatusOK {
		t.Fatalf("before it is revoked: %d", got)
	}
	org, err := one.Store().Organization(t.Context(), "local")
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := one.Store().Tokens(t.Context(), org.ID)
	if err != nil {
		t.Fatal(err)
	}
	uid := tokens[0].UID // the newest
	if got := ask(one, http.MethodDelete, api.PathTokens+"?id="+uid, admin); got != http.StatusOK {
		t.Fatalf("revoking: %d", got)
	}
	revoked := time.Now()
	if got := ask(one, http.MethodGet, api.PathWhoAmI, token); got != http.StatusUnauthorized {
		t.Errorf("the next request on this server: %d", got)
	}
	for ask(two, http.MethodGet, api.PathWhoAmI, token) != http.StatusUnauthorized {
		if time.Since(revoked) > 10*time.Second {
			t.Fatal("the other replica still takes it")
		}
	}
	took := time.Since(revoked)
	t.Logf("refused by the other replica after %s", took)
	if took > 2*time.Second {
		t.Errorf("refused after %s, want under 1 s on a quiet machine", took)
	}
}
