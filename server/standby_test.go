package server_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// A server with a replica serves from it what changed, to those who may see it still: a
// token that is taken back is void, however far the replica is behind.
func TestAReplicaServesWhatChanged(t *testing.T) {
	dsn := pgtest.DSN(t)
	follower := pgtest.Replica(t)
	box := servertest.Start(t, servertest.Configured(withMetrics), servertest.Configured(func(c *server.Config) {
		c.Database, c.Replica = dsn, follower.At(t, dsn)
	}))
	token := box.Token(api.Member)
	put(t, box, token, "acme/widgets", "one.md")
	put(t, box, token, "acme/widgets", "two.md")
	since := func() int {
		return statusOf(t, box, http.MethodGet, api.PathTeamMemory+"?repo=acme/widgets&since=1", token, "")
	}
	for deadline := time.Now().Add(time.Minute); sample(t, scrape(t, box), "teammem_store_replica_reads_total") < 1; <-time.After(20 * time.Millisecond) {
		if got := since(); got != http.StatusOK {
			t.Fatalf("what changed is answered %d", got)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the replica is not asked; passed over it was %v times", sample(t, scrape(t, box), "teammem_store_replica_passed_total"))
		}
	}
	follower.Exec(t, "SELECT pg_wal_replay_pause()")
	t.Cleanup(func() { follower.Exec(t, "SELECT pg_wal_replay_resume()") })
	admin := box.Token(api.Admin)
	known, err := box.Store().TokenByHash(t.Context(), sha256.Sum256([]byte(token)))
	if err != nil {
		t.Fatal(err)
	}
	if got := statusOf(t, box, http.MethodDelete, fmt.Sprintf("%s?id=%s", api.PathTokens, known.UID), admin, ""); got != http.StatusOK {
		t.Fatalf("taking the token back is answered %d", got)
	}
	if got := since(); got != http.StatusUnauthorized {
		t.Errorf("with the token taken back what changed is answered %d, want 401", got)
	}
}
