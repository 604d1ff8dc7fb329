package server_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// While servers are replaced one after the other, the first new one brings the schema up
// under those that still run: they go on. One that is started then says what is to do.
func TestAServerGoesOnUnderANewerSchema(t *testing.T) {
	dsn := pgtest.DSN(t)
	box := servertest.Start(t, servertest.Configured(func(c *server.Config) { c.Database = dsn }))
	token := box.Token(api.Member)
	put(t, box, token, "acme/widgets", "before.md")
	pgtest.Exec(t, dsn, "CREATE TABLE later (id bigint PRIMARY KEY)")
	pgtest.Exec(t, dsn, "ALTER TABLE repos ADD COLUMN later bigint NOT NULL DEFAULT 0")
	pgtest.Exec(t, dsn, "UPDATE schema_migrations SET version = version + 1")
	put(t, box, token, "acme/widgets", "after.md")
	put(t, box, token, "acme/gadgets", "new.md")
	if got := statusWith(t, box, http.MethodGet, token); got != http.StatusOK {
		t.Errorf("GET is answered %d", got)
	}
	if got := statusOf(t, box, http.MethodGet, api.PathReady, token, ""); got != http.StatusOK {
		t.Errorf("the server says %d of being ready", got)
	}
	err := server.Migrate(context.Background(), slog.New(slog.DiscardHandler), dsn)
	if err == nil || !strings.Contains(err.Error(), "start the newer server") {
		t.Errorf("a server that is started then says: %v", err)
	}
}
